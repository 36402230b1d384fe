"""What a run has to judge: every distinct text of every problem, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from caretbench.extraction.policies import Policy
from caretbench.judging.answers import answer_key, inserted
from caretbench.judging.controls import DEFAULT_CONTROL_PROBLEMS, control_sample, controls
from caretbench.problem import Problem, Profile
from caretbench.runs import RunFolder
from caretbench.suites.baselines import BASELINES


class Subject(NamedTuple):
    """One text at the caret of one problem; ``answer`` is its hash."""

    problem: Problem
    text: str
    answer: str


def subjects(
    folder: RunFolder,
    problems: Sequence[Problem],
    policy: Policy,
    profile: Profile,
    *,
    control_problems: int = DEFAULT_CONTROL_PROBLEMS,
    baselines: bool = False,
) -> tuple[list[Subject], int]:
    """The distinct texts to judge, and how many completions inserted them.

    Args:
        folder: The run: its completions, and its problems, from which the controls are taken.
        problems: The problems to judge.
        policy: From raw text to inserted text: the run's.
        profile: The run's.
        control_problems: Of so many problems of the run the controls are judged too; 0 for none.
        baselines: Judge the completions of the baselines too.
    """
    chosen = {problem.id: problem for problem in problems}
    found: dict[tuple[str, str], Subject] = {}
    count = 0
    for completion, text, answer in inserted(folder.completions(), chosen, policy, profile):
        if baselines or completion.model not in BASELINES:
            count += 1
            found.setdefault(
                (completion.problem_id, answer), Subject(chosen[completion.problem_id], text, answer)
            )
    if control_problems:
        everything = folder.problems() if folder.problems_path.exists() else list(problems)
        texts = controls(everything)
        for problem in control_sample(everything, control_problems):
            for text in texts[problem.id].values() if problem.id in chosen else ():
                answer = answer_key(text)
                found.setdefault((problem.id, answer), Subject(problem, text, answer))
    return list(found.values()), count
