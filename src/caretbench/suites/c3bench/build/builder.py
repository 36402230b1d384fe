"""Builder of C3-Bench: problems from functions with tests, source files, people and models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from caretbench.build import register_builder
from caretbench.build.build_models import BuildJob
from caretbench.build.builder import Builder
from caretbench.build.validation.duplicates import near_duplicate_texts
from caretbench.build.validation.program_gate import GateAnswer, ProgramGate, trivial_answers
from caretbench.build.validation.resumable_gate import ResumableGate
from caretbench.conventional.descriptions import HUMANEVAL_INFILLING, SAFIM
from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.execution_types import ExecutionRequest, Executor
from caretbench.extraction.policies import Policy, get_policy
from caretbench.grouping import grouped
from caretbench.problem import Problem, Profile
from caretbench.runs.reductions import ReducedAnswer, reduce_answers
from caretbench.suites.c3bench.build.build import build_problems
from caretbench.suites.c3bench.build.build_folder import OPTIONS
from caretbench.suites.c3bench.build.scale_middles import accepted_wrong_answers
from caretbench.suites.c3bench.build.variants.model_roles import CHECKER_ROLE, GENERATOR_ROLE
from caretbench.suites.c3bench.measures import (
    BLIND_SCALE,
    C3_GATE_VERSION,
    FOLLOWED_REDUCED,
    SUITE,
    TOKENIZER,
    blind_answer,
    failed_predicates,
    reduction,
    scale_specification,
    token_count,
)
from caretbench.suites.c3bench.scale.scale_types import Level
from caretbench.suites.suite_types import BuildResult, Table
from caretbench.suites.validity import Validity


@dataclass
class CompletionGate(ResumableGate):
    """Gate for both tasks.

    * With tests: the gate for programs. Only the tests decide about mutants; the reference must satisfy its predicate,
      also when it is reduced.
    * SCC: the reference satisfies its specification. Wrong answers fail it, or where there are tests, those: at the
      level ``lenient`` without tests, else at ``strict``, and ``blind-scale`` is one of them.

    Problems of one source repeat its text; a whole source that repeats an earlier one is a near-duplicate.
    """

    version = C3_GATE_VERSION
    executor: Callable[[], Executor]
    policy: Policy
    request: Callable[[Problem, str], ExecutionRequest | None]
    progress: Callable[[int], None] = field(default=lambda _count: None)

    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield the verdicts: those without tests first, since nothing runs for them."""
        repeated = repeated_sources(all_problems or problems)
        programs = [problem for problem in problems if problem.runs_as_program]
        for problem in problems:
            # Verdicts that need no sandbox come first, so that a build that is stopped has them.
            if not problem.runs_as_program:
                yield self._scale_verdict(problem, repeated.get(problem.id))
        if programs:
            gate = ProgramGate(
                self.executor(), self.policy, self.request, _gate_faults, duplicates=lambda _problems: repeated,
                trivial_answers=answers_to_refuse,
            )  # fmt: skip
            yield from self._reduced(programs, gate.decide(programs))

    def _reduced(self, problems: Sequence[Problem], rows: Iterable[Validity]) -> Iterator[Validity]:
        """Yield the verdicts; a valid reference must still satisfy its predicate when it is reduced."""
        by_id = {problem.id: problem for problem in problems}
        held: dict[str, Validity] = {}
        answers: dict[str, ReducedAnswer] = {}
        for row in rows:
            problem = by_id[row.problem_id]
            steps = reduction(problem, problem.reference, "default") if row.verdict == "valid" else None
            if steps is None:
                yield row
            else:
                held[problem.id], answers[problem.id] = row, ReducedAnswer(steps)

        def request(key: str, text: str) -> ExecutionRequest:
            made = self.request(by_id[key], text)
            assert made is not None  # noqa: S101  the reference has run
            # 1 s of CPU: these functions take hundredths. A program with cases may need its whole limit.
            return made if made.cases else made.model_copy(update={"reference_cpu_s": 0.0})

        for key, measured in reduce_answers(answers, request, self.executor().submit) if answers else ():
            # The tests of a function without the empty list pass without its guard clause.
            fault = "" if measured.values.get(FOLLOWED_REDUCED) else measured.details.get("missing", "not reduced")
            update = {"verdict": "invalid", "reasons": (f"reference_reduced: {fault}",)} if fault else {}
            yield held[key].model_copy(update=update)

    def _scale_verdict(self, problem: Problem, repeats: str | None) -> Validity:
        reasons = [] if repeats is None else [f"near_duplicate: {repeats}"]
        # An answer equal to the reference would be cut before it is checked.
        if self.policy.apply(problem.reference, problem.caret).text != problem.reference:
            reasons.append("extraction_changes_reference")
        if faults := failed_predicates(problem, problem.reference):
            reasons.append(f"reference_fails: {'; '.join(faults)}")
        if passing := passing_wrong_answers(problem, "lenient"):
            reasons.append(f"wrong_answer_passes: {', '.join(passing)}")
        return Validity(problem_id=problem.id, verdict="invalid" if reasons else "valid", reasons=tuple(reasons))


def passing_wrong_answers(problem: Problem, level: Level) -> dict[str, str]:
    """Return the wrong answers by name that satisfy a problem's specification; none if it has none."""
    caret, specification = problem.caret, scale_specification(problem)
    if specification is None:
        return {}
    return accepted_wrong_answers(caret.prefix, problem.reference, caret.suffix, specification, level)


def answers_to_refuse(problem: Problem) -> list[GateAnswer]:
    """Return the answers that must fail the tests; in SCC also those that have the extent and are wrong."""
    wrong = passing_wrong_answers(problem, "strict")
    if (blind := blind_answer(problem)) is not None:
        wrong[BLIND_SCALE] = blind
    return [*trivial_answers(problem), *(GateAnswer(name, text, trivial=True) for name, text in wrong.items())]


def _gate_faults(problem: Problem, text: str) -> Sequence[str]:
    """Return the failed predicates of the reference, and of the line again in SCC; else the tests alone decide."""
    # A mutant that only its predicate catches proves nothing about the tests. `total = total = a + b` does what the
    # reference does, and is wrong by its extent.
    decides = text == problem.reference or (text.endswith(problem.reference) and scale_specification(problem))
    return failed_predicates(problem, text) if decides else ()


def repeated_sources(problems: Sequence[Problem]) -> Mapping[str, str]:
    """Return the problems whose source repeats an earlier source, with a problem of that."""
    first: dict[str, Problem] = {}
    for problem in problems:
        # Sources, not problems: those of one source repeat its text, each with another hole.
        first.setdefault(problem.cluster, problem)
    texts = grouped(
        (problem.caret.language, (problem.cluster, f"{problem.caret.prefix}{problem.reference}{problem.caret.suffix}"))
        for problem in first.values()
    )
    repeated = {name: other for group in texts.values() for name, other in near_duplicate_texts(group).items()}
    return {problem.id: first[repeated[problem.cluster]].id for problem in problems if problem.cluster in repeated}


TASK_TITLES: Final = {"icc": "ICC", "scc": "SCC"}
"""Titles of tasks."""

_COMPONENTS: Final[dict[str, Callable[[Problem], str]]] = {
    "Instruction": lambda problem: problem.caret.instruction or "",
    "Prefix": lambda problem: problem.caret.prefix,
    "Middle": lambda problem: problem.reference,
    "Suffix": lambda problem: problem.caret.suffix,
}


def _tokens(problems: Sequence[Problem]) -> Table:
    by_task = grouped((problem.label("task"), problem) for problem in problems)
    rows = []
    for title, chosen in ((TASK_TITLES[task], by_task[task]) for task in TASK_TITLES if task in by_task):
        for name, text in _COMPONENTS.items():
            counts = [token_count(text(problem)) for problem in chosen]
            mean = sum(counts) / len(counts)
            rows.append((title, name, str(len(chosen)), str(min(counts)), str(max(counts)), f"{mean:.0f}"))
    return Table(
        "c3bench-tokens",
        f"Tokens, by the expression {TOKENIZER} (the paper's Table 1, in form)",
        ("Task", "Component", "Problems", "Least", "Most", "Mean"),
        tuple(rows),
        ("Tokens are words, and marks one by one. The paper names no tokenizer.",),
    )


def _kinds(problems: Sequence[Problem]) -> Table:
    counts: Counter[tuple[str, str, str]] = Counter()
    for problem in problems:
        counts[TASK_TITLES[problem.label("task")], problem.label("category"), problem.label("language")] += 1
    languages = sorted({language for _, _, language in counts})
    kinds = sorted({(task, category) for task, category, _ in counts})
    rows = [
        (
            task,
            category,
            *(str(counts[task, category, language]) for language in languages),
            str(sum(counts[task, category, language] for language in languages)),
        )
        for task, category in kinds
    ]
    return Table("c3bench-kinds", "Problems", ("Task", "Category", *languages, "Total"), tuple(rows))


@register_builder
class C3BenchBuilder(Builder):
    """Builder of C3-Bench; see :class:`caretbench.build.builder.Builder`."""

    name = SUITE
    about = (
        f"the problems: {HUMANEVAL_INFILLING}, {SAFIM}, a folder of source files, or a file of rows "
        "(HumanEval-Infilling, DevBench, SAFIM)"
    )
    options = OPTIONS
    roles: ClassVar[Mapping[str, str]] = {
        GENERATOR_ROLE: "writes implementations and instructions (optional)",
        CHECKER_ROLE: "reads instructions back (optional)",
    }
    roles_with_several_models = frozenset({GENERATOR_ROLE})

    def build(self, job: BuildJob) -> BuildResult:
        """Build problems from functions with tests, and from source files.

        Functions with tests (HumanEval-Infilling, DevBench's layout, NAME.py with check_NAME.py) give problems about
        the implementation: other implementations must pass the tests and agree with the function on further inputs, in
        the sandbox. All source files give problems about the scale, those with tests first. People (--variants) and
        models (-m generator=, -m checker=) may add implementations and instructions. Run the same command again to
        resume an interrupted build.

        Examples:
          caretbench build c3bench --from humaneval-infilling --from ~/code/project -o c3
          caretbench build c3bench --variants own.toml -m generator=gguf/smollm2 -o c3
        """
        return build_problems(job, self.gate)

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Return the tokens of instruction, prefix, reference and suffix."""
        del profile
        return {f"{name.lower()}_tokens": float(token_count(text(problem))) for name, text in _COMPONENTS.items()}

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return the tokens and the kinds of problems, as the paper's Table 1."""
        problems = self.suite.load(source).problems
        return (_tokens(problems), _kinds(problems))

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> CompletionGate:
        """Return the gate for both tasks."""

        def program(problem: Problem, text: str) -> ExecutionRequest | None:
            request = self.suite.request(problem, text, "default", {})
            return request if isinstance(request, ExecutionRequest) else None

        chosen = get_policy(self.suite.rules("default").policy)
        return CompletionGate(lambda: executor().programs, chosen, program, progress)
