"""Take off what a chat model wraps around code: reasoning, fences, chatter. Code stays untouched.

Every step here is conservative: a text without its mark is not even parsed, and nothing is taken off where
the caret stands inside a string or comment, because there prose and fences are as good as code. (The exception is an
answer that is one fenced block and nothing else, and names the language: that form is what prompts ask for.)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from caretbench.extraction.caret_surroundings import Surroundings, caret_in_literal, within_literal
from caretbench.languages import language as language_named
from caretbench.syntax.parser import encode, parse

_REASONING = re.compile(r"\s*<(think|thinking|reasoning)>(?P<thought>[\s\S]*?)(?:</\1>|\Z)", re.IGNORECASE)
_REASONING_END = re.compile(
    r"^[^\"'`\n]*</(?:think|thinking|reasoning)>[ \t]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE
)
_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,})[ \t]*(?P<word>[\w+#.-]*)[ \t]*\r?$", re.MULTILINE)
_CHATTER = re.compile(
    r"(?:absolutely|based on|below is|certainly|completion|given the|great|here(?:['\u2019]s| is| are)"
    r"|i(?:['\u2019]ll|['\u2019]ve| will| have)|in this|let me|let['\u2019]s|my completion|of course|okay|ok,|sure"
    r"|the (?:following|completed?|completion|missing|code|function|implementation|corrected|updated)"
    r"|this (?:is the|code|completion|implementation)|to (?:complete|fill|fix|implement)"
    r"|we (?:can|need|should)|you can)\b",
    re.IGNORECASE,
)
_CODE_MARKS = re.compile(r"[;{}=]|//|/\*|\w\(|^\s*(?:#|@|\*)|->|::")


class CleanedText(NamedTuple):
    """A text and what was taken off it, in words."""

    text: str
    steps: tuple[str, ...] = ()


class _Block(NamedTuple):
    word: str
    code: str


def _without_reasoning(text: str, surroundings: Surroundings) -> str:
    if "<" not in text or not (_REASONING.match(text) or _REASONING_END.search(text)):
        return text
    if caret_in_literal(surroundings, text):
        return text
    rest = text
    while hit := _REASONING.match(rest):
        rest = rest[hit.end() :].lstrip("\r\n")
    end = _REASONING_END.search(text) if rest == text else None
    if end is not None and not surroundings.parses_with(text):
        rest = text[end.end() :].lstrip("\r\n")  # some chat templates put the opening tag into the prompt
    return rest


def _is_prose(line: str) -> bool:
    """Return whether a line is clearly chatter: its first words, how it ends, no mark of code."""
    line = line.strip().lstrip("*_> ")
    if line.lower() in {"sure!", "certainly!", "absolutely!"}:
        return True
    ends_well = line.rstrip("*_ ").endswith((":", ".", "!"))
    begins_so = len(line.split()) >= 2 and _CHATTER.match(line) is not None
    return ends_well and begins_so and not _CODE_MARKS.search(line)


def _blocks(text: str, fences: list[re.Match[str]]) -> list[_Block]:
    """Return the fenced blocks: a fence closes with at least as many marks and no word; the last may stay open."""
    found: list[_Block] = []
    opening: re.Match[str] | None = None
    for fence in fences:
        if opening is None:
            opening = fence
        elif not fence["word"] and len(fence["marks"]) >= len(opening["marks"]):
            found.append(_Block(opening["word"], text[opening.end() + 1 : fence.start()]))
            opening = None
    if opening is not None:
        found.append(_Block(opening["word"], text[opening.end() + 1 :]))
    return found


def _speaks(word: str, language: str) -> bool:
    try:
        return not word or language_named(word).name == language
    except KeyError:
        return False


def _chosen(text: str, fences: list[re.Match[str]], language: str) -> str:
    """Return the code of the first block in the right language or without a language, else of the first block."""
    head = text[: fences[0].start()]
    first_closes = len(fences) % 2 == 1 and not fences[0]["word"] and head.strip()
    if first_closes and not any(_is_prose(line) for line in head.splitlines()):
        return head  # the prompt itself ended inside a fence, and the model closed it
    found = _blocks(text, fences)
    return next((block.code for block in found if _speaks(block.word, language)), found[0].code)


def _is_one_block(text: str, fences: list[re.Match[str]], language: str) -> bool:
    """Return whether a text is one block that names the language, and nothing else.

    So models answer that are asked for a fence. A comment that were nothing but a fenced example would look the
    same, and does not occur.
    """
    if len(fences) != 2 or not fences[0]["word"] or not _speaks(fences[0]["word"], language):
        return False
    return not (text[: fences[0].start()] + text[fences[1].end() :]).strip()


def _without_fences(text: str, surroundings: Surroundings) -> str:
    fences = list(_FENCE.finditer(text)) if "```" in text else []
    if not fences or (
        not _is_one_block(text, fences, surroundings.language) and caret_in_literal(surroundings, text)
    ):
        return text
    if text[: fences[0].start()].strip():
        # A fence further down may belong to a docstring or template of the code itself. (A leading one never does,
        # although in JavaScript a fenced block happens to be a well-formed tagged template.)
        tree = parse(surroundings.program(text), surroundings.language)
        offset = len(encode(surroundings.before))
        if all(within_literal(tree, offset + len(encode(text[: fence.start()]))) for fence in fences):
            return text
    code = _chosen(text, fences, surroundings.language)
    return code if surroundings.needs_newline else code.removesuffix("\n")


def _without_chatter(text: str, surroundings: Surroundings) -> str:
    lines = text.splitlines(keepends=True)
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None or not _is_prose(lines[first]):
        return text
    rest = "".join(lines[first + 1 :])
    if not rest.strip() or caret_in_literal(surroundings, text) or surroundings.parses_with(text):
        return text
    while rest and not rest.split("\n", 1)[0].strip():
        rest = rest.split("\n", 1)[1] if "\n" in rest else ""
    return rest


_STEPS = (
    ("reasoning removed", _without_reasoning),
    ("fence removed", _without_fences),
    ("chatter removed", _without_chatter),
)


def clean(text: str, surroundings: Surroundings) -> CleanedText:
    """Remove reasoning spans, fences and a first line of chatter.

    * Reasoning (``<think>``, ``<thinking>``, ``<reasoning>``) at the start goes; if it never ends, nothing
      is left.
    * Of fenced blocks the first whose word names the language of the problem, or that has no word, is
      taken; else the first. A block that is never closed reaches to the end. The newline before the closing
      fence goes, unless the caret stands at the start of a line and the suffix needs one.
    * Without a fence, a first line that is clearly prose goes, if there is more and the program does not
      parse.
    """
    steps = []
    for name, step in _STEPS:
        shorter = step(text, surroundings)
        if shorter != text:
            text = shorter
            steps.append(name)
    return CleanedText(text, tuple(steps))


def strip_released_fence(text: str) -> str:
    """What the released code did to a model's text: the lines of a closed fence that opens it.

    Only a text that begins with a fence is touched, and the block ends at the first line that is exactly
    three backticks. The text so made never begins with that fence, so that doing it again changes nothing
    in the data.
    """
    if not text.strip().startswith("```"):
        return text
    lines = text.strip().split("\n")
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == "```":
            return "\n".join(lines[1:number])
    return text
