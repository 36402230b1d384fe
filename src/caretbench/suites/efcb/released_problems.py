"""The released layout: files, rows, texts in messages, and problems.

The layout is ``data/v0.3/tasks/REPO/PREFIX_KIND.jsonl``. A row is ``{"input": [system, user], "ideal": text}``; a
message is ``{"role": …, "content": text}`` or its text alone. Other fields of a row are ignored. Each row becomes a
problem with its messages as released; a row of ``reverse_qa`` becomes two.

A pull request is recognised by its patch, which the rows of all its tasks contain, so that intervals resample it with
all of them. Rows of different pull requests with the same patch are numbered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from caretbench.files import DataError, read_lines, read_rows, sha256_text
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
    ReleasedMessage,
    Row,
)
from caretbench.suites.efcb.choices import INSTRUCTION, LETTERS
from caretbench.suites.efcb.descriptions import DESCRIPTION_INSTRUCTION, JUDGE_CRITERIA, parse_description
from caretbench.suites.efcb.efcb_score import MAX_JUDGED_SCORE
from caretbench.suites.efcb.lexical_similarity import MIN_QUESTIONS
from caretbench.suites.efcb.masked_answers import (
    CRITERION_NAME,
    MASK_PLACEHOLDER,
    PATCH_FILE,
    WHOLE_PATCH_REQUEST,
    WHOLE_PATCH_TIER,
)
from caretbench.suites.efcb.problem_metadata import (
    FILE_SEPARATOR,
    SUITE_NAME,
    EfcbTask,
    RenderedFile,
    RenderedPatch,
    patch_labels,
)

# Chance alone exceeds three standard errors for one attack in 740.
MAX_STANDARD_ERRORS: Final = 3.0


class Leak(Row):
    """The accuracy of one attack in one tier of one task; an exceeded ``limit`` fails the build.

    ``accuracy`` and ``chance`` are shares from 0 to 1, ``standard_error`` is that of guessing. A limit allows three
    standard errors above chance.
    """

    task: str
    tier: str = ""
    query: str = ""
    attack: str
    kind: Literal["limit", "floor"]
    problems: int
    accuracy: float
    chance: float
    standard_error: float

    @property
    def deviation(self) -> float:
        """Number of standard errors above chance."""
        return (self.accuracy - self.chance) / self.standard_error if self.standard_error else 0.0

    @property
    def has_too_few_questions(self) -> bool:
        """Return whether the tier has too few questions to test."""
        return self.problems < MIN_QUESTIONS

    @property
    def exceeds_limit(self) -> bool:
        """Return whether a limit is exceeded."""
        # A deviation of exactly three standard errors is within the limit on every machine.
        return self.kind == "limit" and self.deviation > MAX_STANDARD_ERRORS + 1e-9


class BuiltFolder:
    """Reader of a build's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pull_requests_path = path / "pull_requests.jsonl"
        self.manifest_path = path / "manifest.json"
        self.rejected_path = path / "rejected.jsonl"
        self.leaks_path = path / "leaks.jsonl"
        self.candidates_path = path / "candidates.jsonl"
        self.problems_path = path / "problems.jsonl"

    def has_build(self) -> bool:
        """Return whether the folder contains a build, finished or not."""
        return any(path.exists() for path in (self.problems_path, self.manifest_path, self.pull_requests_path))

    def read_leaks(self) -> list[Leak]:
        """Return the leak report; empty if there is none."""
        return list(read_rows(self.leaks_path, Leak)) if self.leaks_path.exists() else []

    def read_problems(self) -> list[Problem]:
        """Return the problems to run.

        Raises:
            DataError: there are none, because the build is unfinished or failed; or a row is wrong.
        """
        if not self.problems_path.exists():
            # Both cases leave the same files, and the remedies are opposite: one build is to be run again, the other
            # never gets further.
            why = (
                "the leak report stopped the build; see leaks.jsonl"
                if any(leak.exceeds_limit for leak in self.read_leaks())
                else "run the same `caretbench build efcb` command again to continue"
            )
            raise DataError(f"{self.path}: no problems.jsonl: {why}")
        return list(read_rows(self.problems_path, Problem))


KINDS: Final = ("mcq_easy", "mcq_hard", "mpr_gen", "reverse_qa")
"""Kinds of files, the ends of their names."""
LAYOUT: Final = f"data/v0.3/tasks/REPO/PREFIX_{{{','.join(KINDS)}}}.jsonl"
"""Layout of the release, for messages."""

_ROLES: Final = ("system", "user")
_REMEDY: Final = 'a row is {"input": [system, user], "ideal": text}; repair or remove this line'
_VERSION: Final = re.compile(r"v(\d+(?:\.\d+)*)")
# Positions of the tasks below a folder that contains or is a part of a clone of the release.
_PLACES: Final = ("", "tasks", "v*/tasks", "data/v*/tasks", "*/data/v*/tasks")


class ReleasedFile(NamedTuple):
    """A file of the release, with its repository and the kind of its rows."""

    path: Path
    repository: str
    kind: str
    version: str
    """Version of the release, ``v0.3``; empty if no folder above the file has its name."""


class ReleasedRow(NamedTuple):
    """A row: the two messages that a model is shown, the ideal answer, and the position in the file."""

    number: int
    where: str
    messages: tuple[ReleasedMessage, ReleasedMessage]
    ideal: str

    @property
    def user(self) -> str:
        """Text of the user message, with line feeds at the ends of its lines."""
        return self.messages[1].text.replace("\r\n", "\n")

    def fault(self, cause: str) -> DataError:
        """Return the error of a row that cannot be used."""
        return DataError(f"{self.where}: {cause}; {_REMEDY}")


def released_files(root: Path) -> list[ReleasedFile]:
    """Return the files of the release in a folder that contains it or is a part of it; empty if there are none.

    The folder of one repository is a part, too. Of several versions the newest is taken.
    """
    for pattern in _PLACES:
        folders = [root] if not pattern else sorted(root.glob(pattern), key=_version_order, reverse=True)
        for folder in folders:
            if files := [
                file for below in sorted(folder.iterdir()) if below.is_dir() for file in _repository_files(below)
            ]:
                return files
    return list(_repository_files(root))


def _repository_files(folder: Path) -> Iterator[ReleasedFile]:
    """Yield the files of a repository's folder; files directly below a version, as in v0.2, name their repositories."""
    resolved = folder.resolve()
    version = next((part for part in reversed(resolved.parts) if _VERSION.fullmatch(part)), "")
    for path in sorted(folder.glob("*.jsonl")):
        kind = next((kind for kind in KINDS if path.stem.endswith(f"_{kind}")), None)
        if kind is not None and path.is_file():
            repository = path.stem.removesuffix(f"_{kind}") if resolved.name == version else resolved.name
            yield ReleasedFile(path, repository, kind, version)


def _version_order(path: Path) -> tuple[tuple[int, ...], str]:
    versions = [_VERSION.fullmatch(part) for part in path.parts]
    numbers = [tuple(map(int, version[1].split("."))) for version in versions if version]
    # By numbers: as texts, v0.10 would precede v0.9.
    return (numbers[-1] if numbers else (), str(path))


def read_released_rows(path: Path) -> Iterator[ReleasedRow]:
    """Yield the rows of a file; blank lines and a byte-order mark are skipped.

    Raises:
        DataError: a row is malformed; the message has file, line, cause and remedy.
    """
    for number, value in read_lines(path):
        where = f"{path}:{number}"
        try:
            yield ReleasedRow(number, where, _messages(value), _ideal(value))
        except (TypeError, ValueError) as error:
            raise DataError(f"{where}: {error}; {_REMEDY}") from None


def _messages(value: dict[str, Any]) -> tuple[ReleasedMessage, ReleasedMessage]:
    if "input" not in value:
        raise ValueError("the field 'input' is missing")
    messages = value["input"]
    if not isinstance(messages, list) or len(messages) != len(_ROLES):
        size = f"a list of {len(messages)}" if isinstance(messages, list) else type(messages).__name__
        raise ValueError(f"the field 'input' is {size}, expected a system and a user message")
    system, user = (_message(message, role) for message, role in zip(messages, _ROLES, strict=True))
    if not user.text.strip():
        raise ValueError("the user message is empty")
    return system, user


def _message(value: Any, role: str) -> ReleasedMessage:
    # Rows in the order user, system would show the question as a system message, and its instruction as the question.
    if isinstance(value, dict) and value.get("role", role) != role:
        raise ValueError(f"a message has the role {value['role']!r}, expected {role!r}: the order is system, user")
    text = value.get("content") if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise TypeError(f"the {role} message has no text in 'content'")
    return ReleasedMessage.model_validate({"role": role, "text": text})


def _ideal(value: dict[str, Any]) -> str:
    if "ideal" not in value:
        raise ValueError("the field 'ideal' is missing")
    if not isinstance(value["ideal"], str):
        raise TypeError(f"the field 'ideal' is {type(value['ideal']).__name__}, expected text")
    if not value["ideal"].strip():
        raise ValueError("the field 'ideal' is empty")
    return value["ideal"]


_DESCRIPTION_HEAD: Final = re.compile(r"\A\s*Task Description:[ \t]*\n?")
_DIFF_HEAD: Final = re.compile(r"^Code Diff:[ \t]*\n?", re.MULTILINE)
_TITLE_AND_DESCRIPTION: Final = re.compile(r"\A\s*Title:(.*?)^Description:(.*)\Z", re.MULTILINE | re.DOTALL)
# Heads of choices: behind a line of dashes, as released; else any line, since a description may quote such a head.
_CHOICE_HEADS: Final = (
    re.compile(r"^---[ \t]*\n\s*^Choice ([A-Z]):[ \t]*\n?", re.MULTILINE),
    re.compile(r"^Choice ([A-Z]):[ \t]*\n?", re.MULTILINE),
)
_FILE_END: Final = re.compile(r"^---\n(?=[^\n]+\n@@ |\s*\Z)", re.MULTILINE)


def split_choices(user: str) -> tuple[str, tuple[str, ...]]:
    """Return description and choices of a message.

    Heads are searched from the end: a description may quote one, while lines of a patch begin with a mark.

    Raises:
        ValueError: the message does not have the choices A, B, C and D.
    """
    for form in _CHOICE_HEADS:
        heads = list(form.finditer(user))
        chosen: list[re.Match[str]] = []
        limit = len(user)
        for letter in reversed(LETTERS):
            head = next((head for head in reversed(heads) if head[1] == letter and head.end() <= limit), None)
            if head is None:
                break
            chosen.insert(0, head)
            limit = head.start() + 1  # a line of dashes may end one choice and begin the next head
        if len(chosen) < len(LETTERS):
            continue
        later = [head[1] for head in heads if head.start() > chosen[-1].start()]
        if later:
            raise ValueError(f"there is a choice {later[0]}: questions have the choices {', '.join(LETTERS)}")
        ends = [head.start() for head in chosen[1:]] + [len(user)]
        choices = tuple(_patch_text(user[head.end() : end]) for head, end in zip(chosen, ends, strict=True))
        return _DESCRIPTION_HEAD.sub("", user[: chosen[0].start()], count=1).strip(), choices
    missing = [letter for letter in LETTERS if not re.search(rf"^Choice {letter}:", user, re.MULTILINE)]
    cause = f"no line begins with 'Choice {missing[0]}:'" if missing else "the choices are not in order"
    raise ValueError(f"{cause}; the user message lists the choices {', '.join(LETTERS)}")


def _patch_text(text: str) -> str:
    """Return the patch of a choice: without blank lines around it and the line of dashes behind it."""
    lines = text.strip("\n").split("\n")
    # A blank line of a patch has a mark: a bare one before dashes ends the choice.
    while len(lines) > 1 and lines[-1].rstrip() in ("", "---") and not lines[-2]:
        lines.pop()
    return "\n".join((*lines, "")).rstrip("\n") + "\n" if any(lines) else ""


def split_masked_patch(user: str) -> tuple[str, str]:
    """Return description and masked patch of a message.

    Raises:
        ValueError: there is no line ``Code Diff:``, or no mask below the last one.
    """
    heads = list(_DIFF_HEAD.finditer(user))
    if not heads:
        raise ValueError("no line begins with 'Code Diff:'")
    patch = user[heads[-1].end() :]
    if MASK_PLACEHOLDER not in patch:
        raise ValueError(f"there is no {MASK_PLACEHOLDER} below 'Code Diff:'")
    told = user[: heads[-1].start()]
    both = _TITLE_AND_DESCRIPTION.match(told)
    text = f"{both[1].strip()}\n\n{both[2].strip()}" if both else told
    return text.strip(), patch.rstrip("\n") + "\n"


def parse_rendered_patch(text: str) -> RenderedPatch:
    """Return a rendered patch by file; text that is no patch becomes one file without a path."""
    files = []
    for block in _FILE_END.split(text.rstrip("\n") + "\n"):
        title, _, hunks = block.rstrip("\n").partition("\n")
        if not block.strip():
            continue
        lines = hunks.split("\n")
        files.append(
            RenderedFile(
                path=title.rpartition(" => ")[2],
                title=title,
                hunks=hunks,
                additions=sum(line.startswith("+") for line in lines),
                deletions=sum(line.startswith("-") for line in lines),
            )
        )
    return RenderedPatch(files=tuple(files))


def patch_key(text: str) -> str:
    """Return a patch for comparison: without blank lines and separators at its end."""
    bare = text.rstrip()
    while bare.endswith(FILE_SEPARATOR.rstrip()):
        bare = bare.removesuffix(FILE_SEPARATOR.rstrip()).rstrip()
    return bare


RELEASE_LABEL: Final = "release"
"""Label of released problems: the version of the release."""
# 48 bits: of 10,000 ids two are alike with a probability of 2e-7.
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
        task = EfcbTask.EASY if self._file.kind == "mcq_easy" else EfcbTask.HARD
        letter = row.ideal.strip()
        # As texts, "" and "AB" are both in "ABCD".
        if letter not in LETTERS or len(letter) != 1:
            raise ValueError(f"'ideal' is {letter[:40]!r}, expected one letter of {', '.join(LETTERS)}")
        description, choices = split_choices(row.user)
        # In 379 of 1,161 questions of GMCQ-Hard some choices are the same text, in 39 all four; the letter of the
        # release is that of the first copy.
        correct = LETTERS.index(letter)
        question = Question(text=INSTRUCTION + description, choices=choices, messages=row.messages)
        more: dict[str, Label] = {"query": "description_only", "rotation": 0.0}
        tier = "random" if task == EfcbTask.EASY else ""
        return self._problem(
            task, tier, question, ChoiceCheck(correct=correct), choices[correct], more, reference=letter
        )

    def masked(self) -> Problem:
        """Return a problem of masked lines, whose answer is the whole patch."""
        row = self._row
        description, patch = split_masked_patch(row.user)
        shown = ContextFile(path=PATCH_FILE, text=patch)
        question = Question(text=WHOLE_PATCH_REQUEST + description, context=(shown,), messages=row.messages)
        # The reference of a released row is the whole patch. The hidden lines are what it has between the shown ones.
        before, _, after = (part.rstrip() for part in patch.partition(MASK_PLACEHOLDER))
        whole = row.ideal.replace("\r\n", "\n").rstrip()
        more: dict[str, Label] = {"whole_patch": "yes"}
        if whole.startswith(before) and whole.endswith(after):
            hidden = whole[len(before) : len(whole) - len(after)].strip("\n")
            more["masked_lines"] = float(hidden.count("\n") + 1)
        check = CriterionCheck(name=CRITERION_NAME, maximum=MAX_JUDGED_SCORE)
        return self._problem(EfcbTask.MASKED, WHOLE_PATCH_TIER, question, check, row.ideal, more)

    def reverse(self) -> Iterator[Problem]:
        """Yield a problem about the description of a patch for each of the two tasks."""
        row = self._row
        patch = row.user.strip("\n") + "\n"
        question = Question(
            text=DESCRIPTION_INSTRUCTION, context=(ContextFile(path=PATCH_FILE, text=patch),), messages=row.messages
        )
        # Reverse-QA-Hallu has no data of its own: the 5,512 questions of the release are 4,351 prompts.
        told = parse_description(row.ideal)
        first = self._problem(EfcbTask.REVERSE, "", question, JUDGE_CRITERIA["reverse-qa"], patch, {})
        first = first.model_copy(update={"released": {"title": told.title, "description": told.body}})
        yield first
        yield first.model_copy(
            update={
                "id": f"{first.id}/hallu",
                "labels": {**first.labels, "task": EfcbTask.HALLUCINATION},
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
        # A change that was merged twice, into two branches for example, has one patch and is two pull requests.
        number = f"-{self._seen[key]}" if self._seen[key] > 1 else ""
        version = file.version or "unknown"
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
