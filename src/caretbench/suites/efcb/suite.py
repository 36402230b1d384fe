"""EFCB: understanding of merged changes, without an environment to run anything in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from caretbench.errors import UsageError
from caretbench.files import DataError, read_rows
from caretbench.languages import get_language
from caretbench.problem import ChoiceCheck, Problem, Profile, Question
from caretbench.profiles import rules_of
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.efcb import baselines, choices
from caretbench.suites.efcb.descriptions import (
    hallucination_scores,
    parse_description,
    reverse_scores,
    unsupported_mentions,
)
from caretbench.suites.efcb.efcb_score import PUBLISHED_FORMULA
from caretbench.suites.efcb.masked_answers import (
    WHOLE_PATCH_TIER,
    masked_error_kinds,
    masked_scores,
    parse_masked_answer,
)
from caretbench.suites.efcb.problem_metadata import BLIND_TASKS, PART_WORDS, EfcbProfile, EfcbTask, efcb_profile
from caretbench.suites.efcb.problem_metadata import SUITE_NAME as NAME
from caretbench.suites.efcb.released_problems import LAYOUT, BuiltFolder, released_files, released_problems
from caretbench.suites.efcb.tables.choice_tables import missing_score
from caretbench.suites.efcb.tables.result_tables import result_tables
from caretbench.suites.suite_types import Measurement, ProblemSet, Stratification, Table, unread_files

if TYPE_CHECKING:
    import polars as pl

_STARTER: Final = Path(__file__).parent / "starter" / "problems.jsonl.xz"


@register
class Efcb(Suite):
    """EFCB: questions about merged changes that need no execution; see :class:`caretbench.suites.base.Suite`."""

    name = NAME
    title = "EFCB"
    about = "questions about merged changes: which patch, which lines, which description; nothing is run"
    needs = "nothing; a judge for texts"
    cpu_minutes = 0.1
    further_data = "caretbench build efcb SOURCE"
    strata = ("task", "tier", "repository", "language", "query", "rotation")
    stratification = Stratification(
        labels=(),  # a label alone would average over tiers, which differ in how much guessing gives
        crossed=(
            ("task", "tier"),
            ("task", "tier", "query"),
            *(("task", "tier", name) for name in ("repository", "language", "lexical_margin", "patch_lines")),
        ),
        main_labels=("task", "tier"),
        cell_labels=("task", "tier", "repository", "query", "rotation"),
        headline_labels=("task", "tier", "query"),
        part_words=PART_WORDS,
        heat_maps=(("task", "tier", "repository"),),
    )
    profile_rules = EfcbProfile
    score_formula = PUBLISHED_FORMULA
    baselines = baselines.BASELINES

    def load(self, source: str) -> ProblemSet:
        """Load ``starter``, a folder that ``caretbench build efcb`` wrote, or one with the released layout."""
        if source == "starter":
            return ProblemSet.of("starter", list(read_rows(_STARTER, Problem)))
        root = Path(source)
        expected = f"a folder that caretbench build efcb wrote, or one with the released {LAYOUT}"
        if not root.is_dir():
            raise DataError(f"{source}: no such folder; use starter, {expected}")
        built, passed_over = BuiltFolder(root), tuple[str, ...]()
        if built.has_build():
            problems = built.read_problems()
        elif files := released_files(root):
            problems = released_problems(files)
            folder = files[0].path.parent
            folder = folder if folder == root else folder.parent
            passed_over = unread_files(folder, {file.path for file in files}, {".jsonl"}, LAYOUT)
        else:
            raise DataError(f"{source}: no data of EFCB in this folder; use starter, {expected}")
        return ProblemSet.of(root.resolve().name, problems, passed_over)

    def question_without_text(self, problem: Problem) -> Question | None:
        """Return a choice, or a patch with hidden lines, without title and description; None for descriptions."""
        if not isinstance(problem.shown, Question) or problem.labels["task"] not in BLIND_TASKS:
            return None
        # Every request is one paragraph, and says so of the text below it.
        request = problem.shown.text.partition("\n\n")[0]
        blind = request.replace("the following text describes", "a text, which is not shown, describes")
        # Also of released questions: the messages of the release have the description in their midst.
        return problem.shown.model_copy(update={"text": blind, "messages": ()})

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> None:
        """Return None: nothing is executed."""
        del problem, text, profile

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return scores: a right or wrong letter, or similarity to the reference with the value of copying."""
        check = next((check for check in problem.checks if isinstance(check, ChoiceCheck)), None)
        if check is not None:
            is_strict = efcb_profile(profile).strict_parsing
            answer = choices.parse_strictly(text) if is_strict else choices.parse_as_released(text)
            values = {"passed": float(answer.choice == check.correct), "invalid": float(answer.choice is None)}
            details = {"answer": answer.letter or "", "reason": answer.reason or ""}
            return [Measurement("choice@1", values, details)]
        if problem.labels["task"] == EfcbTask.MASKED:
            return [Measurement("masked@1", masked_scores(problem, text))]
        if problem.labels["task"] == EfcbTask.HALLUCINATION:
            made_up, _ = unsupported_mentions(problem, parse_description(text))
            said = {"unsupported": ", ".join(mention.text for mention in made_up)}
            return [Measurement("mentions@2", hallucination_scores(problem, text), said)]
        return [Measurement("description@1", reverse_scores(problem, text))]

    def measure_error_kinds(self, problem: Problem, text: str | None) -> list[Measurement]:
        """Return the error kinds of lines that an answer writes for masks; nothing for other questions."""
        return masked_error_kinds(problem, text) if problem.labels["task"] == EfcbTask.MASKED else []

    def judged_text(self, problem: Problem, text: str, profile: Profile) -> str:
        """Return the written lines, or title and description in one form; empty if there are none.

        Judges would otherwise rate copied context and fences. Under the paper profile, and if the whole patch is
        requested, they see the raw answer, as in the published scores.
        """
        # The published judges saw the raw answer, fences and repeated context included, and rated those, too.
        if rules_of(profile).judged_as_it_came or problem.labels.get("tier") == WHOLE_PATCH_TIER:
            return text
        if problem.label("task") == EfcbTask.MASKED and isinstance(problem.shown, Question) and problem.shown.context:
            return "\n".join(parse_masked_answer(text, problem.shown.context[0].text))
        written = parse_description(text)
        return f"Title: {written.title}\n\nBody: {written.body}".rstrip() if written.text else ""

    def canonical_label(self, name: str, value: str) -> str:
        """Return the name of a language for its other names, such as ``golang`` and ``rs``."""
        if name != "language":
            return value
        try:
            return get_language(value).name
        # Labels of changes name languages that the package has no folder for, such as Kotlin.
        except UsageError:
            return value

    def missing_score(self, results: pl.DataFrame, problems: Mapping[str, Problem]) -> Sequence[str]:
        """Return the tasks without judgements, and the command that judges them."""
        return tuple(missing_score(results, problems))

    def result_tables(self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
        """Return the score, and tables in the paper's form."""
        return result_tables(results, problems, seed)
