"""Builders of conventional benchmarks: their files are fetched, and their problems validated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from caretbench.build import register_builder
from caretbench.build.builder import Builder
from caretbench.build.validation.program_gate import ProgramGate
from caretbench.build.validation.resumable_gate import ProblemGate, ResumableGate
from caretbench.conventional import conventional_names
from caretbench.conventional.descriptions import description, pull_files
from caretbench.errors import UsageError
from caretbench.execution.dispatcher import Dispatcher
from caretbench.problem import Problem
from caretbench.suites.fim.measures import equal_lines
from caretbench.suites.validity import Validity


def same_holes(problems: Sequence[Problem]) -> Mapping[str, str]:
    """Return the problems that have the program and the hole of an earlier one, with its id.

    Problems of one program are no duplicates here: 8,488 of HumanEval-Infilling are holes of 164 functions.
    """
    first: dict[tuple[object, ...], str] = {}
    repeated = {}
    for problem in problems:
        hole = problem.labels.get("split"), problem.caret.prefix, problem.caret.suffix
        if first.setdefault(hole, problem.id) != problem.id:
            repeated[problem.id] = first[hole]
    return repeated


@dataclass
class TextGate(ResumableGate):
    """Gate of problems with a part that nothing runs: their texts are checked, and they stay ``unverified``.

    ``programs`` decides the others.
    """

    programs: Callable[[], ProgramGate]
    progress: Callable[[int], None]

    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield the verdicts: first those of texts."""
        run = [problem for problem in problems if problem.runs_as_program]
        repeated = same_holes(all_problems or problems)
        for problem in problems:
            if problem.runs_as_program:
                continue
            objections = []
            if equal_lines(problem, ""):
                objections.append("answerable_without_answer: empty")
            if problem.id in repeated:
                objections.append(f"near_duplicate: {repeated[problem.id]}")
            yield Validity(
                problem_id=problem.id,
                verdict="invalid" if objections else "unverified",
                reasons=tuple(objections or ["nothing_runs: answers are compared as text"]),
            )
        if run:
            yield from self.programs().decide(run, all_problems)


class FimBuilder(Builder):
    """Builder of one conventional benchmark; see :class:`caretbench.build.builder.Builder`."""

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released files into the cache and return their folder."""
        if models:
            raise UsageError(f"--model {models[0]}: {self.suite.title} has no recorded completions")
        return pull_files(self.name, source, progress)

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> ProblemGate:
        """Return the gate for programs, and for texts that nothing runs."""

        def programs() -> ProgramGate:
            gate = super(FimBuilder, self).gate(executor, progress)
            if not isinstance(gate, ProgramGate):
                raise TypeError(f"{self.name}: {type(gate).__name__} is no gate for programs")
            return replace(gate, duplicates=same_holes)

        if description(self.name).project is not None:
            raise UsageError(f"{self.name}: repositories of an archive are not validated; their environments are yours")
        return TextGate(programs, progress)


def _builder_class(name: str) -> type[FimBuilder]:
    about = description(name)
    return type(
        f"{about.title.replace('-', '')}Builder",
        (FimBuilder,),
        {
            "__module__": __name__,
            "__doc__": f"Builder of {about.title}.",
            "name": name,
            "pull_about": f"problems of {about.title}" if about.url else "",
        },
    )


for _name in conventional_names():
    register_builder(_builder_class(_name))
