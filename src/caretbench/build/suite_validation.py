"""Validation of a suite's problems by the gate, with stored verdicts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from caretbench.build import load_builder
from caretbench.build.validation.resumable_gate import ResumableGate
from caretbench.conventional import conventional_names
from caretbench.execution.dispatcher import open_executor
from caretbench.files import read_appended, write_rows
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.runs.plans.config import SuiteConfig
from caretbench.suites import load_problems, load_suite
from caretbench.suites.validity import Validity, verdicts_path


class Validation(NamedTuple):
    """Problems, the gate's verdicts in the same order, and the file that stores all verdicts."""

    problems: list[Problem]
    verdicts: list[Validity]
    path: Path

    @property
    def share(self) -> float:
        """Share of valid problems, from 0 to 1."""
        return sum(verdict.verdict == "valid" for verdict in self.verdicts) / len(self.verdicts)


def validate(
    config: SuiteConfig | str,
    *,
    ignore_stored: bool = False,
    workers: int | None = None,
    engine: str = "local",
    progress: Progress | None = None,
) -> Validation:
    """Validate problems by the gate of their suite; the same call resumes after a stop.

    Args:
        config: The problems, or the name of a suite: its starter set. Policy, profile and variants play no part.
        ignore_stored: Forget stored verdicts on these problems first.
        workers: Number of programs in flight; None: by the number of processors.
        engine: Engine that runs programs.
        progress: Told of steps and notes.

    Raises:
        ValueError: an option is wrong, or no problem is chosen.
        KeyError: an unknown suite.
        DataError: the data are wrong.
        MachineError: no sandbox can be built.
    """
    config = SuiteConfig(name=config) if isinstance(config, str) else config
    progress = progress or Progress()
    suite = load_suite(config.name)
    loaded = load_problems(suite, config.data)
    problems = config.selection.apply(suite, loaded.problems)
    for line in (*loaded.passed_over, *config.selection.shortfall(suite, len(problems), loaded.problems)):
        progress.note(line)
    path = verdicts_path(suite.name, loaded.hash)
    if ignore_stored:
        dropped = {problem.id for problem in problems}
        # Verdicts of problems that were not chosen took their time, too; they stay.
        write_rows(path, [row for row in read_appended(path, Validity) if row.problem_id not in dropped])
    progress("problems", 0, len(problems))
    opened = partial(open_executor, workers, use_cache=True, engine=engine)
    gate = load_builder(config.name).gate(opened, lambda count: progress("problems", count, None))
    # Rules of construction bind what is built here: 43 references of DevBench's release try to connect or look up a
    # name, most pass without an answer from outside, and answers are measured on them.
    if isinstance(gate, ResumableGate):
        gate.refuses_accesses = not (loaded.name.startswith("released") or suite.name in conventional_names())
    return Validation(problems, gate.run(problems, path), path)
