"""Removal of reasoning, fences and chatter that a chat model puts around code. Code is not changed.

Every step is conservative: nothing is removed if the caret is inside a string or comment, where prose and fences are
valid content. (The exception is an answer that is a single fenced block with the name of the language, as prompts
request.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from caretbench.errors import UsageError
from caretbench.extraction.caret_surroundings import MAX_TEXT_CHARACTERS, Surroundings, caret_in_literal, within_literal
from caretbench.languages import language as language_named
from caretbench.syntax.parser import encode, parse

_REASONING = re.compile(r"\s*<(think|thinking|reasoning)>(?P<thought>[\s\S]*?)(?:</\1>|\Z)", re.IGNORECASE)
_REASONING_END = re.compile(r"^[^\"'`\n]*</(?:think|thinking|reasoning)>[ \t]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}+)[ \t]*+(?P<word>[\w+#.-]*+)[ \t]*+\r?$", re.MULTILINE)
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
    """Cleaned text, and the names of the steps that changed it."""

    text: str
    steps: tuple[str, ...] = ()


class _Block(NamedTuple):
    word: str
    code: str


def without_reasoning(text: str, surroundings: Surroundings) -> str:
    """Return the text without reasoning at its beginning."""
    if "<" not in text or not (_REASONING.match(text) or _REASONING_END.search(text)):
        return text
    # What follows decides nothing, and takes long to parse: reasoning may have 400,000 characters.
    head = text[:MAX_TEXT_CHARACTERS]
    if caret_in_literal(surroundings, head):
        return text
    start = 0
    while hit := _REASONING.match(text, start):
        start = hit.end()
    rest = text[start:].lstrip("\r\n") if start else text
    end = _REASONING_END.search(text) if rest == text else None
    if end is not None and (head != text or not surroundings.parses_with(text)):
        # Some chat templates put the opening tag into the prompt, so that the answer has the closing one alone.
        rest = text[end.end() :].lstrip("\r\n")
    return rest


def _is_prose(line: str) -> bool:
    """Return whether a line is clearly chatter, by its first words, its end, and no mark of code."""
    line = line.strip().lstrip("*_> ")
    # A single word cannot be told from code by its first words alone; these three are taken for chatter.
    if line.lower() in {"sure!", "certainly!", "absolutely!"}:
        return True
    ends_well = line.rstrip("*_ ").endswith((":", ".", "!"))
    # A line of one word, `here` or `completion`, may be a name.
    begins_so = len(line.split()) >= 2 and _CHATTER.match(line) is not None
    return ends_well and begins_so and not _CODE_MARKS.search(line)


def _fenced_blocks(text: str, fences: list[re.Match[str]]) -> list[_Block]:
    """Return the fenced blocks; a closing fence has at least as many marks and no word, and the last may be open."""
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


def _names_language(word: str, language: str) -> bool:
    try:
        return not word or language_named(word).name == language
    except UsageError:
        return False


def _choose_code(text: str, fences: list[re.Match[str]], language: str) -> str:
    """Return the code of the first block in the language or without a language, else of the first block."""
    head = text[: fences[0].start()]
    first_closes = len(fences) % 2 == 1 and not fences[0]["word"] and head.strip()
    if first_closes and not any(_is_prose(line) for line in head.splitlines()):
        # The prompt ended inside a fence, which the model closed: what is before the only mark is the answer.
        return head
    found = _fenced_blocks(text, fences)
    return next((block.code for block in found if _names_language(block.word, language)), found[0].code)


def _is_one_block(text: str, fences: list[re.Match[str]], language: str) -> bool:
    """Return whether a text is a single fenced block with the name of the language, as prompts request.

    A comment that is only a fenced example would look the same, but does not occur.
    """
    if len(fences) != 2 or not fences[0]["word"] or not _names_language(fences[0]["word"], language):
        return False
    return not (text[: fences[0].start()] + text[fences[1].end() :]).strip()


def _byte_positions(text: str, fences: list[re.Match[str]], surroundings: Surroundings) -> Iterator[int]:
    """Yield the byte of the program at which each fence begins."""
    position = len(encode(surroundings.before))
    done = 0
    for fence in fences:
        position += len(encode(text[done : fence.start()]))
        done = fence.start()
        yield position


def _without_fences(text: str, surroundings: Surroundings) -> str:
    fences = list(_FENCE.finditer(text)) if "```" in text else []
    # In a string or comment a fence may be content: Markdown in a docstring.
    if not fences or (not _is_one_block(text, fences, surroundings.language) and caret_in_literal(surroundings, text)):
        return text
    if text[: fences[0].start()].strip():
        # A later fence may belong to a docstring or template in the code. (A leading one never does, although in
        # JavaScript a fenced block is a well-formed tagged template.)
        tree = parse(surroundings.program(text), surroundings.language)
        if all(within_literal(tree, position) for position in _byte_positions(text, fences, surroundings)):
            return text
    code = _choose_code(text, fences, surroundings.language)
    # The line feed before the closing fence belongs to the fence, unless the suffix goes on at the beginning of a line.
    return code if surroundings.needs_newline else code.removesuffix("\n")


def _without_chatter(text: str, surroundings: Surroundings) -> str:
    lines = text.splitlines(keepends=True)
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None or not _is_prose(lines[first]):
        return text
    rest = "".join(lines[first + 1 :])
    # A first line that parses with the program is code, whatever its words; the only line of an answer is never
    # removed.
    if not rest.strip() or caret_in_literal(surroundings, text) or surroundings.parses_with(text):
        return text
    return rest[rest.rfind("\n", 0, len(rest) - len(rest.lstrip())) + 1 :]


CLEANING_STEPS = (
    ("reasoning removed", without_reasoning),
    ("fence removed", _without_fences),
    ("chatter removed", _without_chatter),
)


def clean(text: str, surroundings: Surroundings) -> CleanedText:
    """Remove reasoning spans, fences and a first line of chatter.

    * Reasoning (``<think>``, ``<thinking>``, ``<reasoning>``) at the start is removed; without an end, the result is
      empty.
    * Of fenced blocks, the first that names the language of the problem or no language is taken, else the first. An
      open block extends to the end. The newline before the closing fence is removed, unless the caret is at the start
      of a line and the suffix needs one.
    * Without a fence, a first line that is clearly prose is removed, if there is more and the program does not parse.
    """
    steps = []
    for name, step in CLEANING_STEPS:
        shorter = step(text, surroundings)
        if shorter != text:
            text = shorter
            steps.append(name)
    return CleanedText(text, tuple(steps))


def strip_released_fence(text: str) -> str:
    """Return the content of a closed fence at the beginning of a text, as DevBench's released code does.

    Other texts are returned unchanged. The block ends at the first line that is exactly three backticks.
    """
    if not text.strip().startswith("```"):
        return text
    lines = text.strip().split("\n")
    for number, line in enumerate(lines[1:], start=1):
        # The released code looked for exactly this line: a closing fence with blanks and a word does not end its block.
        if line.strip() == "```":
            return "\n".join(lines[1:number])
    return text
