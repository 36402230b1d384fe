"""Sentences that chat models write around code, told from code by their words and marks."""

from __future__ import annotations

import re

_CHATTER = re.compile(
    r"(?:absolutely|based on|below is|certainly|completion|given the|great|here(?:['\u2019]s| is| are)"
    r"|i(?:['\u2019]ll|['\u2019]ve| will| have)|in this|let me|let['\u2019]s|my completion|of course|okay|ok,|sure"
    r"|the (?:following|completed?|completion|missing|code|function|implementation|corrected|updated)"
    r"|this (?:is the|code|completion|implementation)|to (?:complete|fill|fix|implement)"
    r"|we (?:can|need|should)|you can)\b",
    re.IGNORECASE,
)
CODE_MARKS = re.compile(r"[;{}=]|//|/\*|\w\(|^\s*(?:#|@|\*)|->|::")
"""Marks of code, which no sentence has."""
_INLINE_CODE = re.compile(r"`[^`\n]+`")
_HEADING = re.compile(r"\*\*[A-Z][^*\n]*\*\*:?|#{2,} .*")
_LIST_MARK = re.compile(r"^(?:\d+\.|[-*])\s+")
_WORD = re.compile(r"[(\"'\u2018\u201c*_]*[A-Za-z][A-Za-z'\u2019-]*[)\"'\u2019\u201d*_]*[.,:;!?]?")
_STATEMENT_END = re.compile(r"[;{}()=\[\]]$")
_SENTENCE = re.compile(r"[A-Z][^\n]* [^\n]*[a-z][.:!](?:\n|\Z)")
_MIN_WORDS, _PLAIN = 4, 0.8
"""Minimum number of words of a sentence, and of them the share of plain words with their punctuation."""


def is_chatter(line: str) -> bool:
    """Return whether a line is clearly chatter, by its first words, its end, and no mark of code."""
    line = line.strip().lstrip("*_> ")
    # A single word cannot be told from code by its first words alone; these three are taken for chatter.
    if line.lower() in {"sure!", "certainly!", "absolutely!"}:
        return True
    ends_well = line.rstrip("*_ ").endswith((":", ".", "!"))
    # A line of one word, `here` or `completion`, may be a name.
    begins_so = len(line.split()) >= 2 and _CHATTER.match(line) is not None
    return ends_well and begins_so and not CODE_MARKS.search(line)


def reads_as_prose(line: str) -> bool:
    """Return whether a line looks like a sentence or a heading of Markdown."""
    line = _INLINE_CODE.sub("x", line.strip())
    if _HEADING.fullmatch(line) or is_chatter(line):
        return True
    bare = _LIST_MARK.sub("", line).strip("*_> ")
    words = bare.split()
    plain = sum(_WORD.fullmatch(word) is not None for word in words)
    return (
        len(words) >= _MIN_WORDS
        and bare[0].isupper()
        and plain >= _PLAIN * len(words)
        and not _STATEMENT_END.search(bare)
    )


def is_sentence(text: str) -> bool:
    """Return whether a text begins with a line that is a whole sentence."""
    return _SENTENCE.match(text.strip()) is not None
