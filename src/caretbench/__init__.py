"""CaretBench: measure a code-completion model at the caret.

Names of the public API are loaded on first use, so that importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from caretbench.api import build_problems, compare, generate, judge, load_suite, report, run, score
    from caretbench.build.builder import Builder
    from caretbench.build.models.config import BuildModelsConfig
    from caretbench.build.suite_validation import validate
    from caretbench.problem import Completion, Problem, Score
    from caretbench.runs.judging.plan import JudgingConfig
    from caretbench.runs.plans.config import JudgeConfig, ModelConfig, RunConfig, SuiteConfig
    from caretbench.suites.base import Suite

__all__ = [
    "BuildModelsConfig",
    "Builder",
    "Completion",
    "JudgeConfig",
    "JudgingConfig",
    "ModelConfig",
    "Problem",
    "RunConfig",
    "Score",
    "Suite",
    "SuiteConfig",
    "build_problems",
    "compare",
    "generate",
    "judge",
    "load_suite",
    "report",
    "run",
    "score",
    "validate",
]  # fmt: skip

_MODULES = {
    "api": ("build_problems", "compare", "generate", "judge", "load_suite", "report", "run", "score"),
    "problem": ("Completion", "Problem", "Score"),
    "runs.plans.config": ("JudgeConfig", "ModelConfig", "RunConfig", "SuiteConfig"),
    "build.models.config": ("BuildModelsConfig",),
    "runs.judging.plan": ("JudgingConfig",),
    "build.suite_validation": ("validate",),
    "build.builder": ("Builder",),
    "suites.base": ("Suite",),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module(f"{__name__}.versions").versions()["caretbench"]
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
