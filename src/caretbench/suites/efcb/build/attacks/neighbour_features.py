"""Features of a line from lines around it: neighbours, hunk, lines with the same template.

A template is a line without its names and numbers: ``a.b(1)`` and ``c.d(2)`` have the same template.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final

from caretbench.suites.efcb.build.attacks.line_context import CodeLine, VisibleLines, line_template, name_words

NEIGHBOUR_FEATURE_NAMES: Final = (
    "same_as_above", "same_as_below", "shared_above", "shared_below",
    "hunk_removed", "hunk_added", "hunk_kept", "hunk_tokens", "hunk_pairs", "pairs_removed", "pairs_added",
    "threes_removed", "threes_added", "template", "template_same", "template_distance", "template_parts",
    "rare_tokens", "once", "most_frequent", "parts_near", "parts_near_rare", "parts_after", "parts_header",
    "parts_comment", "parts_repeated", "parts_in_strings", "token_share", "enclosing", "enclosing_parts", "used_before",
    "used_after", "argument_like_name", "doubled",
)  # fmt: skip
"""Names of the features, in the order in which :func:`neighbour_features` returns them."""
_NEAR: Final = 4
_WINDOW: Final = 3
_WORD: Final = re.compile(r"[^\W\d]\w*|\d+")
_STRING: Final = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_COMMENT: Final = re.compile(r"//(.*)|#(.*)|^\s*\*(.*)")
_DOUBLED: Final = re.compile(r"([\w.\[\]()]+)\s*(?:&&|\|\||[=!]=|<<|,|:|\b(?:and|or)\b)\s*\1(?!\w)")


@lru_cache(maxsize=60_000)
def line_words(text: str) -> frozenset[str]:
    """Return the words of all names in a text, in lower case."""
    return frozenset(chain.from_iterable(name_words(name) for name in _WORD.findall(text)))


@lru_cache(maxsize=60_000)
def _comment(text: str) -> str:
    found = _COMMENT.search(text)
    return next(filter(None, found.groups()), "") if found else ""


@lru_cache(maxsize=60_000)
def _token_counts(tokens: tuple[str, ...]) -> Counter[str]:
    return Counter(tokens)


# Long: one entry for each feature, in the order of their names.
def neighbour_features(code_line: CodeLine, position: int, visible_lines: VisibleLines) -> list[float]:
    """Return the features of a line at a position, in the order of the names."""
    context = visible_lines.context
    own = frozenset(code_line.tokens)
    names = [name for _, name in code_line.names]
    words = [word for name in names for word in sorted(name_words(name))]
    above, below = visible_lines.line_at(position - 1), visible_lines.line_at(position + 1)
    before, after = (
        [found for step in range(1, _NEAR + 1) if (found := visible_lines.line_at(position + sign * step))]
        for sign in (-1, 1)
    )
    steps = (step for step in range(-_WINDOW, _WINDOW + 1) if step)
    window = Counter(
        chain.from_iterable(
            line_words(found.text) for step in steps if (found := visible_lines.line_at(position + step))
        )
    )
    counts = [visible_lines.count("token", token) for token in code_line.tokens]
    header = line_words(context.hunk_header(position))
    comments = frozenset(chain.from_iterable(line_words(_comment(found.text)) for found in (*before, *after)))
    strings = line_words(" ".join(_STRING.findall(code_line.text)))
    enclosing = _enclosing_lines(code_line, visible_lines.preceding_lines(position))
    enclosing_tokens = frozenset(chain.from_iterable(found.tokens for found in enclosing))
    enclosing_parts = frozenset(chain.from_iterable(line_words(found.text) for found in enclosing))
    used = [frozenset(chain.from_iterable(found.tokens for found in side)) for side in (before, after)]
    after_parts = frozenset(chain.from_iterable(line_words(found.text) for found in after))
    return [
        float(above is not None and above.tokens == code_line.tokens),
        float(below is not None and below.tokens == code_line.tokens),
        float(len(own.intersection(above.tokens))) if above else 0.0,
        float(len(own.intersection(below.tokens))) if below else 0.0,
        *_hunk_features(code_line, position, visible_lines),
        *_template_features(code_line, position, visible_lines),
        sum(1 / (1 + count) for count in counts),
        float(counts.count(1)),
        max((math.log1p(visible_lines.count("token", name)) for name in names), default=0.0),
        float(sum(window[word] > 0 for word in words)),
        sum(1 / math.log(2 + window[word]) for word in set(words) if window[word]),
        float(sum(word in after_parts for word in words)),
        float(sum(word in header for word in words)),
        float(sum(word in comments for word in words)),
        float(len(words) - len(set(words))),
        float(len(strings & frozenset(words))),
        len(own) / max(len(code_line.tokens), 1),
        float(sum(name in enclosing_tokens for name in names)),
        float(sum(word in enclosing_parts for word in words)),
        float(sum(name in used[0] for name in names)),
        float(sum(name in used[1] for name in names)),
        _argument_name_matches(code_line),
        float(len(_DOUBLED.findall(code_line.text))),
    ]


def _hunk_features(code_line: CodeLine, position: int, visible_lines: VisibleLines) -> list[float]:
    """Return similarity to lines of the hunk by diff mark, and the line's tokens and pairs in the hunk."""
    bag = _token_counts(code_line.tokens)
    best = {"-": 0.0, "+": 0.0, " ": 0.0}
    tokens: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for mark, other in visible_lines.lines_in_hunk(position):
        tokens.update(other.tokens)
        pairs.update(pairwise(other.tokens))
        shared = (
            2 * sum((bag & _token_counts(other.tokens)).values()) / max(len(code_line.tokens) + len(other.tokens), 1)
        )
        best[mark] = max(best[mark], shared)
    own_pairs = list(pairwise(code_line.tokens))
    own_threes = list(zip(code_line.tokens, code_line.tokens[1:], code_line.tokens[2:], strict=False))
    return [
        best["-"],
        best["+"],
        best[" "],
        float(sum(token in tokens for token in code_line.tokens)),
        float(sum(pair in pairs for pair in own_pairs)),
        *(
            sum(math.log1p(visible_lines.count(f"{kind} {mark}", ngram)) for ngram in grams)
            for kind, grams in (("pair", own_pairs), ("three", own_threes))
            for mark in "-+"
        ),
    ]


def _template_features(code_line: CodeLine, position: int, visible_lines: VisibleLines) -> list[float]:
    """Return: a line with the same template exists, one is equal, smallest distance, shared name words."""
    lines = visible_lines.lines_with_template(line_template(code_line.text), position)
    if not lines:
        return [0.0, 0.0, 0.0, 0.0]
    distances = [
        sum(left != right for left, right in zip(code_line.tokens, other.tokens, strict=False)) for other in lines
    ]
    alike = sum(
        not name_words(left).isdisjoint(name_words(right))
        for other in lines
        for left, right in zip(code_line.tokens, other.tokens, strict=False)
        if left != right
    )
    return [1.0, float(min(distances) == 0), float(-min(distances)), alike / len(lines)]


def _enclosing_lines(code_line: CodeLine, before: Sequence[CodeLine]) -> Iterable[CodeLine]:
    """Return the preceding lines that enclose a line by indentation, nearest first."""
    found = []
    indent = _indent(code_line.text)
    for other in before:
        if other.text.strip() and _indent(other.text) < indent:
            found.append(other)
            indent = _indent(other.text)
    return found


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _argument_name_matches(code_line: CodeLine) -> float:
    """Return the number of names after ``name=`` or ``name:`` that share a word with it."""
    found = 0.0
    for (index, name), (later, other) in pairwise(code_line.names):
        if later == index + 2 and code_line.tokens[index + 1] in "=:":
            found += not name_words(name).isdisjoint(name_words(other))
    return found
