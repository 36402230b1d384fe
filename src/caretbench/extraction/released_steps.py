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
from typing import Final, NamedTuple

from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.languages import Language, get_language

_TAB: Final = 4
"""Blanks for a tab."""


class _CodeRules(NamedTuple):
    """Rules by which the released code takes a stripped line for code, and for prose all the same."""

    code: re.Pattern[str]
    quotes: tuple[tuple[str, str], ...]
    """Beginnings and ends of texts that are no code."""
    symbols: str


# What a line of code begins with, in the order of the released patterns; it looked at nothing behind that.
_PYTHON_LINE = (
    r"async def \w", r"(?:def|class|import|from|if|elif|for|while|with|raise|assert|await)\s",
    r"else|try|except|finally|return|pass|break|continue|@", r"f[\"'].*[\"']",
    r"\w+\s?(?:[-+*/%&|^]|<<|>>|\*\*|//)?=", r"\w+\s?:[\w\[\],\s<>]+=", r"\w+\s?\(", r"\w+\[", r"\w+\.\w",
    r"\[.*\]", r"\{.*\}", r"\(.*\)", r"[\[({].*\sfor\s", r"[\[\]{}]+$", r"[\w,\s]+=", r"[\],})]", r".*,$",
    r"lambda\s.*:", r"\w+\s?[-+*/%]\s?\w", r"\w+\s?(?:[!=<>]=|[<>])\s?\w",
)  # fmt: skip
_BRACES_LINE = (
    r"import (?:static )?[\w.]+(?:\.\*)?\s?;", r"package [\w.]+\s?;",
    r"(?:public|private|protected|void|static|final|class|interface|enum|new) \w", r"@\w",
    r"record \w+\s?\([^)]*\)\s?\{", r"(?:public|private|protected) <.*> \w+.*\{", r"(?:try|else|do)\s?\{",
    r"else if\s?\(", r"return",
    r"(?:throw|assert)\s.*;", r"(?:break|continue)\s?;", r"\w+\s?\[\s?\]\s?\w", r"\w+ \w+\s?[=;]", r"[\w.]+\s?=.*;",
    r"\w+\s?\(", r"\w+\s?(?:\+\+|--)\s?;", r"\w+\s?[-+*/%&|^]=.*;", r"\([^)]*\)\s?->", r"\{$", r"[})]", r"case\s[^:]+:",
    r"default\s?:", r"\w+<[^>]+>", r".*(?:&&|\|\|)", r"\w+\.\w", r"\w+\[\w+\]", r"\w+$",
)  # fmt: skip
_PYTHON_RULES = _CodeRules(
    re.compile("|".join(_PYTHON_LINE)), (("'''", "'''"), ('"""', '"""')), "#:=[]{}()+-*/&|^%<>.!"
)
_BRACES_RULES = _CodeRules(re.compile("|".join(_BRACES_LINE)), (("/*", "*/"),), ";{}()[]=<>+-*/&|^%!.:")

_ENGLISH_STARTS: Final = frozenset({
    "the", "a", "an", "this", "that", "these", "those", "in", "on", "at", "for", "with", "about", "to", "i",
    "you", "he", "she", "it", "we", "they", "when", "if", "here", "there", "let", "create", "write",
    "implement", "use"
})  # fmt: skip
_MAX_PROSE_WORDS, _MIN_CODE_SYMBOLS, _LONG_LINE = 4, 2, 30
_QUOTED = re.compile(r"'.*'|\".*\"")


def _rules(entry: Language) -> _CodeRules:
    # The released code knows Python and Java; other languages are nearer to the second.
    return _PYTHON_RULES if entry.indented else _BRACES_RULES


def _is_code(line: str, entry: Language) -> bool:
    """Return whether a line outside of comments is code: it begins so, and is no prose."""
    line = line.strip()
    rules = _rules(entry)
    if line.startswith(entry.line_comment) or not rules.code.match(" ".join(line.split())):
        return False
    words = line.split()
    first = words[0].lower()
    if first in entry.keywords or len(words) <= _MAX_PROSE_WORDS or _QUOTED.search(line):
        return True
    prose = first in _ENGLISH_STARTS or (len(line) > _LONG_LINE and "," in line and ";" not in line)
    return not prose or sum(map(line.count, rules.symbols)) >= _MIN_CODE_SYMBOLS


def clean_as_released(text: str, surroundings: Surroundings) -> str:
    """Return the first fenced block that names the language, else the text between the markers, both unchanged.

    Without either, remove reasoning, fence lines, blank lines, lines of comments and lines that do not look like code.
    Everything from the first comment of several lines, or Python docstring, is removed: a fault of the released code.
    """
    entry = get_language(surroundings.language)
    for begin, end in (
        (f"```{entry.fence}", "```"),
        (f"{entry.line_comment} --BEGIN MISSING CODE--", f"{entry.line_comment} --END MISSING CODE--"),
    ):
        start = text.find(begin) + len(begin)
        if start >= len(begin) and (stop := text.find(end, start)) >= 0:
            return text[start:stop]
    # A search for `<think>` behind the last end would take quadratic time.
    closed = text.rfind(_THOUGHT_END) + len(_THOUGHT_END)
    rest = _THOUGHT.sub("", text[:closed]) + text[closed:]
    kept = []
    for line in rest.replace("<think>", "").replace(_THOUGHT_END, "").split("\n"):
        if any(quote[0] in line for quote in _rules(entry).quotes):
            break
        if line.strip() and not line.startswith("```") and _is_code(line, entry):
            kept.append(line)
    return "\n".join(kept).rstrip()


_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_THOUGHT_END = "</think>"
_LONE_BRACKETS = frozenset(["", *"(){}[]"])
_ALIKE = 0.98
_COMPARED_LINES = 2


def _collapsed(line: str) -> str:
    return " ".join(line.split())


def _code_lines(lines: Sequence[str], entry: Language) -> list[tuple[int, str]]:
    """Return the lines of code with their numbers, without those of comments of several lines."""
    code_lines, end = [], ""
    for number, line in enumerate(lines):
        quote = next((quote for quote in _rules(entry).quotes if quote[0] in line), None)
        if entry.indented and quote:
            # An odd number of any quotes opens or closes.
            end = ("" if end else quote[1]) if line.count(quote[0]) % 2 else end
        elif end:
            end = "" if end in line else end
        elif quote:
            end = "" if quote[1] in line else quote[1]
        elif _is_code(line, entry):
            code_lines.append((number, _collapsed(line)))
    return code_lines


def trim_as_released(text: str, surroundings: Surroundings) -> str:
    """Return the text between a line that occurs in the prefix and one that occurs in the suffix.

    One equal line is enough; then lines that are nearly equal to the last two of the prefix or the first two of the
    suffix, counted from the first line that is left, but cut from the whole text: a fault of the released code. If the
    beginning is after the end, only the end is cut; if no code would remain, the text is unchanged.
    """
    entry = get_language(surroundings.language)
    lines = text.split("\n")
    before, after = surroundings.before.split("\n"), surroundings.after.split("\n")
    places: dict[str, int] = {}
    for index, line in enumerate(map(_collapsed, lines)):
        if line not in _LONE_BRACKETS:
            places.setdefault(line, index)
    start = next((places[line] + 1 for line in map(_collapsed, reversed(before)) if line in places), 0)
    end = next((places[line] for line in map(_collapsed, after) if line in places), len(lines))
    start, end = _in_order(start, end, len(lines))
    left = _code_lines(lines[start:end], entry)
    fuzzy_start = _first_alike(_code_lines(before, entry)[-_COMPARED_LINES:], left)
    fuzzy_end = _first_alike(_code_lines(after, entry)[:_COMPARED_LINES], left)
    moved = (start if fuzzy_start is None else fuzzy_start + 1, end if fuzzy_end is None else fuzzy_end)
    if moved[0] < moved[1]:
        start, end = moved
    return "\n".join(lines[start:end] if _code_lines(lines[start:end], entry) else lines)


def _in_order(start: int, end: int, length: int) -> tuple[int, int]:
    return (start, end) if start <= end else (0, end or length)


def _first_alike(compared: Sequence[tuple[int, str]], lines: Sequence[tuple[int, str]]) -> int | None:
    return next((number for _, line in compared for number, other in lines if _alike(line, other)), None)


def _alike(first: str, second: str) -> bool:
    first, second = first.replace(" ", ""), second.replace(" ", "")
    # The ratio is at most twice the shorter length by the sum of both: no need to compare what is far longer.
    if 2 * min(len(first), len(second)) <= _ALIKE * (len(first) + len(second)):
        return False
    return difflib.SequenceMatcher(None, first, second).ratio() > _ALIKE


_PAIRS = (("{", "}"), ("[", "]"), ("(", ")"))
_LOOKED_BACK = 10
_OPENS = (":", "{", "def", "class", "if", "elif", "else", "try", "except", "finally", "with", "for", "while")
_LEAVES = ("return", "break", "continue", "pass", "}", "raise", "yield")
_COUNTERPARTS = {"elif ": ("elif ", "if "), "else:": ("elif ", "if "), "except ": ("try ",), "finally:": ("try ",)}


def repair_as_released(text: str, surroundings: Surroundings) -> str:
    """Return the text with the indentation of the prefix's last line (Python), or with balanced brackets (else)."""
    return _reindent(text, surroundings) if surroundings.language == "python" else _balance(text, surroundings)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _unit(whole: Sequence[str]) -> int:
    """Return the most frequent change of indentation of the last ten lines; 0 without one, taken for tabs."""
    recent = [_indent(line) for line in reversed(whole[-_LOOKED_BACK:])]
    if len(recent) == 1:
        return recent[0]
    steps = Counter(abs(b - a) for a, b in pairwise(recent) if a != b)
    return steps.most_common(1)[0][0] if steps else 0


def _expected_column(first: str, whole: Sequence[str], unit: int) -> int:
    """Return the expected column of the first line."""
    # The released code compared the line with its indentation, so that it aligned none that has one.
    headers = next((counterparts for word, counterparts in _COUNTERPARTS.items() if first.startswith(word)), None)
    if headers is not None:
        return _indent(next((line for line in reversed(whole) if line.strip().startswith(headers)), ""))
    last = next((line for line in reversed(whole) if line.strip()), "")
    return _indent(last) + unit * (last.rstrip().endswith(_OPENS) - last.lstrip().startswith(_LEAVES))


def _reindent(text: str, surroundings: Surroundings) -> str:
    *whole, caret_line = surroundings.before.split("\n")
    if caret_line.strip():
        # The released spans are whole lines, so the released code met no caret within a line.
        return text
    unit = _unit(whole)
    tabs = unit == 0
    if tabs:
        whole = [line.replace("\t", " " * _TAB) for line in whole]
    lines = (caret_line + text).split("\n")
    plain = [line.replace("\t", " " * _TAB) for line in lines] if tabs else lines
    first = next((line for line in plain if line.strip()), None)
    if first is None:
        return text
    by = _expected_column(first, whole, unit or _TAB) - _indent(first)
    moved = (" " * max(0, _indent(line) + by) + original.lstrip() for line, original in zip(plain, lines, strict=True))
    # Four blanks within a line become a tab, too: a fault of the released code.
    moved = (line.replace(" " * _TAB, "\t") if tabs else line for line in moved)
    kept = [line if original.strip() else original for line, original in zip(moved, lines, strict=True)]
    return "\n".join(kept).removeprefix(caret_line)


def _balance(text: str, surroundings: Surroundings) -> str:
    program = surroundings.program(text)
    # Counted in the whole text, brackets in strings and comments included: a fault of the released code.
    for opening, closing in _PAIRS:
        missing = program.count(opening) - program.count(closing)
        if missing > 0:
            text += closing * missing
        elif missing < 0:
            text = _strip_closing(text, closing, -missing)
    return text


def _strip_closing(text: str, closing: str, surplus: int) -> str:
    """Return the text without ``surplus`` closing brackets, one at the very end of a line, the last line first."""
    lines = text.split("\n")
    for number in range(len(lines) - 1, -1, -1):
        if surplus and lines[number].endswith(closing):
            lines[number] = lines[number].removesuffix(closing)
            surplus -= 1
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
    ends = [position for token in END_TOKENS if (position := text.find(token)) >= 0]
    return text[: min(ends)] if ends else text


def _last_block(text: str) -> str | None:
    """Return the content of the last closed block, None without one; in linear time, unlike a search by expression."""
    content = None
    fence = text.find(_FENCE)
    while fence >= 0:
        begin = text.find("\n", fence + len(_FENCE)) + 1
        # The released pattern wanted the closing fence at the beginning of a line; one within a line is a part of the
        # block.
        end = text.find(f"\n{_FENCE}", begin) if begin else -1
        if end < 0:
            break
        content = text[begin:end]
        fence = text.find(_FENCE, end + 1 + len(_FENCE))
    return content
