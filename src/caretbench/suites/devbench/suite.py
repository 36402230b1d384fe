"""DevBench: six developer-derived categories in six languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from caretbench.execution.bundles import bundle_specs
from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.execution_types import ExecutionRequest, Limits
from caretbench.files import DataError
from caretbench.languages import language
from caretbench.metrics.similarity import paper_similarity, similarities
from caretbench.problem import Completion, InlineSplice, PredicateCheck, Problem, Profile, ProgramCheck
from caretbench.profiles import ProfileRule, ProfileRules
from caretbench.progress import Progress
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.build_models import NO_MODELS, BuildModels
from caretbench.suites.devbench import layout, starter
from caretbench.suites.devbench import paper_programs as paper
from caretbench.suites.devbench import recorded_completions as recorded
from caretbench.suites.devbench import released_problems as released
from caretbench.suites.devbench.construction.build_folder import BuildFolder
from caretbench.suites.devbench.construction.options import GENERATOR_ROLE, OPTIONS
from caretbench.suites.devbench.documentation import DocumentationCheck, documentation_faults
from caretbench.suites.devbench.memory_table import memory_tables
from caretbench.suites.devbench.sizes import statistics
from caretbench.suites.suite_types import BuildResult, Measurement, ProblemGate, ProblemSet, Table
from caretbench.syntax.parser import encode
from caretbench.validation.program_gate import ProgramGate

if TYPE_CHECKING:
    import polars as pl

# The released runner has a limit of 30 s wall time per step; Firebase's type declarations take longer on one core.


class DevBenchProfile(ProfileRules):
    """Scoring rules of DevBench's profiles ``paper`` and ``default``."""

    limits = ProfileRule(
        "Limits of a program",
        paper=Limits(wall_s=60.0, cpu_s=30.0),
        default=Limits(),
        said=("30 s of CPU, 60 s of wall time", "15 s of CPU, 60 s of wall time"),
    )
    # 2: as the released runner in Java packages, headers of C++ and builds of C#.
    programs = ProfileRule("Version of the rules that make programs of answers", paper=2, default=1)
    first_lines = ProfileRule(
        "Texts compared by similarity",
        paper=True,
        default=False,
        said=("first lines; a line matches if any sample's does", "full texts; means over samples"),
    )
    released_texts = ProfileRule(
        "Texts of the program and the statistics of a released problem",
        paper=True,
        default=False,
        said=("released texts, joined and counted as by the released scripts", "the problem's own texts"),
    )


@register
class DevBench(Suite):
    """DevBench: programs with a caret, run with hidden tests; see :class:`caretbench.suites.base.Suite`."""

    name = "devbench"
    title = "DevBench"
    about = "six developer-derived categories in six languages, checked by execution and similarity"
    profile_rules = DevBenchProfile
    strata = ("language", "category", "mode", "boundary", "direction", "kind", "band", "generator", "generator_family",
              "origin", "scenario")  # fmt: skip
    pull_about = "problems of the release, and recorded completions"
    build_about = "the instances: none is needed, generators write them"
    build_options = OPTIONS
    build_roles: ClassVar[Mapping[str, str]] = {GENERATOR_ROLE: "writes instances"}
    roles_with_several_models = frozenset({GENERATOR_ROLE})
    remembers_models = True

    def load(self, source: str) -> ProblemSet:
        """Return the problems of ``starter``, ``released`` (fetched by ``pull``), or a folder of either layout."""
        if source == "starter":
            return ProblemSet.of("starter", starter.load(starter.starter_root()))
        if source == "released":
            from caretbench.suites.devbench.pull import released_folder

            return ProblemSet.of("released", released.load(released_folder()))
        root = Path(source)
        if not root.is_dir():
            raise DataError(f"{source}: no such folder; expected starter, released, or a folder with problems")
        if any((root / name).is_dir() for name in ("benchmark", "c_sharp")) or _holds_jsonl(root):
            return ProblemSet.of("released", released.load(root))
        if problems := BuildFolder(root).problems():
            return ProblemSet.of(root.resolve().name, problems)
        return ProblemSet.of(root.name, starter.load(root, source=root.name))

    def check_build_options(self, options: Mapping[str, Any]) -> None:
        """Raise an error if a cell, the template or the weights are wrong."""
        from caretbench.suites.devbench.construction.cell_counts import instances_per_cell
        from caretbench.suites.devbench.construction.generator_prompt import read_template
        from caretbench.suites.devbench.construction.options import ConstructionOptions

        chosen = ConstructionOptions.of(options)
        instances_per_cell(chosen)
        read_template(chosen.template)

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        *,
        models: BuildModels = NO_MODELS,
    ) -> BuildResult:
        """Write instances with generators, check them in the sandbox, and keep the good ones.

        Each request has a scenario from a seeded grid. An answer with a fault is asked for once more with its
        diagnosis; then the next generator has its turn. Run the same command again to resume; a folder grows by
        further commands, and a command without -m uses the folder's generators.

        Examples:
          caretbench build devbench -m generator=openai/gpt-4o -n 50 -o mine
          caretbench build devbench -o mine --again reviews/mine/rejections.jsonl
        """
        if sources:
            raise ValueError(
                f"build devbench takes no source: {sources[0]!r}; cells are chosen by --language, --category"
            )
        from caretbench.suites.devbench.construction.construction_build import build_instances

        return build_instances(output, options, progress, self._strict_gate, self._program, models)

    def _strict_gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> ProblemGate:
        """Return the gate of new instances, whose checks may not be weak."""
        found = self.gate(executor, progress)
        return replace(found, strict=True) if isinstance(found, ProgramGate) else found

    def _program(self, problem: Problem, text: str) -> ExecutionRequest | None:
        request = self.submitted_request(problem, text, "default", {})
        return request if isinstance(request, ExecutionRequest) else None

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released data into the cache and return their folder."""
        from caretbench.suites.devbench.pull import pull

        return pull(source=source, models=models, progress=progress)

    def recorded_completions(
        self,
        path: Path,
        problems: Mapping[str, Problem],
        models: Sequence[str],
        on_skipped: Callable[[str], None] = lambda _problem_id: None,
    ) -> Iterator[Completion]:
        """Yield the completions in a plain JSONL file or a folder of the released layout."""
        return recorded.recorded_completions(path, problems, models, on_skipped)

    def request(self, problem: Problem, text: str | None, profile: Profile) -> ExecutionRequest | None:
        """Return the program with an answer; None if it fails without execution (null, in a compiled language)."""
        name = problem.caret.language
        needs = tuple(need for check in problem.checks if isinstance(check, ProgramCheck) for need in check.needs)
        bundle = _bundle(name) if problem.released else None
        variant = None
        rules = DevBenchProfile(profile)
        if rules.released_texts and problem.released:
            source = paper.paper_program(name, problem.released, text)
            if source is not None and name == "csharp":
                variant = paper.csharp_variant(source)
        else:
            if not isinstance(problem.splice, InlineSplice):
                raise TypeError(f"{problem.id}: a DevBench answer is spliced inline")
            source = None if text is None else problem.splice.program(text)
        if source is None:
            return None
        return ExecutionRequest(
            id=problem.id,
            language=name,
            source=source,
            profile=profile,
            variant=variant,
            bundle=bundle,
            needs=needs,
            limits=rules.limits,
        )

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return the similarity to the reference (``paper``: of first lines), and the result of predicates."""
        if DevBenchProfile(profile).first_lines:
            likeness = paper_similarity(text, problem.reference)._asdict()
        else:
            likeness = similarities([(text, problem.reference)])[0]._asdict()
        measurements = [Measurement("similarity@1", likeness)]
        if any(isinstance(check, PredicateCheck) for check in problem.checks):
            faults = self.failed_predicates(problem, text or "")
            passed = {"passed": float(not faults)}
            measurements.append(Measurement("documentation@1", passed, {"missing": "; ".join(faults)}))
        return measurements

    def failed_predicates(self, problem: Problem, text: str) -> list[str]:
        """Return a line for each requirement that a documentation comment does not meet."""
        checks = [check for check in problem.checks if isinstance(check, PredicateCheck)]
        if not checks or not isinstance(problem.splice, InlineSplice):
            return []
        program, name = problem.splice.program(text), problem.caret.language
        start = len(encode(problem.splice.before))
        end = start + len(encode(text))
        found = [DocumentationCheck.model_validate(dict(check.arguments)) for check in checks]
        return [fault for check in found for fault in documentation_faults(program, name, check, start, end)]

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Return lines, tokens and cyclomatic complexity (the paper's Table 4)."""
        return statistics(problem, as_released=DevBenchProfile(profile).released_texts)._asdict()

    def result_tables(self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
        """Return the comparison of instances with their siblings, for sets that have some."""
        return memory_tables(results, problems, seed)

    def canonical_label(self, name: str, value: str) -> str:
        """Return ``csharp`` for ``c_sharp`` or ``C#``, and CaretBench's name of a category for the released one."""
        if name == "language":
            return language(value).name
        return layout.canonical_category(value) if name == "category" else value


@cache
def _bundle(name: str) -> str | None:
    """Return the name of the bundle for released programs; None if the language has none (C#, by default)."""
    name = f"devbench/{name}"
    return name if name in bundle_specs() else None


def _holds_jsonl(root: Path) -> bool:
    return any(root.glob("*/*/*.jsonl"))
