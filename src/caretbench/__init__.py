"""CaretBench: measure a code-completion model at the caret.

Names of the public API are loaded on first use, so that importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from caretbench.api import build_problems, compare, frame, generate, judge, load_suite, report, run, score
    from caretbench.build import register_builder
    from caretbench.build.builder import Builder
    from caretbench.build.models.config import BuildModelsConfig
    from caretbench.build.suite_validation import validate
    from caretbench.errors import CaretBenchError, DataError, MachineError, UsageError
    from caretbench.execution.execution_types import ExecutionRequest
    from caretbench.models import ChatPrompt, FillPrompt, TextPrompt
    from caretbench.plugins import PluginError
    from caretbench.problem import (
        Caret,
        ChoiceCheck,
        Completion,
        FileSplice,
        InlineSplice,
        NoSplice,
        PredicateCheck,
        Problem,
        ProgramCheck,
        Provenance,
        Question,
        Score,
        TestsCheck,
    )
    from caretbench.runs.judging.plan import JudgingConfig
    from caretbench.runs.plans.config import JudgeConfig, ModelConfig, RunConfig, SuiteConfig
    from caretbench.suites import register
    from caretbench.suites.base import Suite
    from caretbench.suites.suite_types import Measurement, ProblemSet

__all__ = [
    "BuildModelsConfig", "Builder", "Caret", "CaretBenchError", "ChatPrompt", "ChoiceCheck", "Completion", "DataError",
    "ExecutionRequest", "FileSplice", "FillPrompt", "InlineSplice", "JudgeConfig", "JudgingConfig", "MachineError",
    "Measurement", "ModelConfig", "NoSplice", "PluginError", "PredicateCheck", "Problem", "ProblemSet", "ProgramCheck",
    "Provenance", "Question", "RunConfig", "Score", "Suite", "SuiteConfig", "TestsCheck", "TextPrompt", "UsageError",
    "build_problems", "compare", "frame", "generate", "judge", "load_suite", "register", "register_builder", "report",
    "run", "score", "validate",
]  # fmt: skip

_MODULES = {
    "api": ("build_problems", "compare", "frame", "generate", "judge", "load_suite", "report", "run", "score"),
    "build": ("register_builder",),
    "build.builder": ("Builder",),
    "build.models.config": ("BuildModelsConfig",),
    "build.suite_validation": ("validate",),
    "errors": ("CaretBenchError", "DataError", "MachineError", "UsageError"),
    "execution.execution_types": ("ExecutionRequest",),
    "models": ("ChatPrompt", "FillPrompt", "TextPrompt"),
    "plugins": ("PluginError",),
    "problem": (
        "Caret", "ChoiceCheck", "Completion", "FileSplice", "InlineSplice", "NoSplice", "PredicateCheck", "Problem",
        "ProgramCheck", "Provenance", "Question", "Score", "TestsCheck",
    ),
    "runs.judging.plan": ("JudgingConfig",),
    "runs.plans.config": ("JudgeConfig", "ModelConfig", "RunConfig", "SuiteConfig"),
    "suites": ("register",),
    "suites.base": ("Suite",),
    "suites.suite_types": ("Measurement", "ProblemSet"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module(f"{__name__}.versions").versions()["caretbench"]
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
