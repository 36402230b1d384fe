"""Post-processing as in the papers' released code: SimCopilot's three steps, and Codev-Bench's cut.

Reimplemented from descriptions of the released code.

SimCopilot's steps (cleaning, trimming repetitions, repairing) keep its faults: they change right answers, and are kept
to repeat the paper's ablation. The released code ran the tests after each step and reported the first text that passed;
here each step is a separate policy, and the report computes the best of three.

Codev-Bench's took the last fenced block of a chat model's answer, nothing where there was none, and cut the answers of
models that fill in the middle at their end token alone. (Line feeds passed through ``<br>`` and back there, so that a
``<br>`` of the code became a line feed; that fault is not repeated.)
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.languages import language as language_named
from caretbench.syntax.documentation import comments
from caretbench.syntax.parser import encode

_MARKED = re.compile(r"--BEGIN MISSING CODE--[^\n]*\n(.*?)(?:\n[^\n]*--END MISSING CODE--|\Z)", re.DOTALL)
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_THOUGHT_END = "</think>"
_CODE_LINE = re.compile(
    r"[=(){}\[\];:@.,+*/<>%&|!\"']"
    r"|^\s*(?:pass|break|continue|return|else|try|finally|do|yield|raise|default)\b"
)
_ENGLISH_START = re.compile(r"^\s*[A-Z][a-z']*\b|^\s*(?:the|this|that|it|we|you|i|note|here|in|to|and|so)\b")
_SYMBOLS = re.compile(r"[^\w\s]")
_MAX_PROSE_WORDS, _MIN_CODE_SYMBOLS = 4, 2


def clean_as_released(text: str, surroundings: Surroundings) -> str:
    """Return the first fenced block that names the language, or the text between the markers, unchanged.

    Without either, remove reasoning, fence lines, blank lines, comments and lines that do not look like code.
    """
    entry = language_named(surroundings.language)
    words = "|".join(re.escape(word) for word in (entry.name, entry.fence, *entry.aliases))
    fenced = re.search(rf"```(?:{words})[ \t]*\n(.*?)```", text, re.DOTALL | re.IGNORECASE)
    # A block that names another language is passed over, as is one without a name: the released pattern wanted the
    # name.
    if fenced is not None:
        return fenced[1].removesuffix("\n")
    marked = _MARKED.search(text)
    if marked is not None:
        return marked[1]
    # A search for `<think>` behind the last end would take quadratic time.
    closed = text.rfind(_THOUGHT_END) + len(_THOUGHT_END)
    rest = _without_comments(_THOUGHT.sub("", text[:closed]) + text[closed:], surroundings.language)
    lines = [line for line in rest.split("\n") if line.strip() and not line.strip().startswith("```")]
    return "\n".join(line for line in lines if _CODE_LINE.search(line) and not _is_prose(line))


def _without_comments(text: str, language: str) -> str:
    data = encode(text)
    kept, done = [], 0
    for comment in comments(text, language):
        kept.append(data[done : comment.start])
        done = max(done, comment.end)
    return b"".join([*kept, data[done:]]).decode("utf-8", "surrogatepass")


def _is_prose(line: str) -> bool:
    few_symbols = len(_SYMBOLS.findall(line)) < _MIN_CODE_SYMBOLS
    return len(line.split()) > _MAX_PROSE_WORDS and few_symbols and bool(_ENGLISH_START.match(line))


_LONE_BRACKETS = re.compile(r"^[(){}\[\];,]*$")
_ALIKE = 0.98
_COMPARED_LINES = 2


def _collapsed(line: str) -> str:
    return " ".join(line.split())


def trim_as_released(text: str, surroundings: Surroundings) -> str:
    """Return the text between a line that occurs in the prefix and one that occurs in the suffix.

    One equal line is enough; then lines that are nearly equal to the last two of the prefix or the first two of the
    suffix. If the beginning is after the end, only the end is cut; if nothing would remain, the text is unchanged.
    """
    lines = text.split("\n")
    ours = [_collapsed(line) for line in lines]
    before = [line for line in map(_collapsed, surroundings.before.split("\n")) if not _LONE_BRACKETS.match(line)]
    after = [line for line in map(_collapsed, surroundings.after.split("\n")) if not _LONE_BRACKETS.match(line)]
    known = set(ours)
    start = next((ours.index(line) + 1 for line in reversed(before) if line in known), 0)
    end = next((ours.index(line) for line in after if line in known), len(ours))
    start, end = _move_to_similar_lines(ours, before, after, start, end)
    # The released code finds both places apart; where the suffix's line comes first, it kept the beginning.
    if start > end:
        start = 0
    kept = lines[start:end]
    return "\n".join(kept) if any(line.strip() for line in kept) else text


def _move_to_similar_lines(
    ours: Sequence[str], before: Sequence[str], after: Sequence[str], start: int, end: int
) -> tuple[int, int]:
    for place in range(start, end):
        if any(_alike(ours[place], line) for line in before[-_COMPARED_LINES:]):
            start = place + 1
    for place in range(start, end):
        if any(_alike(ours[place], line) for line in after[:_COMPARED_LINES]):
            return start, place
    return start, end


def _alike(first: str, second: str) -> bool:
    one, other = first.replace(" ", ""), second.replace(" ", "")
    # The ratio is at most twice the shorter length by the sum of both: no need to compare what is far longer.
    if not one or _LONE_BRACKETS.match(one) or 2 * min(len(one), len(other)) <= _ALIKE * (len(one) + len(other)):
        return False
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio() > _ALIKE


_PAIRS = (("{", "}"), ("[", "]"), ("(", ")"))
_LOOKED_BACK = 10
_USUAL_UNIT = 4
_LEAVES = ("return", "break", "continue", "pass", "raise", "yield")
_COUNTERPARTS = {
    "elif": ("if", "elif"), "else": ("if", "elif", "for", "while", "try", "except"), "except": ("try", "except"),
    "finally": ("try", "except", "else"),
}  # fmt: skip


def repair_as_released(text: str, surroundings: Surroundings) -> str:
    """Return the text with the indentation of the prefix's last line (Python), or with balanced brackets (else)."""
    return _reindent(text, surroundings) if surroundings.language == "python" else _balance(text, surroundings)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _first_word(line: str) -> str:
    found = re.match(r"\s*(\w+)", line)
    return found[1] if found else ""


def _expected_column(first: str, whole: Sequence[str]) -> int:
    """Return the expected column of the first line."""
    filled = [line for line in whole if line.strip()]
    if not filled:
        return 0
    for line in reversed(filled if _first_word(first) in _COUNTERPARTS else ()):
        if _first_word(line) in _COUNTERPARTS[_first_word(first)]:
            return _indent(line)
    recent = [_indent(line) for line in filled[-_LOOKED_BACK:]]
    # The most frequent change of indentation of the last ten lines is taken for the unit, four blanks where there is
    # none.
    steps = Counter(abs(b - a) for a, b in pairwise(recent) if a != b)
    unit = steps.most_common(1)[0][0] if steps else _USUAL_UNIT
    last = filled[-1]
    if last.rstrip().endswith(":"):
        return _indent(last) + unit
    return max(0, _indent(last) - unit) if _first_word(last) in _LEAVES else _indent(last)


def _reindent(text: str, surroundings: Surroundings) -> str:
    *whole, caret_line = surroundings.before.split("\n")
    if caret_line.strip():
        # The released spans are whole lines, so the released code met no caret within a line.
        return text
    lines = (caret_line + text).split("\n")
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        return text
    by = _expected_column(first, whole) - _indent(first)
    moved = [" " * max(0, _indent(line) + by) + line.lstrip() if line.strip() else line for line in lines]
    return "\n".join(moved).removeprefix(caret_line)


def _balance(text: str, surroundings: Surroundings) -> str:
    program = surroundings.program(text)
    # Counted in the whole text, brackets in strings and comments included: a fault of the released code.
    for opening, closing in _PAIRS:
        missing = program.count(opening) - program.count(closing)
        if missing > 0:
            text = text + "\n" + closing * missing
        elif missing < 0:
            text = _strip_closing(text, closing, -missing)
    return text


def _strip_closing(text: str, closing: str, surplus: int) -> str:
    """Return the text without ``surplus`` closing brackets at the ends of its lines, the last line first."""
    lines = text.split("\n")
    for number in range(len(lines) - 1, -1, -1):
        line, end = lines[number], len(lines[number])
        while surplus:
            blank = next((place for place in range(end, 0, -1) if not line[place - 1].isspace()), 0)
            if not blank or line[blank - 1] != closing:
                break
            end = blank - 1
            surplus -= 1
        lines[number] = line[:end]
    return "\n".join(lines)


END_TOKENS: Final = ("<|endoftext|>", "<|file_separator|>")
"""Tokens at which the released code cut answers of models that fill in the middle."""

_FENCE: Final = "```"


def last_fenced_block(text: str, surroundings: Surroundings) -> str:  # noqa: ARG001
    """Return the content of the last fenced block that is closed, without the line of its opening fence; else nothing.

    A block is closed by a fence at the beginning of a line.
    """
    return _last_block(text) or ""


def answer_as_published(text: str, surroundings: Surroundings) -> str:  # noqa: ARG001
    """Return the last fenced block of an answer with fences, else the answer up to the first end token.

    The released code knew which model had answered; here an answer without any fence is taken for one of a model that
    fills in the middle. The policy ``codevbench/chat`` leaves nothing of it.
    """
    if _FENCE in text:
        return _last_block(text) or ""
    ends = [place for token in END_TOKENS if (place := text.find(token)) >= 0]
    return text[: min(ends)] if ends else text


def _last_block(text: str) -> str | None:
    """Return the content of the last closed block, None without one; in linear time, unlike a search by expression."""
    found = None
    place = text.find(_FENCE)
    while place >= 0:
        begin = text.find("\n", place + len(_FENCE)) + 1
        # The released pattern wanted the closing fence at the beginning of a line; one within a line is a part of the
        # block.
        end = text.find(f"\n{_FENCE}", begin) if begin else -1
        if end < 0:
            break
        found = text[begin:end]
        place = text.find(_FENCE, end + 1 + len(_FENCE))
    return found
