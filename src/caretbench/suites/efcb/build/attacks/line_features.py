"""Features of the lines in which GMCQ-Hard's choices differ, computed without the question's text.

Each feature is summed over these lines. Selection of edits, learned attackers and leak report share these functions.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from caretbench.suites.efcb.build.attacks.code_likelihood import NGRAM_ORDERS, CodeModel
from caretbench.suites.efcb.build.attacks.line_context import (
    CodeLine,
    FloatArray,
    LineContext,
    VisibleLines,
    name_words,
    parse_line,
)
from caretbench.suites.efcb.build.attacks.neighbour_features import NEIGHBOUR_FEATURE_NAMES, neighbour_features
from caretbench.suites.efcb.floors import SMOOTHING_STRENGTH, UNSEEN_SHARE

_TOKENS: Final = (
    "<", ">", "=", "!", "&", "|", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", "[", "{", "_",
    "and", "or", "not", "in", "is", "if", "else", "return", "true", "false", "True", "False",
    "nil", "null", "None", "undefined", "this", "self", "0", "1", "2",
)  # fmt: skip
"""Tokens that are counted as features; edits of operators and constants change these counts."""
_PAIRS: Final = ("<=", ">=", "==", "!=", "&&", "||", "+1", "-1", "<0", ">0")

_COUNTED: Final = (
    "question_tokens", "question_pairs", "question_threes", "question_skips", "question_runs", "question_names",
    "question_together", "seen_pairs", "seen_threes", "seen_runs", "seen_whole", "unseen_tokens",
    "mentions", "mentions_added", "mentions_removed", "mentions_kept", "mentions_hunk", "never_mentioned",
    "distance_before", "none_before", "distance_after", "none_after", "distance", "mentioned_next",
    "order_of_mention", "order_of_recency", "alphabetical", "name_lengths", "longest_first", "name_places",
    "upper_first", "upper_places", "same_style", "shared_parts", "shared_with_receiver", "shared_with_target",
    "shared_with_callee", "repeated_tokens", "repeated_pairs", "repeated_near", "itself", "argument_order",
    "characters", "tokens", "digits", "numbers", "round_numbers", "brackets", "zlib",
)  # fmt: skip
_LIKE: Final = (
    "like", "like_second", "like_added", "like_removed", "like_kept", "like_above", "like_below", "like_near",
)  # fmt: skip
_REPOSITORY: Final = tuple(f"repository_{order}gram" for order in NGRAM_ORDERS)
FEATURE_NAMES: Final = (
    *_COUNTED,
    *(f"token {token}" for token in _TOKENS),
    *(f"pair {pair}" for pair in _PAIRS),
    *_LIKE,
    *_REPOSITORY,
    "combined",
    *NEIGHBOUR_FEATURE_NAMES,
)
"""Names of the features, in the order of the columns."""
_NEAR: Final = 4


def line_features(
    context: LineContext, code_model: CodeModel, lines: Sequence[tuple[int, str, VisibleLines]]
) -> FloatArray:
    """Return features of lines, a row each: position in the patch, text without diff mark, visible lines."""
    if not lines:
        return np.zeros((0, len(FEATURE_NAMES)))
    texts = [text for _, text, _ in lines]
    counted = np.array(
        [_counted_features(parse_line(text), position, visible_lines) for position, text, visible_lines in lines]
    )
    tokens = np.array([_token_features(parse_line(text)) for text in texts])
    repository = code_model.log_likelihoods(texts)
    if repository.shape[1] != len(texts):  # a line without tokens has no column
        repository = np.stack([code_model.log_likelihoods([text]).sum(axis=1) for text in texts], axis=1)
    repository = repository.T
    combined = repository[:, NGRAM_ORDERS.index(3)] + counted[:, _COUNTED.index("question_pairs")]
    near = np.array(
        [neighbour_features(parse_line(text), position, visible_lines) for position, text, visible_lines in lines]
    )
    found: FloatArray = np.concatenate(
        (counted, tokens, _similarity_features(context, lines), repository, combined[:, None], near), axis=1
    )
    return np.round(found, 6)


def _token_features(code_line: CodeLine) -> list[float]:
    numbers = Counter(code_line.tokens)
    squeezed = "".join(code_line.text.split())
    return [*(float(numbers[token]) for token in _TOKENS), *(float(squeezed.count(pair)) for pair in _PAIRS)]


def _similarity_features(context: LineContext, lines: Sequence[tuple[int, str, VisibleLines]]) -> FloatArray:
    """Return the similarity of each line to visible lines: highest, by diff mark, and nearby."""
    square = context.similarities([" ".join(parse_line(text).tokens) for _, text, _ in lines])
    found = np.zeros((len(lines), len(_LIKE)))
    for row, (position, _, visible_lines) in enumerate(lines):
        values = np.where(visible_lines.is_visible, square[row], 0.0)
        if not values.size:
            continue
        top = np.partition(values, -min(2, values.size))
        found[row, 0] = values.max()
        found[row, 1] = top[-2] if values.size > 1 else 0.0
        for column, mark in enumerate("+- ", start=2):
            found[row, column] = values[context.marks == mark].max(initial=0.0)
        here = int(np.searchsorted(context.positions, position))
        found[row, 5] = values[max(here - 1, 0) : here].max(initial=0.0)
        found[row, 6] = values[here + 1 : here + 2].max(initial=0.0)
        found[row, 7] = values[max(here - _NEAR, 0) : here + _NEAR + 1].max(initial=0.0)
    return found


def _counted_features(code_line: CodeLine, position: int, visible_lines: VisibleLines) -> list[float]:
    return [
        *_ngram_features(code_line, visible_lines),
        *_name_features(code_line, position, visible_lines),
        *_content_features(code_line),
        float(visible_lines.compressed_size(" ".join(code_line.tokens))),
    ]


# Long: one entry for each feature, in the order of their names.
def _ngram_features(code_line: CodeLine, visible_lines: VisibleLines) -> list[float]:
    marks = ("\n", *code_line.tokens, "\r")
    total = max(visible_lines.context.token_count, 1)
    alone = {token: visible_lines.count("token", token) for token in set(marks)}
    share = {
        token: (count + SMOOTHING_STRENGTH * UNSEEN_SHARE) / (total + SMOOTHING_STRENGTH)
        for token, count in alone.items()
    }
    pairs = [visible_lines.count("pair", pair) for pair in pairwise(marks)]
    threes = [visible_lines.count("three", marks[index : index + 3]) for index in range(len(marks) - 2)]
    skips = [visible_lines.count("skip", (marks[index], marks[index + 2])) for index in range(len(marks) - 2)]
    runs = [visible_lines.count("run", run) for run in code_line.character_ngrams]
    names = [name for _, name in code_line.names]
    return [
        sum(math.log(share[token]) for token in code_line.tokens),
        sum(
            math.log((count + SMOOTHING_STRENGTH * share[token]) / (alone[before] + SMOOTHING_STRENGTH))
            for count, (before, token) in zip(pairs, pairwise(marks), strict=True)
        ),
        sum(math.log((three + 0.1) / (two + 1)) for three, two in zip(threes, pairs, strict=False)),
        sum(math.log1p(count) for count in skips),
        sum(math.log((count + 0.1) / 10) for count in runs),
        sum(math.log1p(visible_lines.count("names", pair)) for pair in pairwise(names)),
        sum(
            math.log1p(visible_lines.count("together", (name, other)))
            for name in set(names)
            for other in set(names)
            if name < other
        ),
        float(sum(count > 0 for count in pairs)),
        float(sum(count > 0 for count in threes)),
        float(sum(count > 0 for count in runs)),
        float(visible_lines.count("whole", code_line.tokens) > 0),
        float(sum(alone[token] == 0 for token in code_line.tokens)),
    ]


def _name_features(code_line: CodeLine, position: int, visible_lines: VisibleLines) -> list[float]:
    lines, hunk = visible_lines.context.lines, visible_lines.context.hunk_numbers
    totals = [0.0] * 6
    before = none_before = after = none_after = nearest = next_to = 0.0
    firsts: list[float] = []
    recents: list[float] = []
    for _, name in code_line.names:
        places = visible_lines.lines_with_name(name)
        marks = [lines[where][0] for where in places]
        totals[0] += math.log1p(len(places))
        for column, mark in enumerate("+- ", start=1):
            totals[column] += math.log1p(marks.count(mark))
        totals[4] += math.log1p(sum(hunk[where] == hunk[position] for where in places))
        totals[5] += not places
        here = bisect_left(places, position)
        back = math.log1p(position - places[here - 1]) if here else 6.0
        forth = math.log1p(places[here] - position) if here < len(places) else 6.0
        before, after, nearest = before + back, after + forth, nearest + min(back, forth)
        none_before += not here
        none_after += here == len(places)
        next_to += min(back, forth) < 1
        firsts.append(places[0] if places else 1e6)
        recents.append(-back)
    return [
        *totals, before, none_before, after, none_after, nearest, next_to, _order_score(firsts), _order_score(recents),
    ]  # fmt: skip


def _order_score(values: Sequence[float]) -> float:
    """Return the number of pairs in ascending order minus those in descending order."""
    return float(
        sum(
            (later > earlier) - (later < earlier)
            for index, earlier in enumerate(values)
            for later in values[index + 1 :]
        )
    )


# Long: one entry for each feature, in the order of their names.
def _content_features(code_line: CodeLine) -> list[float]:
    names = [name for _, name in code_line.names]
    tokens = code_line.tokens
    lengths = [float(len(name)) for name in names]
    styles = [(name[:1].isupper(), "_" in name, name.isupper()) for name in names]
    receiver = target = callee = arguments = 0.0
    assigned = tokens.index("=") if "=" in tokens else None
    targets = frozenset[str]().union(
        *(name_words(name) for index, name in code_line.names if assigned is not None and index < assigned)
    )
    called: frozenset[str] = frozenset()
    previous = None
    for index, name in code_line.names:
        own = name_words(name)
        if index >= 2 and tokens[index - 1] == "." and previous is not None:
            receiver += len(own & name_words(previous))
        if assigned is not None and index > assigned:
            target += len(own & targets)
        if index + 1 < len(tokens) and tokens[index + 1] == "(":
            called = own
        else:
            callee += len(own & called)
        if index >= 1 and tokens[index - 1] == "," and previous is not None:
            arguments += (name.casefold() > previous.casefold()) - (name.casefold() < previous.casefold())
        previous = name
    digits = [token for token in tokens if token.isdigit()]
    return [
        _order_score([float(sum(name.casefold() > other.casefold() for other in names)) for name in names]),
        sum(index * length for index, length in enumerate(lengths)) / max(len(lengths), 1),
        float(bool(lengths) and lengths[0] == max(lengths)),
        sum(index * length for (index, _), length in zip(code_line.names, lengths, strict=True)) / max(len(tokens), 1),
        float(bool(styles) and styles[0][0]),
        float(sum(index for index, style in enumerate(styles) if style[0])),
        float(sum(left == right for left, right in pairwise(styles))),
        float(sum(len(name_words(left) & name_words(right)) for left, right in pairwise(names) if left != right)),
        receiver,
        target,
        callee,
        float(len(tokens) - len(set(tokens))),
        float(len(tokens) - 1 - len(set(pairwise(tokens)))),
        float(sum(names[index] in names[max(index - 2, 0) : index] for index in range(len(names)))),
        float(sum(left == right for left, right in pairwise(names))),
        arguments,
        float(len(code_line.text)),
        float(len(tokens)),
        float(sum(map(str.isdigit, code_line.text))),
        sum(math.log1p(int(token[:18])) for token in digits),
        float(sum(token[-1] == "0" for token in digits)),
        float(sum(map("([{".count, tokens)) - sum(map(")]}".count, tokens))),
    ]
