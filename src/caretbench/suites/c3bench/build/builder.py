"""Builder of C3-Bench: problems from functions with tests, source files, people and models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from caretbench.build import register_builder
from caretbench.build.build_models import NO_MODELS, BuildModels
from caretbench.build.builder import Builder
from caretbench.build.sources.humaneval_infilling import HUMANEVAL_INFILLING, pull_humaneval
from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.extraction.policies import policy
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites.c3bench.build.build import build
from caretbench.suites.c3bench.build.completion_gate import CompletionGate
from caretbench.suites.c3bench.build.data_tables import data_tables
from caretbench.suites.c3bench.build.options import OPTIONS
from caretbench.suites.c3bench.build.variants.checker import CHECKER_ROLE
from caretbench.suites.c3bench.build.variants.generator import GENERATOR_ROLE
from caretbench.suites.c3bench.problem_building import SUITE
from caretbench.suites.suite_types import BuildResult, Table


@register_builder
class C3BenchBuilder(Builder):
    """Builder of C3-Bench; see :class:`caretbench.build.builder.Builder`."""

    name = SUITE
    pull_about = "the functions of HumanEval-Infilling, from which problems are built"
    pull_name = HUMANEVAL_INFILLING
    pull_use = f"caretbench build c3bench --from {HUMANEVAL_INFILLING}"
    about = (
        f"the problems: {HUMANEVAL_INFILLING}, a folder of source files, or a file of rows (HumanEval-Infilling, "
        "DevBench, SAFIM)"
    )
    options = OPTIONS
    roles: ClassVar[Mapping[str, str]] = {
        GENERATOR_ROLE: "writes implementations and instructions (optional)",
        CHECKER_ROLE: "reads instructions back (optional)",
    }
    roles_with_several_models = frozenset({GENERATOR_ROLE})

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch HumanEval-Infilling into the cache and return its folder."""
        if models:
            raise ValueError(f"--model {models[0]}: HumanEval-Infilling contains no recorded completions")
        return pull_humaneval(source, progress)

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        *,
        models: BuildModels = NO_MODELS,
    ) -> BuildResult:
        """Build problems from functions with tests, and from source files.

        Functions with tests (HumanEval-Infilling, DevBench's layout, NAME.py with check_NAME.py) give problems about
        the implementation: other implementations must pass the tests and agree with the function on further inputs, in
        the sandbox. All source files give problems about the scale. People (--variants) and models (-m generator=,
        -m checker=) may add implementations and instructions. Run the same command again to resume an interrupted
        build.

        Examples:
          caretbench build c3bench --from humaneval-infilling --from ~/code/project -o c3
          caretbench build c3bench --variants own.toml -m generator=gguf/smollm2 -o c3
        """
        return build(sources, output, options, progress, self.gate, models)

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return the tokens and the kinds of problems, as the paper's Table 1."""
        return data_tables(self.suite.load(source).problems)

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> CompletionGate:
        """Return the gate for both tasks."""

        def program(problem: Problem, text: str) -> ExecutionRequest | None:
            request = self.suite.submitted_request(problem, text, "default", {})
            return request if isinstance(request, ExecutionRequest) else None

        chosen = policy(self.suite.rules("default").policy)
        return CompletionGate(lambda: executor().programs, chosen, program, progress)
