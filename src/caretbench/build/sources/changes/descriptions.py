"""Cleaning of change descriptions: removal of templates, trailers, references, check-lists and review remarks.

The patterns are in ``descriptions.toml``. Texts are processed line by line, in linear time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache
from typing import Final

from caretbench.files import read_packaged_toml
from caretbench.problem import Row

_NUMBER: Final = re.compile(r"\s*\((?:[\w.-]+/[\w.-]+)?(?:#|!|GH-|PR #?)\d+\)|(?:^|\s)#\d+\s*$", re.IGNORECASE)
# `fix(core): …`, `ipn/store: …`, `[docs] …`, `JIRA-12: …`
_PREFIX: Final = re.compile(r"^\s*(?:\[[^\]\n]{1,60}\]\s*:?\s*)*(?:[^\s:]{1,60}(?:,\s*[^\s:,]+){0,7}\s*:\s+)?")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=\S)")
# Titles such as "fix" or "tests" occur as ordinary words of a description.
_MIN_TITLE_CHARACTERS: Final = 8


class RepeatedTitle:
    """Matches repetitions of a title, with or without prefix, number, punctuation and capitals."""

    def __init__(self, title: str) -> None:
        forms = {_normalize(title), _normalize(_PREFIX.sub("", title, count=1))}
        self._forms = {form for form in forms if len(form) >= _MIN_TITLE_CHARACTERS}

    def __bool__(self) -> bool:
        return bool(self._forms)

    def is_title(self, line: str) -> bool:
        """Return whether a line contains only the title."""
        text = _BULLET.sub("", line, count=1)
        return bool(self._forms) and (
            _normalize(text) in self._forms or _normalize(_PREFIX.sub("", text, count=1)) in self._forms
        )

    def is_list_entry(self, line: str) -> bool:
        """Return whether a line is a list entry that contains only the title."""
        return _BULLET.match(line) is not None and self.is_title(line)

    def remove_title(self, line: str) -> str:
        """Return a first line without its first sentence if that is the title."""
        first, *rest = _SENTENCE.split(line, maxsplit=1)
        return rest[0] if rest and self.is_title(first) else line


def _normalize(text: str) -> str:
    words = re.sub(r"[\W_]+", " ", _NUMBER.sub(" ", text))
    return " ".join(words.split()).casefold()


VERSION: Final = "cleaning@4"
"""Version of the cleaning rules.

2: removes lines about the review and repeated titles. 3: more such lines. 4: removes review marks before titles.
"""

NO_TEMPLATE: frozenset[str] = frozenset()

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
# Filled with lists of ``descriptions.toml``.
_TRAILER = r"\s*(?:(?:{trailers}):(?:\s.*)?|(?:{program_lines}))\s*"
_FORM_LINE, _REVIEW_LINE = "{form_lines}", "{review_lines}"
_TITLE_MARKS = r"(?:\s*\[\s*(?:{title_marks})\s*\]\s*:?)+\s*(?=\S)"
_REFERENCE_WORDS = r"\b(?:{reference_words})\b"
_MAX_HEADING_LEVEL = 7  # a bold line counts as a level below the six heading levels
_EDGES = " \t*_-+#>:.,;()[]`"


class DescriptionPatterns(Row):
    """Contents of ``descriptions.toml``: regular expressions for lines and words that describe nothing."""

    trailers: tuple[str, ...]
    program_lines: tuple[str, ...]
    reference_words: tuple[str, ...]
    form_lines: tuple[str, ...]
    review_lines: tuple[str, ...]
    title_marks: tuple[str, ...]


@cache
def description_patterns() -> DescriptionPatterns:
    """Return the patterns of ``descriptions.toml``."""
    table = read_packaged_toml("caretbench.build.sources.changes", "descriptions.toml")
    return DescriptionPatterns.model_validate(table)


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a regular expression with the lists of ``descriptions.toml`` filled in."""
    lists = {name: "|".join(f"(?:{entry})" for entry in entries) for name, entries in description_patterns()}
    return re.compile(pattern.format_map(lists), re.IGNORECASE)


def remove_trailers(text: str) -> tuple[str, int]:
    """Return the text without trailers (lines that name people, reviews and tools), and their number.

    Trailers are removed anywhere in the text: squashed commits have them in the middle.
    """
    lines = text.split("\n")
    # A trailer is short; longer lines would only cost time in the expression.
    kept = [line for line in lines if not _compile_pattern(_TRAILER).fullmatch(line[:500])]
    removed = len(lines) - len(kept)
    if not removed:
        return text, 0
    while kept and (not kept[-1].strip() or _RULE.fullmatch(kept[-1])):
        kept.pop()
    return "\n".join(kept).strip("\n"), removed


def redact_emails(text: str) -> str:
    """Return the text with ``<email>`` for e-mail addresses; ``x@v1.2`` and ``git@host:path`` are kept."""
    return _EMAIL.sub("<email>", text) if "@" in text else text


def template_lines(descriptions: Iterable[str]) -> frozenset[str]:
    """Return the lines of a pull request template, detected by their frequency in a repository's descriptions.

    These are lines that occur in at least 10 of its descriptions, and in 5 % of those with text.
    """
    frequencies: Counter[str] = Counter()
    number = 0
    for text in descriptions:
        if text.strip():
            number += 1
            frequencies.update({line.strip() for line in text.split("\n") if len(line.strip()) >= 4})
    # Both bounds: 5 % of a small repository's descriptions are two or three, which repeat a line by chance.
    return frozenset(line for line, times in frequencies.items() if times >= max(10, 0.05 * number))


def _is_checklist_line(line: str, in_checklist: bool) -> bool:
    """Return whether a line is a check-box, or an indented continuation of one."""
    return bool(_CHECK.match(line.lstrip())) or (in_checklist and line[:1] in (" ", "\t") and bool(line.strip()))


def clean_description(description: str, template: Collection[str] = NO_TEMPLATE, title: str = "") -> str:
    """Return a description without template text, trailers, references, check-lists and review remarks.

    Removed are: lines of ``template`` and of common templates, HTML comments, trailers, check-lists, lines with nothing
    but references or about the review, repetitions of ``title`` (first line, first sentence or list entry), and
    headings without text below them. Code blocks are kept.
    """
    repeated = RepeatedTitle(title)
    begun, alone = False, True
    description = description.replace("\r\n", "\n").replace("\r", "\n")
    # Comments first: templates put trailers and check-lists into them as examples.
    description, _ = remove_trailers(_COMMENT.sub("", description) if "<!--" in description else description)
    kept: list[str] = []
    fenced = checking = False
    for line in description.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            checking = _is_checklist_line(line, checking)
            if checking or _is_boilerplate(line, template) or repeated.is_list_entry(line):
                continue
            if (alone or _ENTRY.match(line)) and _is_about_review(line):
                continue
            # A line after a line of text may end its sentence, unless it is a list entry.
            alone = not line.strip()
            if not begun and repeated and line.strip():
                if repeated.is_title(line):
                    continue
                line = repeated.remove_title(line)
        begun = begun or bool(line.strip())
        kept.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_remove_empty_headings(kept))).strip("\n")


def clean_title(title: str) -> str:
    """Return a title without marks of its review status (``[MRG+1]``, ``[WIP]``)."""
    title = title.strip()
    return _compile_pattern(_TITLE_MARKS).sub("", title, count=1) if title.startswith("[") else title


def count_prose_characters(description: str, template: Collection[str] = NO_TEMPLATE, title: str = "") -> int:
    """Return the number of prose characters in the cleaned description.

    Code blocks, URLs, references, headings and Markdown marks are not counted; a run of white space counts as one.
    """
    lines: list[str] = []
    fenced = False
    for line in clean_description(description, template, title).split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not _HEADING.fullmatch(line):
            lines.append(line)
    prose = _REFERENCE.sub(" ", _URL.sub(" ", _TAG.sub(" ", _LINK.sub(r"\1", "\n".join(lines)))))
    return len(_MARKUP.sub(" ", prose).strip())


def _is_about_review(line: str) -> bool:
    """Return whether a line is only about the review or the work on a branch."""
    bare = line.strip()
    # "Tests:" introduces the text below it.
    return not bare.endswith(":") and _compile_pattern(_REVIEW_LINE).fullmatch(bare.strip(_EDGES)[:200]) is not None


def _is_boilerplate(line: str, template: Collection[str]) -> bool:
    """Return whether a line contains only references, or is part of a template."""
    bare = line.strip()
    if bare in template:
        return True
    if not bare or _HEADING.fullmatch(line):
        return False
    core = bare.strip(_EDGES)
    if not core or _compile_pattern(_FORM_LINE).fullmatch(core[:400]):
        return True
    without = _TAG.sub(" ", _URL.sub(" ", _LINK.sub(" ", bare)))
    rest = _REFERENCE.sub(" ", without)
    if rest == bare:
        return False
    return not re.sub(r"[\W_]+", "", _compile_pattern(_REFERENCE_WORDS).sub(" ", rest))


def _remove_empty_headings(lines: list[str]) -> list[str]:
    """Return the lines without headings that have no text below them."""
    kept: list[str] = []
    reach = 0  # a heading of a level below this one has text below it
    # From the end, as a heading's text is known only below it.
    for line in reversed(lines):
        if _HEADING.fullmatch(line):
            level = _heading_level(line)
            if level >= reach:
                continue
            reach = level
        elif line.strip():
            reach = _MAX_HEADING_LEVEL + 1
        kept.append(line)
    kept.reverse()
    return kept


def _heading_level(heading: str) -> int:
    marks = len(heading) - len(heading.lstrip(" \t#"))
    return min(marks, _MAX_HEADING_LEVEL - 1) if "#" in heading[:marks] else _MAX_HEADING_LEVEL
