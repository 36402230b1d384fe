"""Problems of the released layout: each row with its messages as released; ``reverse_qa`` rows make two problems.

A pull request is recognised by its patch, which the rows of all its tasks contain, so that intervals resample it with
all of them. Rows of different pull requests with the same patch are numbered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from caretbench.files import DataError, sha256_text
from caretbench.problem import (
    Check,
    ChoiceCheck,
    ContextFile,
    CriterionCheck,
    Label,
    NoSplice,
    Problem,
    Provenance,
    Question,
)
from caretbench.suites.efcb.choice_positions import INSTRUCTION, LETTERS
from caretbench.suites.efcb.efcb_score import (
    EASY_TASK,
    HALLUCINATION_TASK,
    HARD_TASK,
    MASKED_TASK,
    MAX_JUDGED_SCORE,
    REVERSE_TASK,
)
from caretbench.suites.efcb.open_answers.mask_windows import MASK_PLACEHOLDER
from caretbench.suites.efcb.open_answers.masked_answers import (
    CRITERION_NAME,
    PATCH_FILE,
    WHOLE_PATCH_TIER,
    whole_patch_request,
)
from caretbench.suites.efcb.open_answers.written_descriptions import INSTRUCTION as REVERSE_INSTRUCTION
from caretbench.suites.efcb.open_answers.written_descriptions import JUDGE_CRITERIA, parse_description
from caretbench.suites.efcb.problem_metadata import SUITE_NAME, patch_labels
from caretbench.suites.efcb.released.released_rows import ReleasedFile, ReleasedRow, read_released_rows
from caretbench.suites.efcb.released.released_texts import (
    parse_rendered_patch,
    patch_key,
    split_choices,
    split_masked_patch,
)

RELEASE_LABEL: Final = "release"
"""Label of released problems: the version of the release."""
_UNKNOWN_VERSION: Final = "unknown"
_EASY_TIER: Final = "random"
_QUERY: Final = "description_only"
_DIGITS: Final = 12


def released_problems(files: Iterable[ReleasedFile]) -> list[Problem]:
    """Return the problems of all files.

    Raises:
        DataError: a row is malformed, or there is none; the message has file, line, cause and remedy.
    """
    problems = [problem for file in files for problem in _file_problems(file)]
    if not problems:
        raise DataError("the files of the released layout contain no row")
    return problems


def _file_problems(file: ReleasedFile) -> Iterator[Problem]:
    seen: Counter[str] = Counter()
    for row in read_released_rows(file.path):
        builder = _RowProblems(file, row, seen)
        try:
            if file.kind.startswith("mcq_"):
                yield builder.choice()
            elif file.kind == "mpr_gen":
                yield builder.masked()
            else:
                yield from builder.reverse()
        except ValueError as error:
            raise row.fault(str(error)) from None


class _RowProblems:
    """Builder of the problems of one row; ``seen`` counts the file's rows by patch."""

    def __init__(self, file: ReleasedFile, row: ReleasedRow, seen: Counter[str]) -> None:
        self._file, self._row, self._seen = file, row, seen

    def choice(self) -> Problem:
        """Return a multiple-choice problem."""
        row = self._row
        task = EASY_TASK if self._file.kind == "mcq_easy" else HARD_TASK
        letter = row.ideal.strip()
        if letter not in LETTERS or len(letter) != 1:
            raise ValueError(f"'ideal' is {letter[:40]!r}, expected one letter of {', '.join(LETTERS)}")
        texts = split_choices(row.user)
        correct = LETTERS.index(letter)
        question = Question(text=INSTRUCTION + texts.description, choices=texts.choices, messages=row.messages)
        more: dict[str, Label] = {"query": _QUERY, "rotation": 0.0}
        tier = _EASY_TIER if task == EASY_TASK else ""
        return self._problem(
            task, tier, question, ChoiceCheck(correct=correct), texts.choices[correct], more, reference=letter
        )

    def masked(self) -> Problem:
        """Return a problem of masked lines, whose answer is the whole patch."""
        row = self._row
        texts = split_masked_patch(row.user)
        shown = ContextFile(path=PATCH_FILE, text=texts.patch)
        question = Question(text=whole_patch_request() + texts.description, context=(shown,), messages=row.messages)
        before, _, after = (part.rstrip() for part in texts.patch.partition(MASK_PLACEHOLDER))
        whole = row.ideal.replace("\r\n", "\n").rstrip()
        more: dict[str, Label] = {"whole_patch": "yes"}
        if whole.startswith(before) and whole.endswith(after):
            hidden = whole[len(before) : len(whole) - len(after)].strip("\n")
            more["masked_lines"] = float(hidden.count("\n") + 1)
        check = CriterionCheck(name=CRITERION_NAME, maximum=MAX_JUDGED_SCORE)
        return self._problem(MASKED_TASK, WHOLE_PATCH_TIER, question, check, row.ideal, more)

    def reverse(self) -> Iterator[Problem]:
        """Yield a problem about the description of a patch for each of the two tasks."""
        row = self._row
        patch = row.user.strip("\n") + "\n"
        question = Question(
            text=REVERSE_INSTRUCTION, context=(ContextFile(path=PATCH_FILE, text=patch),), messages=row.messages
        )
        told = parse_description(row.ideal)
        first = self._problem(REVERSE_TASK, "", question, JUDGE_CRITERIA["reverse-qa"], patch, {})
        first = first.model_copy(update={"released": {"title": told.title, "description": told.body}})
        yield first
        yield first.model_copy(
            update={
                "id": f"{first.id}/hallu",
                "labels": {**first.labels, "task": HALLUCINATION_TASK},
                "checks": (JUDGE_CRITERIA["reverse-qa-hallu"],),
            }
        )

    def _problem(
        self,
        task: str,
        tier: str,
        question: Question,
        check: Check,
        patch: str,
        labels: dict[str, Label],
        reference: str | None = None,
    ) -> Problem:
        file, row = self._file, self._row
        key = sha256_text(patch_key(patch))[:_DIGITS]
        self._seen[key] += 1
        number = f"-{self._seen[key]}" if self._seen[key] > 1 else ""
        version = file.version or _UNKNOWN_VERSION
        shared = patch_labels(file.repository, parse_rendered_patch(patch), task, tier)
        return Problem(
            id=f"{file.repository}/{file.path.stem}/{row.number}",
            suite=SUITE_NAME,
            shown=question,
            splice=NoSplice(),
            reference=row.ideal if reference is None else reference,
            checks=(check,),
            labels={**shared, RELEASE_LABEL: version, **labels},
            cluster=f"{file.repository}@{key}{number}",
            provenance=Provenance(source=file.repository, revision=version),
        )
