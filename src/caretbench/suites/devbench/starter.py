"""Programs with a caret, one per file: the starter set, and own data sets in its layout.

``starter/<language>/<category>/<name>.<suffix>`` is a whole program: ``⟦`` and ``⟧`` enclose the reference, and a line
``⟦tests⟧`` separates the shown text from the hidden tests. A file ``<name>.toml`` next to it contains the predicates
that a documentation comment must satisfy, or input and output cases (``[[cases]]`` with ``stdin`` and ``outputs``). A
comment cannot be executed, so with the released tests every comment passes; here it is parsed out of the program with
the answer in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from caretbench.files import DataError, describe_validation_error, read_toml
from caretbench.languages import languages
from caretbench.problem import Caret, CasesCheck, Check, InlineSplice, PredicateCheck, Problem, ProgramCheck, Provenance
from caretbench.suites.devbench.cells.cell_tables import cell_categories, problem_labels
from caretbench.suites.suite_types import unread_files
from caretbench.syntax.documentation import comments_between, documentation_of


class DocumentationCheck(BaseModel):
    """Required contents of the documentation comment of ``documents``, a function or class.

    Without ``documents`` they are required of the comments that the answer consists of, wherever it stands.
    ``parameters`` and ``throws`` are names that it describes; ``returns``: it describes the returned value;
    ``mentions``: it contains at least one word of each group (compared by beginning, ignoring case).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    documents: str = ""
    minimum_words: int = 5
    parameters: tuple[str, ...] = ()
    returns: bool = False
    throws: tuple[str, ...] = ()
    mentions: tuple[tuple[str, ...], ...] = ()


def _unqualified(name: str) -> str:
    """Return a name without namespace: ``ArgumentException`` for ``System.ArgumentException``."""
    return re.split(r"\.|::", name)[-1]


def documentation_faults(program: str, language: str, check: DocumentationCheck, start: int, end: int) -> list[str]:
    """Return a line for each requirement that the comment does not meet.

    Args:
        program: The program with the answer in it.
        language: Its language.
        check: The requirements.
        start: Byte of the program at which the answer begins.
        end: Byte behind the answer.
    """
    if check.documents:
        comment = documentation_of(program, language, check.documents)
        missing = f"{check.documents} has no documentation comment"
    else:
        comment = comments_between(program, language, start, end)
        missing = "the answer has no comment"
    if comment is None:
        return [missing]
    faults = []
    if comment.word_count < check.minimum_words:
        faults.append(f"{comment.word_count} words, at least {check.minimum_words} required")
    faults += [f"parameter {name} is not described" for name in check.parameters if name not in comment.parameters]
    if check.returns and not comment.returns:
        faults.append("the returned value is not described")
    # Documentation writes `ArgumentException` for `System.ArgumentException`, and `out_of_range` for
    # `std::out_of_range`.
    thrown = {_unqualified(name) for name in comment.throws}
    faults += [f"{name} is not described" for name in check.throws if _unqualified(name) not in thrown]
    faults += [
        f"none of these words occurs: {', '.join(group)}"
        for group in check.mentions
        # By beginning: `sort` is also found in `sorted` and `sorting`, but not in `resort`.
        if not any(re.search(rf"(?<!\w){re.escape(word)}", comment.text, re.IGNORECASE) for word in group)
    ]
    return faults


OPENING, CLOSING, TESTS = "⟦", "⟧", "\n⟦tests⟧\n"
SOURCE = "caretbench starter set"
DATE = "2026-11-21"


def starter_root() -> Path:
    """Return the folder of the starter set in the package."""
    return Path(str(resources.files("caretbench.suites.devbench") / "starter"))


def split_program(text: str, location: str) -> tuple[str, str, str, str]:
    """Split the text of a file into prefix, reference, shown suffix and hidden tests.

    Raises:
        DataError: the marks do not occur exactly once, in order.
    """
    shown, mark, tests = text.partition(TESTS)
    if mark:
        shown += "\n"
    # Two pairs of marks would be two references, and a reversed pair an empty one before its own prefix.
    if shown.count(OPENING) != 1 or shown.count(CLOSING) != 1 or shown.index(OPENING) > shown.index(CLOSING):
        raise DataError(f"{location}: expected one {OPENING} and after it one {CLOSING} around the reference")
    prefix, _, rest = shown.partition(OPENING)
    reference, _, suffix = rest.partition(CLOSING)
    return prefix, reference, suffix, tests


def _further_checks(path: Path) -> Iterator[PredicateCheck | CasesCheck]:
    """Yield the checks of the file next to a program: predicates of a comment, or input and output cases."""
    sidecar = path.with_suffix(".toml")
    if sidecar.exists():
        for name, arguments in read_toml(sidecar).items():
            # A mistyped predicate would check nothing, and every answer would satisfy it.
            if name not in ("documentation", "cases"):
                raise DataError(f"{sidecar}: unknown check {name!r}; known: documentation, cases")
            try:
                if name == "cases":
                    yield CasesCheck(cases=arguments)
                    continue
                DocumentationCheck.model_validate(arguments)
            except ValidationError as error:
                raise DataError(f"{sidecar}: {describe_validation_error(error)}") from None
            yield PredicateCheck(name=name, arguments=arguments)


def read_problem(path: Path, language: str, category: str, source: str) -> Problem:
    """Return the problem in one file.

    Raises:
        DataError: the file lacks its marks, or the file with its predicates is malformed.
    """
    try:
        # Editors on Windows write a byte-order mark, which is no part of the program.
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    identity = f"{language}/{category}/{path.stem}"
    return problem_of_text(text, identity, source, tuple(_further_checks(path)), str(path))


def problem_of_text(
    text: str, identity: str, source: str, further: tuple[PredicateCheck | CasesCheck, ...] = (), location: str = ""
) -> Problem:
    """Return the problem in the text of a file.

    Args:
        text: Text of the file.
        identity: Id of the problem: language, category and name.
        source: Name of the data set.
        further: Checks in addition to the program; cases take the place of its assertions.
        location: Name of the file in errors.

    Raises:
        DataError: the text lacks its marks.
    """
    prefix, reference, suffix, tests = split_program(text, location or identity)
    language, category, _ = identity.split("/", 2)
    has_cases = any(isinstance(check, CasesCheck) for check in further)
    checks: tuple[Check, ...] = further if has_cases else (ProgramCheck(), *further)
    labels = problem_labels(language, category, prefix, suffix)
    if category == "code2nl_nl2code":
        labels["direction"] = "code2nl" if further else "nl2code"
    return Problem(
        id=identity,
        suite="devbench",
        shown=Caret(language=language, prefix=prefix, suffix=suffix),
        splice=InlineSplice(before=prefix, after=suffix + tests),
        reference=reference,
        checks=checks,
        labels=labels,
        cluster=identity,
        provenance=Provenance(source=SOURCE, licence="MIT", date=DATE)
        if source == SOURCE
        else Provenance(source=source),
    )


def load(root: Path, source: str = SOURCE) -> list[Problem]:
    """Return all problems under ``root``, in the order of the paper's tables.

    Raises:
        DataError: a file lacks its marks, or there are no problems.
    """
    problems = [read_problem(path, language, category, source) for language, category, path in _program_files(root)]
    if not problems:
        raise DataError(f"{root}: no problems here; expected {_LAYOUT}")
    return problems


_LAYOUT: Final = "<language>/<category>/<name>.<suffix>"


def passed_over(root: Path) -> tuple[str, ...]:
    """Return a line for each folder with programs that :func:`load` does not read."""
    suffixes = {language.suffix for language in languages().values()}
    categories = f"{_LAYOUT}; categories: {', '.join(cell_categories())}"
    return unread_files(root, {path for _, _, path in _program_files(root)}, suffixes, categories)


def _program_files(root: Path) -> Iterator[tuple[str, str, Path]]:
    for language in languages().values():
        for category in cell_categories():
            for path in sorted((root / language.name / category).glob(f"*{language.suffix}")):
                yield language.name, category, path
