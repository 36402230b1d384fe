"""Texts of a run to judge: every distinct text of every problem, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from caretbench.extraction.policies import Policy
from caretbench.judging.answers import TextOf, answer_key, answer_texts, inserted_texts, plain_answer
from caretbench.judging.caret_controls import DEFAULT_CONTROL_PROBLEMS, ControlTexts, control_sample, default_controls
from caretbench.judging.criterion_choice import CriterionProblems, instructed_problems, problems_by_criterion
from caretbench.judging.question_controls import question_control_sample, question_controls
from caretbench.problem import AnyCompletion, Problem, Profile
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import baselines_of_run


class DistinctText(NamedTuple):
    """Text to judge: inserted at the caret of a problem, or an answer to its question; ``answer`` is its hash."""

    problem: Problem
    text: str
    answer: str


def distinct_texts(
    folder: RunFolder,
    part: CriterionProblems,
    policy: Policy,
    profile: Profile,
    *,
    control_problems: int = DEFAULT_CONTROL_PROBLEMS,
    baselines: bool = False,
    is_judged: Callable[[AnyCompletion], bool] = lambda _completion: True,
    controls: ControlTexts = default_controls,
) -> tuple[list[DistinctText], int]:
    """Return the distinct texts to judge, and the number of completions with them.

    Args:
        folder: The run: its completions, and its problems, from which the controls are taken.
        part: The problems to judge, and the criterion.
        policy: From raw text to inserted text: the run's.
        profile: The run's.
        control_problems: Number of the run's problems whose controls are judged too; 0 for none.
        baselines: Judge the completions of the baselines too.
        is_judged: Chooses completions, where a criterion asks only about some.
        controls: Makes the controls: the suite's.
    """
    chosen = {problem.id: problem for problem in part.problems}
    left_out = () if baselines else baseline_names(folder)
    found: dict[tuple[str, str], DistinctText] = {}
    count = 0
    for completion, text, answer in inserted_texts(folder.completions(), chosen, policy, profile):
        if completion.model not in left_out and is_judged(completion):
            count += 1
            found.setdefault((completion.problem_id, answer), DistinctText(chosen[completion.problem_id], text, answer))
    if control_problems:
        everything = folder.problems() if folder.problems_path.exists() else list(part.problems)
        if part.criterion.form == "decision":
            everything = instructed_problems(everything, profile)
        texts = controls(everything, part.criterion.form)
        for problem in control_sample(everything, control_problems):
            for text in texts[problem.id].values() if problem.id in chosen else ():
                answer = answer_key(text)
                found.setdefault((problem.id, answer), DistinctText(problem, text, answer))
    return list(found.values()), count


def distinct_answers(
    folder: RunFolder,
    part: CriterionProblems,
    profile: Profile,
    *,
    control_problems: int = DEFAULT_CONTROL_PROBLEMS,
    baselines: bool = False,
    text_of: TextOf = plain_answer,
) -> tuple[list[DistinctText], int]:
    """Return the distinct answers to a part's questions, and the number of completions with them.

    ``text_of`` gives what the judge sees of a raw answer. The baselines are the suite's, and those of the manifest.
    """
    chosen = {problem.id: problem for problem in part.problems}
    left_out = () if baselines else baseline_names(folder)
    found: dict[tuple[str, str], DistinctText] = {}
    count = 0
    for completion, text, answer in answer_texts(folder.completions(), chosen, profile, text_of):
        if completion.model not in left_out:
            count += 1
            found.setdefault((completion.problem_id, answer), DistinctText(chosen[completion.problem_id], text, answer))
    if control_problems:
        pool = control_pool(folder.problems() if folder.problems_path.exists() else part.problems, part, profile)
        texts = question_controls(pool, part.criterion)
        for problem in question_control_sample(pool, control_problems):
            for text in texts[problem.id].values() if problem.id in chosen else ():
                answer = answer_key(text)
                found.setdefault((problem.id, answer), DistinctText(problem, text, answer))
    return list(found.values()), count


def control_pool(problems: Sequence[Problem], part: CriterionProblems, profile: Profile) -> list[Problem]:
    """Return the problems from which a part's controls are taken: all of its criterion, selected or not."""
    known = {entry.criterion.key: entry.problems for entry in problems_by_criterion(problems, profile)}
    return list(known.get(part.criterion.key, part.problems))


def baseline_names(folder: RunFolder) -> tuple[str, ...]:
    """Return the names of the baselines of a run: the suite's, and those of the manifest."""
    if not folder.manifest_path.exists():
        return baselines_of_run(None)
    manifest = folder.manifest()
    return baselines_of_run(manifest.suite, (info.model for info in manifest.models if info.source == "baseline"))
