"""EFCB: understanding of merged changes, without an environment to run anything in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caretbench.execution.dispatcher import Dispatcher
from caretbench.files import DataError
from caretbench.languages import language
from caretbench.problem import ChoiceCheck, Problem, Profile, Question
from caretbench.profiles import rules_of
from caretbench.progress import Progress
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.build_models import BuildModels
from caretbench.suites.efcb import answers, baselines, build
from caretbench.suites.efcb.describing import SUITE as NAME
from caretbench.suites.efcb.efcb_score import HALLUCINATION, MASKED
from caretbench.suites.efcb.gating import QuestionGate
from caretbench.suites.efcb.options import EfcbProfile
from caretbench.suites.efcb.output.folder import EfcbFolder
from caretbench.suites.efcb.starter_set import problems as starter
from caretbench.suites.efcb.tables import data_tables
from caretbench.suites.efcb.tables.result_tables import result_tables
from caretbench.suites.efcb.written.masked_answers import fill
from caretbench.suites.efcb.written.masked_scores import masked_scores
from caretbench.suites.efcb.written.masking import WHOLE_PATCH
from caretbench.suites.efcb.written.reverse import described
from caretbench.suites.efcb.written.reverse_scores import hallucination_scores, reverse_scores, unsupported
from caretbench.suites.values import BuildResult, Measurement, ProblemSet, Stratification, Table

if TYPE_CHECKING:
    import polars as pl


@register
class Efcb(Suite):
    """EFCB: questions about merged changes, nothing is run; see :class:`caretbench.suites.base.Suite`."""

    name = NAME
    title = "EFCB"
    about = "understanding of merged changes: which patch, which lines, what for; nothing is run"
    strata = ("task", "tier", "repository", "language", "query", "rotation")
    stratification = Stratification(
        labels=("task", "tier", "repository", "language", "lexical_margin", "patch_lines"),
        crossed=(("task", "tier"), ("task", "repository"), ("task", "tier", "query"), ("task", "language")),
        main=("task", "tier"),
        cells=("task", "tier", "repository", "query", "rotation"),
        heat_maps=(("task", "repository"),),
    )
    profile_rules = EfcbProfile
    baselines = baselines.BASELINES
    build_about = "merged changes: a clone, OWNER/NAME at GitHub, or a file of changes mined before"
    build_options = build.OPTIONS

    def load(self, source: str) -> ProblemSet:
        """``starter``, or a folder that ``caretbench build efcb`` wrote."""
        if source == "starter":
            return ProblemSet.of("starter", starter.load())
        root = Path(source)
        if not root.is_dir():
            raise DataError(
                f"{source}: no such folder; say starter, or the folder of a build: caretbench build efcb"
            )
        return ProblemSet.of(root.resolve().name, EfcbFolder(root).problems())

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        **_models: BuildModels,
    ) -> BuildResult:
        """Build multiple-choice questions from merged changes.

        No program is run; only sources at GitHub need the network. The build fails (status 1) if position, length
        or similarity reveal the right answers. Run the same command again to resume.

        Examples:
          caretbench build efcb ~/code/project owner/name -o tasks
          caretbench build efcb ~/code/project --since 2026-01-01 --max-changes 100 -o tasks
        """
        return build.build(sources, output, options, progress)

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Repositories and questions, as the paper's Tables 2 and 3."""
        loaded = self.load(source)
        facts = {} if source == "starter" else EfcbFolder(Path(source)).facts()
        return (*data_tables.data_tables(loaded.problems, facts),)

    def request(self, problem: Problem, text: str | None, profile: Profile) -> None:
        """Nothing is run."""
        del problem, text, profile

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return scores: whether the letter is right, or similarity to the reference, next to what copying reaches."""
        check = next((check for check in problem.checks if isinstance(check, ChoiceCheck)), None)
        if check is not None:
            answer = answers.parsed(text, profile)
            values = {
                "passed": float(answer.choice == check.correct),
                "invalid": float(answer.choice is None),
            }
            details = {"answer": answer.letter or "", "reason": answer.invalid or ""}
            return [Measurement("choice@1", values, details)]
        if problem.labels["task"] == MASKED:
            return [Measurement("masked@1", masked_scores(problem, text))]
        if problem.labels["task"] == HALLUCINATION:
            made_up, _ = unsupported(problem, described(text))
            said = {"unsupported": ", ".join(mention.text for mention in made_up)}
            return [Measurement("mentions@2", hallucination_scores(problem, text), said)]
        return [Measurement("description@1", reverse_scores(problem, text))]

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> QuestionGate:
        """Return the gate for questions; nothing is run."""
        del executor

        def measured(problem: Problem, text: str | None) -> Mapping[str, float]:
            return {
                name: value
                for entry in self.measure(problem, text, "default")
                for name, value in entry.values.items()
            }

        return QuestionGate(measured, progress)

    def judged_text(self, problem: Problem, text: str, profile: Profile) -> str:
        """Return the written lines, or title and description in one form; the empty text where there are none.

        A judge that saw the whole answer would rate copied surroundings, fences and manners. Under the paper profile,
        and where the whole patch is asked for, it does: the raw answer was judged when the scores were published.
        """
        if rules_of(profile).judged_as_it_came or problem.labels.get("tier") == WHOLE_PATCH:
            return text
        if problem.label("task") == MASKED and isinstance(problem.shown, Question) and problem.shown.context:
            return fill(text, problem.shown.context[0].text).text
        found = described(text)
        return f"Title: {found.title}\n\nBody: {found.body}".rstrip() if found.text else ""

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Lines and characters of the patch, and characters of all that is shown."""
        del profile
        shown = problem.shown
        names = ("patch_lines", "patch_characters")
        numbers = {name: value for name in names if isinstance(value := problem.labels.get(name), float)}
        if isinstance(shown, Question):
            texts = (shown.text, *shown.choices, *(file.text for file in shown.context))
            return {**numbers, "shown_characters": float(sum(map(len, texts)))}
        return {**numbers, "shown_characters": 0.0}

    def canonical_label(self, name: str, value: str) -> str:
        """``golang`` and ``rs`` are languages, too."""
        if name != "language":
            return value
        try:
            return language(value).name
        except KeyError:
            return value

    def result_tables(
        self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
    ) -> tuple[Table, ...]:
        """Return the score and the paper's tables, in form."""
        return result_tables(results, problems, seed)
