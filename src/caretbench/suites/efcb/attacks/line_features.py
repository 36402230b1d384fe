"""Numbers that an attacker counts on a line without reading the question: features of GMCQ-Hard's differing lines.

Each is summed over the lines in which a choice differs from others. The selection of edits, the learned attackers and
the leak report use the same functions.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from caretbench.suites.efcb.attacks.line_context import Known, LineContext, Numbers, Read, parts, read
from caretbench.suites.efcb.attacks.near_features import NEAR_FEATURES, near_numbers
from caretbench.suites.efcb.attacks.plausibility import ORDERS, STRENGTH, UNSEEN, Without

_TOKENS: Final = (
    "<", ">", "=", "!", "&", "|", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", "[", "{", "_",
    "and", "or", "not", "in", "is", "if", "else", "return", "true", "false", "True", "False",
    "nil", "null", "None", "undefined", "this", "self", "0", "1", "2",
)  # fmt: skip
"""Tokens whose number in a line is a feature: edits of operators and constants change it."""
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
_REPOSITORY: Final = tuple(f"repository_{order}gram" for order in ORDERS)
FEATURES: Final = (
    *_COUNTED,
    *(f"token {token}" for token in _TOKENS),
    *(f"pair {pair}" for pair in _PAIRS),
    *_LIKE,
    *_REPOSITORY,
    "combined",
    *NEAR_FEATURES,
)
"""The names of the features, in the order of the numbers."""
_NEAR: Final = 4


def features(context: LineContext, background: Without, lines: Sequence[tuple[int, str, Known]]) -> Numbers:
    """The features of lines, a row for each: by place in the patch, text without its mark, and what is known there."""
    if not lines:
        return np.zeros((0, len(FEATURES)))
    texts = [text for _, text, _ in lines]
    counted = np.array([_counted(read(text), place, known) for place, text, known in lines])
    tokens = np.array([_closed(read(text)) for text in texts])
    repository = background.log_likelihoods(texts)
    if repository.shape[1] != len(texts):  # a line without a token has no column
        repository = np.stack([background.log_likelihoods([text]).sum(axis=1) for text in texts], axis=1)
    repository = repository.T
    combined = repository[:, ORDERS.index(3)] + counted[:, _COUNTED.index("question_pairs")]
    near = np.array([near_numbers(read(text), place, known) for place, text, known in lines])
    found: Numbers = np.concatenate(
        (counted, tokens, _alike(context, lines), repository, combined[:, None], near), axis=1
    )
    return np.round(found, 6)


def _closed(one: Read) -> list[float]:
    numbers = Counter(one.tokens)
    squeezed = "".join(one.text.split())
    return [*(float(numbers[token]) for token in _TOKENS), *(float(squeezed.count(pair)) for pair in _PAIRS)]


def _alike(context: LineContext, lines: Sequence[tuple[int, str, Known]]) -> Numbers:
    """Return how like each line the lines are that are known: the most, by mark, and near it."""
    square = context.likeness([" ".join(read(text).tokens) for _, text, _ in lines])
    found = np.zeros((len(lines), len(_LIKE)))
    for row, (place, _, known) in enumerate(lines):
        values = np.where(known.kept, square[row], 0.0)
        if not values.size:
            continue
        top = np.partition(values, -min(2, values.size))
        found[row, 0] = values.max()
        found[row, 1] = top[-2] if values.size > 1 else 0.0
        for column, mark in enumerate("+- ", start=2):
            found[row, column] = values[context.marks == mark].max(initial=0.0)
        here = int(np.searchsorted(context.places, place))
        found[row, 5] = values[max(here - 1, 0) : here].max(initial=0.0)
        found[row, 6] = values[here + 1 : here + 2].max(initial=0.0)
        found[row, 7] = values[max(here - _NEAR, 0) : here + _NEAR + 1].max(initial=0.0)
    return found


def _counted(one: Read, place: int, known: Known) -> list[float]:
    return [
        *_grams(one, known),
        *_mentions(one, place, known),
        *_inside(one),
        float(known.squeezed(" ".join(one.tokens))),
    ]


# Long: one entry for each feature, in the order of their names.
def _grams(one: Read, known: Known) -> list[float]:
    marks = ("\n", *one.tokens, "\r")
    total = max(known.context.total, 1)
    alone = {token: known.count("token", token) for token in set(marks)}
    share = {token: (count + STRENGTH * UNSEEN) / (total + STRENGTH) for token, count in alone.items()}
    pairs = [known.count("pair", pair) for pair in pairwise(marks)]
    threes = [known.count("three", marks[index : index + 3]) for index in range(len(marks) - 2)]
    skips = [known.count("skip", (marks[index], marks[index + 2])) for index in range(len(marks) - 2)]
    runs = [known.count("run", run) for run in one.runs]
    names = [name for _, name in one.names]
    return [
        sum(math.log(share[token]) for token in one.tokens),
        sum(
            math.log((count + STRENGTH * share[token]) / (alone[before] + STRENGTH))
            for count, (before, token) in zip(pairs, pairwise(marks), strict=True)
        ),
        sum(math.log((three + 0.1) / (two + 1)) for three, two in zip(threes, pairs, strict=False)),
        sum(math.log1p(count) for count in skips),
        sum(math.log((count + 0.1) / 10) for count in runs),
        sum(math.log1p(known.count("names", pair)) for pair in pairwise(names)),
        sum(
            math.log1p(known.count("together", (name, other)))
            for name in set(names)
            for other in set(names)
            if name < other
        ),
        float(sum(count > 0 for count in pairs)),
        float(sum(count > 0 for count in threes)),
        float(sum(count > 0 for count in runs)),
        float(known.count("whole", one.tokens) > 0),
        float(sum(alone[token] == 0 for token in one.tokens)),
    ]


def _mentions(one: Read, place: int, known: Known) -> list[float]:
    lines, hunk = known.context.lines, known.context.hunk
    totals = [0.0] * 6
    before = none_before = after = none_after = nearest = next_to = 0.0
    firsts: list[float] = []
    recents: list[float] = []
    for _, name in one.names:
        places = known.mentions(name)
        marks = [lines[where][0] for where in places]
        totals[0] += math.log1p(len(places))
        for column, mark in enumerate("+- ", start=1):
            totals[column] += math.log1p(marks.count(mark))
        totals[4] += math.log1p(sum(hunk[where] == hunk[place] for where in places))
        totals[5] += not places
        here = bisect_left(places, place)
        back = math.log1p(place - places[here - 1]) if here else 6.0
        forth = math.log1p(places[here] - place) if here < len(places) else 6.0
        before, after, nearest = before + back, after + forth, nearest + min(back, forth)
        none_before += not here
        none_after += here == len(places)
        next_to += min(back, forth) < 1
        firsts.append(places[0] if places else 1e6)
        recents.append(-back)
    return [
        *totals, before, none_before, after, none_after, nearest, next_to, _rising(firsts), _rising(recents),
    ]  # fmt: skip


def _rising(values: Sequence[float]) -> float:
    """Pairs in order less pairs out of order."""
    return float(
        sum(
            (later > earlier) - (later < earlier)
            for index, earlier in enumerate(values)
            for later in values[index + 1 :]
        )
    )


# Long: one entry for each feature, in the order of their names.
def _inside(one: Read) -> list[float]:
    names = [name for _, name in one.names]
    tokens = one.tokens
    lengths = [float(len(name)) for name in names]
    styles = [(name[:1].isupper(), "_" in name, name.isupper()) for name in names]
    receiver = target = callee = arguments = 0.0
    assigned = tokens.index("=") if "=" in tokens else None
    targets = frozenset[str]().union(
        *(parts(name) for index, name in one.names if assigned is not None and index < assigned)
    )
    called: frozenset[str] = frozenset()
    previous = None
    for index, name in one.names:
        own = parts(name)
        if index >= 2 and tokens[index - 1] == "." and previous is not None:
            receiver += len(own & parts(previous))
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
        _rising([float(sum(name.casefold() > other.casefold() for other in names)) for name in names]),
        sum(index * length for index, length in enumerate(lengths)) / max(len(lengths), 1),
        float(bool(lengths) and lengths[0] == max(lengths)),
        sum(index * length for (index, _), length in zip(one.names, lengths, strict=True))
        / max(len(tokens), 1),
        float(bool(styles) and styles[0][0]),
        float(sum(index for index, style in enumerate(styles) if style[0])),
        float(sum(left == right for left, right in pairwise(styles))),
        float(sum(len(parts(left) & parts(right)) for left, right in pairwise(names) if left != right)),
        receiver,
        target,
        callee,
        float(len(tokens) - len(set(tokens))),
        float(len(tokens) - 1 - len(set(pairwise(tokens)))),
        float(sum(names[index] in names[max(index - 2, 0) : index] for index in range(len(names)))),
        float(sum(left == right for left, right in pairwise(names))),
        arguments,
        float(len(one.text)),
        float(len(tokens)),
        float(sum(map(str.isdigit, one.text))),
        sum(math.log1p(int(token[:18])) for token in digits),
        float(sum(token[-1] == "0" for token in digits)),
        float(sum(map("([{".count, tokens)) - sum(map(")]}".count, tokens))),
    ]
