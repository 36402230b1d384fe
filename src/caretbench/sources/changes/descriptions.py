"""Cleaned descriptions of changes, without forms, trailers, references, check-lists and remarks on the review.

The data stand in ``descriptions.toml``. All of it is line by line and linear in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache
from typing import Final

from caretbench.files import packaged_table
from caretbench.problem import Row
from caretbench.sources.changes.repeated_titles import Repeated

VERSION: Final = "cleaning@4"
"""Of what descriptions and titles lose.

2: lines about the review, and the title again. 3: more of these lines. 4: marks of the review before titles.
"""

NO_FORM: frozenset[str] = frozenset()

_EMAIL = re.compile(
    r"(?<![\w.+@-])(?!git@)[\w.+-]{1,64}@(?!v?\d+\.)(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w@-])"
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CHECK = re.compile(r"(?:(?:[-*+]|\d{1,3}[.)])\s{1,8})?\[(?: {1,3}| {0,2}[xX✓✔] {0,2})\](?:\s|$)")
_URL = re.compile(r"<?\bhttps?://[^\s>)\]]+>?")
_REFERENCE = re.compile(
    r"\b(?:issues?|bugs?|tickets?) #?\d+\b|(?<![\w./-])(?:[\w.-]{1,100}/[\w.-]{1,100})?[#!]\d+\b|\bGH-\d+\b"
    r"|\b[A-Z][A-Z0-9]+-\d+\b|\b[0-9a-f]{8,40}\b|(?<!\w)[#@]\w[\w/-]*"
)
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,2000}\)")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s.{0,300}|\*\*[^*]{1,80}\*\*:?\s{0,8})")
_ENTRY = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,300}>")
_MARKUP = re.compile(r"[\s`*_~|#>=+-]+")
# With lists of the table.
_TRAILER = r"\s*(?:(?:{trailers}):(?:\s.*)?|(?:{program_lines}))\s*"
_FORM_LINE, _REVIEW_LINE = "{form_lines}", "{review_lines}"
_TITLE_MARKS = r"(?:\s*\[\s*(?:{title_marks})\s*\]\s*:?)+\s*(?=\S)"
_REFERENCE_WORDS = r"\b(?:{reference_words})\b"
_DEEPEST = 7  # a line in bold type below the six levels of headings
_EDGES = " \t*_-+#>:.,;()[]`"


class DescriptionTable(Row):
    """The table of ``descriptions.toml``."""

    trailers: tuple[str, ...]
    program_lines: tuple[str, ...]
    reference_words: tuple[str, ...]
    form_lines: tuple[str, ...]
    review_lines: tuple[str, ...]
    title_marks: tuple[str, ...]


@cache
def table() -> DescriptionTable:
    """Return the table as it stands in the file."""
    return DescriptionTable.model_validate(packaged_table("caretbench.sources.changes", "descriptions.toml"))


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return a regular expression with lists of the table in it."""
    lists = {name: "|".join(f"(?:{entry})" for entry in entries) for name, entries in table()}
    return re.compile(form.format_map(lists), re.IGNORECASE)


def without_trailers(text: str) -> tuple[str, int]:
    """Return the text without the lines that name people, reviews and tools, and how many these were.

    A trailer is one wherever its line stands: squashed commits leave them in the middle of a text.
    """
    lines = text.split("\n")
    kept = [line for line in lines if not _pattern(_TRAILER).fullmatch(line[:500])]
    removed = len(lines) - len(kept)
    if not removed:
        return text, 0
    while kept and (not kept[-1].strip() or _RULE.fullmatch(kept[-1])):
        kept.pop()
    return "\n".join(kept).strip("\n"), removed


def without_emails(text: str) -> str:
    """E-mail addresses become ``<email>``; module versions (``x@v1.2``) and ``git@host:path`` stay."""
    return _EMAIL.sub("<email>", text) if "@" in text else text


def form_lines(descriptions: Iterable[str]) -> frozenset[str]:
    """Lines in 10 of a repository's descriptions and 5 % of those with text: its form, not its authors' words."""
    found: Counter[str] = Counter()
    number = 0
    for text in descriptions:
        if text.strip():
            number += 1
            found.update({line.strip() for line in text.split("\n") if len(line.strip()) >= 4})
    return frozenset(line for line, times in found.items() if times >= max(10, 0.05 * number))


def _is_check(line: str, checking: bool) -> bool:
    """Return whether a line is a check-box, or one of the indented lines below one, on which its text goes on."""
    return bool(_CHECK.match(line.lstrip())) or (checking and line[:1] in (" ", "\t") and bool(line.strip()))


def cleaned(text: str, form: Collection[str] = NO_FORM, title: str = "") -> str:
    """Return the description as it is shown.

    Forms, HTML comments, trailers, check-lists, lines that only refer or are about the review are not in it, nor is the
    title again (as its first line or sentence, or as an entry of a list). Code blocks stay as they are. Headings above
    nothing go too.
    """
    repeated = Repeated(title)
    begun, alone = False, True
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, _ = without_trailers(_COMMENT.sub("", text) if "<!--" in text else text)
    kept: list[str] = []
    fenced = checking = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            checking = _is_check(line, checking)
            if checking or _says_nothing(line, form) or repeated.entry(line):
                continue
            if (alone or _ENTRY.match(line)) and _is_about_review(line):
                continue
            # What follows a line of text may be the end of its sentence, unless it is an entry of a list.
            alone = not line.strip()
            if not begun and repeated and line.strip():
                if repeated.whole(line):
                    continue
                line = repeated.without(line)
        begun = begun or bool(line.strip())
        kept.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_filled(kept))).strip("\n")


def cleaned_title(title: str) -> str:
    """Return the title without marks that say how far its review is (``[MRG+1]``, ``[WIP]``)."""
    return (
        _pattern(_TITLE_MARKS).sub("", title.strip(), count=1)
        if title.lstrip().startswith("[")
        else title.strip()
    )


def prose_characters(text: str, form: Collection[str] = NO_FORM, title: str = "") -> int:
    """Return how much a description says: characters of prose in the cleaned text.

    Code blocks, URLs, references, headings and marks of Markdown count nothing, a run of white space counts one.
    """
    lines: list[str] = []
    fenced = False
    for line in cleaned(text, form, title).split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not _HEADING.fullmatch(line):
            lines.append(line)
    prose = _REFERENCE.sub(" ", _URL.sub(" ", _TAG.sub(" ", _LINK.sub(r"\1", "\n".join(lines)))))
    return len(_MARKUP.sub(" ", prose).strip())


def _is_about_review(line: str) -> bool:
    """Return whether a line of its own is about the review or the work on a branch, and nothing else."""
    bare = line.strip()
    # "Tests:" is above what is said of them.
    return not bare.endswith(":") and _pattern(_REVIEW_LINE).fullmatch(bare.strip(_EDGES)[:200]) is not None


def _says_nothing(line: str, form: Collection[str]) -> bool:
    """Return whether a line refers and does nothing else, or is there because a form has it."""
    bare = line.strip()
    if bare in form:
        return True
    if not bare or _HEADING.fullmatch(line):
        return False
    core = bare.strip(_EDGES)
    if not core or _pattern(_FORM_LINE).fullmatch(core[:400]):
        return True
    without = _TAG.sub(" ", _URL.sub(" ", _LINK.sub(" ", bare)))
    rest = _REFERENCE.sub(" ", without)
    if rest == bare:
        return False
    return not re.sub(r"[\W_]+", "", _pattern(_REFERENCE_WORDS).sub(" ", rest))


def _filled(lines: list[str]) -> list[str]:
    """Return the lines without headings that stand above no text."""
    kept: list[str] = []
    reach = 0  # a heading of a level below this one has text below it
    for line in reversed(lines):
        if _HEADING.fullmatch(line):
            level = _level(line)
            if level >= reach:
                continue
            reach = level
        elif line.strip():
            reach = _DEEPEST + 1
        kept.append(line)
    kept.reverse()
    return kept


def _level(heading: str) -> int:
    marks = len(heading) - len(heading.lstrip(" \t#"))
    return min(marks, _DEEPEST - 1) if "#" in heading[:marks] else _DEEPEST
