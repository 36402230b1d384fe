"""Runs small programs of one language through the engine: one compiler process for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest

from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.toolchains import load_runtime
from caretbench.execution.toolchains.base_runtime import BundleLookup


def need_toolchain(language: str) -> None:
    """Skip, with the remedy, where programs of this language cannot run."""
    sandbox = Sandbox()
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    toolchain = load_runtime(language, sandbox, installed_bundle).toolchain()
    if not toolchain.available:
        pytest.skip(f"no toolchain for {language}: {toolchain.remedy}")


def run_programs(
    language: str,
    sources: Mapping[str, str],
    profile: Literal["paper", "default"] = "default",
    variant: str | None = None,
    bundles: BundleLookup = installed_bundle,
) -> dict[str, ExecutionResult]:
    """Results by name."""
    need_toolchain(language)
    requests = [
        ExecutionRequest(id=name, language=language, source=source, profile=profile, variant=variant)
        for name, source in sources.items()
    ]
    executor = LocalExecutor(workers=2, use_cache=False, bundles=bundles)
    return {result.id: result for result in executor.submit(requests)}
