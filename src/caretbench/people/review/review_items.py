"""The review of ``caretbench review demo``: twelve starter problems of DevBench, two of each language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import Field, ValidationError

from caretbench.build.validation.reviewed import problem_hash
from caretbench.files import DataError, describe_validation_error, read_rows, replace_surrogates
from caretbench.grouping import grouped
from caretbench.judging.aggregation import TextKey
from caretbench.judging.answers import answer_key, answer_texts, inserted_texts
from caretbench.judging.controls import balanced_sample, caret_controls, control_sample, problems_by_group
from caretbench.judging.criteria import Criterion, CriterionProblems
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.judge_scores import scores_by_judge
from caretbench.people.review.protocol import MAX_CHOICES, ControlRule, ReviewProtocol, ReviewQuestion, load_protocol
from caretbench.people.review.queues import rank
from caretbench.people.review.records import HiddenItem, ReviewItem, ShownItem, rated_score_names
from caretbench.problem import Caret, ChoiceCheck, InlineSplice, Problem, Question, Row, TestsCheck
from caretbench.runs.judging.judge_requests import DistinctText, baseline_names
from caretbench.runs.judging.plan import JudgingConfig, JudgingPlan
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.verdict import passed_by_completion
from caretbench.suites import load_problems, load_suite
from caretbench.suites.selection import Selection

_LABELS = ("category", "task", "tier", "scenario")
"""Labels of problems that people see."""


def problem_items(problems: Sequence[Problem], protocol: ReviewProtocol) -> list[ReviewItem]:
    """Return the items of problems: their references, and the controls and warm-up items of the protocol.

    Raises:
        DataError: there is no problem that the protocol is for, or the protocol is about answers.
    """
    if protocol.subject == "answer":
        raise DataError(f"the protocol {protocol.name} is about answers of models: give a run, --run RUN")
    chosen = suited_problems(problems, protocol)
    items = [item_of_text(problem, problem.reference, protocol, _right_choice(problem, protocol)) for problem in chosen]
    return [*items, *control_items(chosen, protocol, len(chosen))]


OWN_SUITE: Final = "own"
"""Suite of the items of a file, which no suite loads."""


class OwnItem(Row):
    """One row of a file of items: ``text`` is the part to review, between ``before`` and ``after``."""

    id: str = Field(min_length=1, max_length=200)
    text: str
    before: str = ""
    after: str = ""
    language: str = ""
    labels: Mapping[str, str] = Field(default_factory=dict)
    instruction: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    reference: str | None = None
    tests: str = ""


def own_items(path: Path, protocol: ReviewProtocol) -> list[ReviewItem]:
    """Return the items of a JSONL file, without controls: their right answers are not known.

    Raises:
        DataError: the file cannot be read or has no row, an id occurs twice, or the choices do not fit the protocol.
    """
    if protocol.questions_from_criterion:
        raise DataError(f"the protocol {protocol.name} takes its questions from a criterion: give a run, --run RUN")
    needs_choices = any(question.kind == "problem_choice" for question in protocol.questions)
    items: dict[str, ReviewItem] = {}
    for line, row in enumerate(read_rows(path, OwnItem), 1):
        if row.id in items:
            raise DataError(f"{path}:{line}: id: {row.id} occurs twice")
        if needs_choices and not 2 <= len(row.choices) <= MAX_CHOICES:
            raise DataError(f"{path}:{line}: choices: {len(row.choices)}; people choose one of 2 to {MAX_CHOICES}")
        shown = row.model_dump(include={"before", "after", "instruction", "question", "choices"})
        shown["reference"] = row.reference if "reference" in protocol.shows else None
        shown["tests"] = row.tests if "tests" in protocol.shows else ""
        items[row.id] = ReviewItem(
            problem_id=row.id, suite=OWN_SUITE, language=row.language, labels=row.labels, answer=answer_key(row.text),
            shown=ShownItem.model_validate(replace_surrogates(shown | {"span": row.text})),
        )  # fmt: skip
    if not items:
        raise DataError(f"{path}: no item")
    return list(items.values())


def suited_problems(problems: Sequence[Problem], protocol: ReviewProtocol) -> list[Problem]:
    """Return the problems that a protocol is for: of its suites, and with choices where people choose.

    Raises:
        DataError: there is none, or one has more choices than keys.
    """
    needs_choices = any(question.kind == "problem_choice" for question in protocol.questions)
    for problem in problems if needs_choices else ():
        # Keys have one digit; a tenth choice could not be given without a mouse.
        if isinstance(problem.shown, Question) and len(problem.shown.choices) > MAX_CHOICES:
            raise DataError(
                f"{problem.id}: {len(problem.shown.choices)} choices; people choose by the keys 1 to {MAX_CHOICES}"
            )
    chosen = [
        problem
        for problem in problems
        if (not protocol.suites or problem.suite in protocol.suites)
        and (not needs_choices or (isinstance(problem.shown, Question) and problem.shown.choices))
    ]
    if not chosen:
        suites = ", ".join(sorted({problem.suite for problem in problems})) or "nothing"
        wanted = " or ".join(protocol.suites) or "any suite"
        raise DataError(
            f"the protocol {protocol.name} is for {'questions with choices of ' if needs_choices else ''}{wanted}; "
            f"found problems of {suites}; choose other ones with --suite, --data or --select"
        )
    return chosen


def control_items(problems: Sequence[Problem], protocol: ReviewProtocol, items: int) -> Iterator[ReviewItem]:
    """Yield warm-up items and controls, the kinds in turn; their texts are those by which judges are checked.

    Args:
        problems: Problems from which they are made.
        protocol: The protocol, with the numbers.
        items: Number of items that the share of controls is of.
    """
    warm_up = protocol.mix.warm_up
    wanted = warm_up + (max(1, round(protocol.mix.controls * items)) if protocol.mix.controls else 0)
    sample = control_sample(problems, wanted) if protocol.controls else []
    texts = caret_controls(problems)
    for number, problem in enumerate(sample):
        # A problem with an empty reference has no control `empty`.
        rules = [rule for rule in protocol.controls if rule.kind in texts[problem.id]]
        if rules:
            # In turn, so that each kind occurs about equally often in a small sample.
            rule: ControlRule = rules[number % len(rules)]
            hidden = HiddenItem(control=rule.kind, expect=rule.expect, explanation=rule.explanation)
            item = item_of_text(problem, texts[problem.id][rule.kind], protocol, hidden)
            kind = "warm_up" if number < warm_up else "control"
            yield item.model_copy(update={"kind": kind})


def item_of_text(
    problem: Problem, span: str, protocol: ReviewProtocol, hidden: HiddenItem | None = None, verdict: str = ""
) -> ReviewItem:
    """Return the item of one text at a problem: the reference, a control, or the answer of a model.

    Args:
        problem: The problem.
        span: The text to review; it is not shown where people answer the question themselves.
        protocol: The protocol, which says what is shown.
        hidden: Facts that nobody sees.
        verdict: Outcome of the run with this text.
    """
    shown = problem.shown
    # People who answer a question themselves must not see the reference.
    texts: dict[str, Any] = {"span": "" if protocol.subject == "question" else span}
    if isinstance(shown, Caret):
        texts |= {"before": shown.prefix, "after": shown.suffix, "instruction": shown.instruction or ""}
        language = shown.language
    else:
        files = [file.model_dump() for file in shown.context]
        texts |= {"question": shown.text, "choices": list(shown.choices), "files": files}
        language = str(problem.labels.get("language", ""))
    optional = {"tests": _tests(problem), "verdict": verdict, "reference": problem.reference}
    texts |= {name: text for name, text in optional.items() if name in protocol.shows and text}
    return ReviewItem(
        problem_id=problem.id,
        suite=problem.suite,
        language=language,
        answer=answer_key(span),
        # Other labels (band, generator) tell what the item is meant to be.
        labels={name: problem.label(name) for name in _LABELS if name in problem.labels},
        # SQLite and browsers take no half of a surrogate pair.
        shown=ShownItem.model_validate(replace_surrogates(texts)),
        hidden=hidden or HiddenItem(),
        problem_hash=problem_hash(problem),
    )


def _right_choice(problem: Problem, protocol: ReviewProtocol) -> HiddenItem | None:
    """Return the known answer to a multiple-choice question that people answer themselves, or None."""
    names = [question.name for question in protocol.questions if question.kind == "problem_choice"]
    right = next((check.correct for check in problem.checks if isinstance(check, ChoiceCheck)), None)
    return None if right is None or not names else HiddenItem(expect={names[0]: (right,)})


def _tests(problem: Problem) -> str:
    """Return the hidden tests: what the program has behind the shown text, or the command that runs tests."""
    if isinstance(problem.splice, InlineSplice) and isinstance(problem.shown, Caret):
        return problem.hidden_tests
    commands = [" ".join(check.command) for check in problem.checks if isinstance(check, TestsCheck)]
    return "\n".join(commands)


DEFAULT_TEXTS: Final = 150
"""Number of texts that people rate by default: that of DevBench's study (paper section 3.3)."""

_MAX_POINTS: Final = 10
"""Highest number on a scale that a key can give."""


class RunItems(NamedTuple):
    """Items from a run, the protocol with its questions, and the number of distinct texts that were there."""

    items: list[ReviewItem]
    protocol: ReviewProtocol
    texts: int


def run_items(
    folder: RunFolder,
    protocol: ReviewProtocol,
    *,
    criterion: str | None = None,
    selection: Selection | None = None,
    texts: int = DEFAULT_TEXTS,
    seed: int = 0,
    disputed: bool = False,
) -> RunItems:
    """Return the items of a run's answers: a sample balanced over languages, and the controls of the protocol.

    Args:
        folder: The run.
        protocol: A protocol about answers.
        criterion: Criterion of judges that people's ratings validate; by default the protocol's, else the run's own.
        selection: The problems.
        texts: Largest number of texts.
        seed: Seed of the sample.
        disputed: Take the texts about which the run's judges differ most.

    Raises:
        DataError: the protocol is not about answers or not for these problems, the run has no answers, several criteria
            are possible, or too few judges have judged the texts.
    """
    if protocol.subject != "answer":
        raise DataError(
            f"the protocol {protocol.name} is not about answers of models: give problems, --data, not a run"
        )
    chosen = criterion or protocol.criterion
    config = JudgingConfig(control_problems=0, selection=selection or Selection())
    plan = JudgingPlan(folder, config)
    # A criterion of the run keeps its problems; another one is for all problems that it can judge.
    batches = [batch for batch in plan.batches if chosen in {batch.criterion.name, batch.criterion.key}]
    if chosen is not None and not batches:
        plan = JudgingPlan(folder, replace(config, criterion=chosen))
    # People rate by one criterion; two would need two sets of questions.
    batch = _suited_batch(batches or plan.batches, protocol)
    protocol = protocol_of_criterion(protocol, batch.criterion)
    problems = suited_problems(batch.problems, protocol)
    ids = {problem.id for problem in problems}
    candidates = [text for text in plan.texts(batch).texts if text.problem.id in ids]
    if not candidates:
        raise DataError(f"{folder.path}: no answer of a model to these problems; ask one with `caretbench run`")
    scores = scores_by_judge(folder.judgements(), batch.criterion.key)
    judged: dict[TextKey, dict[str, float]] = defaultdict(dict)
    for (judge, _), by_text in scores.items():
        for key, scored in by_text.items():
            judged[key][judge] = scored.total
    sample = _most_disputed(candidates, judged, texts, seed, folder) if disputed else _sample(candidates, texts, seed)
    authors, verdicts = _text_facts(plan, problems)
    items = []
    for text in sample:
        key = (text.problem.id, text.answer)
        hidden = HiddenItem(models=tuple(sorted(authors[key])), judges=judged.get(key, {}))
        items.append(item_of_text(text.problem, text.text, protocol, hidden, verdicts.get(key, "")))
    return RunItems([*items, *control_items(problems, protocol, len(items))], protocol, len(candidates))


def protocol_of_criterion(protocol: ReviewProtocol, criterion: Criterion) -> ReviewProtocol:
    """Return a protocol for a criterion: with its scores as questions, if the protocol takes them from there.

    Raises:
        DataError: the scores do not fit: other names than the questions, or no whole numbers up to 10.
    """
    names = rated_score_names(criterion)
    if not protocol.questions_from_criterion:
        scales = [question.name for question in protocol.questions if question.kind == "scale"]
        if protocol.criterion is not None and sorted(scales) != sorted(names):
            raise DataError(
                f"the protocol {protocol.name} asks for {', '.join(scales)}, but {criterion.key} has "
                f"{', '.join(names)}; take a protocol with these questions, or questions_from_criterion = true"
            )
        return protocol.model_copy(update={"criterion": criterion.key}) if protocol.criterion else protocol
    about = {scale.name: (scale.about, scale.maximum) for scale in criterion.scores}
    questions = []
    for name in names:
        text, maximum = about.get(name, ("Does it claim something that is not true or not shown? 1 is yes.", 1.0))
        # A scale of 0.5 or of 100 points has no keys.
        if maximum != int(maximum) or maximum > _MAX_POINTS:
            raise DataError(
                f"{criterion.key}: {name} goes up to {maximum:g}; people rate by keys, in whole numbers up to 10"
            )
        wording = text or name.replace("_", " ").capitalize()
        questions.append(ReviewQuestion(name=name, text=wording, minimum=0, maximum=int(maximum)))
    made = protocol.model_dump() | {
        "questions": [question.model_dump() for question in questions],
        "questions_from_criterion": False,
        "criterion": criterion.key,
    }
    try:
        # Validated anew: scores of a user's criterion may clash with names or keys of a protocol.
        return ReviewProtocol.model_validate(made)
    except ValidationError as error:
        reason = describe_validation_error(error)
        raise DataError(f"the protocol {protocol.name} with {criterion.key}: {reason}") from None


def _suited_batch(batches: Sequence[CriterionProblems], protocol: ReviewProtocol) -> CriterionProblems:
    fitting = [batch for batch in batches if not protocol.suites or batch.problems[0].suite in protocol.suites]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        suite = batches[0].problems[0].suite
        raise DataError(f"the protocol {protocol.name} is for {' or '.join(protocol.suites)}, not for a run of {suite}")
    keys = ", ".join(batch.criterion.key for batch in fitting)
    raise DataError(f"the answers of this run are judged by {keys}; choose one: --criterion {fitting[0].criterion.key}")


def _stratum(problem: Problem) -> tuple[str]:
    shown = problem.shown
    return (shown.language if isinstance(shown, Caret) else str(problem.labels.get("task", problem.suite)),)


def _sample(texts: Sequence[DistinctText], limit: int, seed: int) -> list[DistinctText]:
    """Return a sample that is balanced over languages (tasks, for questions), and within them over problems."""
    # By hash, so that a larger sample contains the smaller one.
    drawn = sorted(texts, key=lambda text: rank(seed, "text", text.problem.id, text.answer))
    by_problem = grouped((text.problem.id, text) for text in drawn)
    problems = {text.problem.id: text.problem for text in texts}
    taken: list[DistinctText] = []
    while len(taken) < limit and by_problem:
        ordered = [problems[name] for name in sorted(by_problem, key=lambda name: rank(seed, "problem", name))]
        for problem in balanced_sample(problems_by_group(ordered, _stratum), limit - len(taken)):
            taken.append(by_problem[problem.id].pop())
            if not by_problem[problem.id]:
                del by_problem[problem.id]
    return taken


def _most_disputed(
    texts: Sequence[DistinctText],
    judged: Mapping[TextKey, Mapping[str, float]],
    limit: int,
    seed: int,
    folder: RunFolder,
) -> list[DistinctText]:
    """Return the texts whose scores by different judges are farthest apart, the farthest first."""
    spreads = []
    for text in texts:
        scores = judged.get((text.problem.id, text.answer), {})
        if len(scores) > 1:
            spread = max(scores.values()) - min(scores.values())
            spreads.append((-spread, rank(seed, "text", text.problem.id, text.answer), text))
    if not spreads:
        raise DataError(f"{folder.path}: no text that two judges judged; judge the run: caretbench judge {folder.path}")
    return [text for _, _, text in sorted(spreads, key=lambda entry: entry[:2])[:limit]]


def _text_facts(
    plan: JudgingPlan, problems: Sequence[Problem]
) -> tuple[Mapping[TextKey, set[str]], Mapping[TextKey, str]]:
    """Return the authors of the distinct texts, without baselines, and the outcome of the run with them."""
    chosen = {problem.id: problem for problem in problems}
    folder, profile = plan.folder, plan.manifest.profile
    passed = passed_by_completion(folder.scores(), chosen, plan.policy.key, profile)
    outcomes = {score.completion_key: score.outcome for score in folder.scores() if score.outcome}
    baselines = baseline_names(folder)
    authors: dict[TextKey, set[str]] = defaultdict(set)
    verdicts: dict[TextKey, str] = {}
    for texts in (
        inserted_texts(folder.completions(), chosen, plan.policy, profile),
        answer_texts(folder.completions(), chosen, profile, plan.text_of),
    ):
        for completion, _, answer in texts:
            key = (completion.problem_id, answer)
            # The reference may have the same text as an answer; its author is the model.
            if completion.model not in baselines:
                authors[key].add(completion.model)
            verdict = passed.get(completion.key)
            if verdict is not None:
                outcome = outcomes.get(completion.key, "").replace("_", " ")
                verdicts[key] = "passed" if verdict else f"failed ({outcome})" if outcome else "failed"
    return authors, verdicts


def demo_review(folder: Path) -> None:
    """Make the review of the demo: twelve items, without a warm-up.

    Raises:
        DataError: the folder has a review already.
    """
    protocol = load_protocol("devbench-instance")
    protocol = protocol.model_copy(update={"mix": protocol.mix.model_copy(update={"warm_up": 0, "controls": 0.0})})
    suite = load_suite("devbench")
    problems = Selection(limit=12).apply(suite, load_problems(suite, "starter").problems)
    ReviewDatabase.create(folder, protocol, problem_items(problems, protocol), seed=0).close()
