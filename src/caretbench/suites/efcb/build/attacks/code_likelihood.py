"""Likelihood of lines of code by n-gram models, a way to guess a choice without understanding it.

There are two models of n-grams of tokens, both line by line: one of the repository (orders 2 to 4), one of the
question, from the lines that its choices share. GMCQ-Hard is balanced on these scores, and the leak report uses them.

Smoothing is Dirichlet's at every order: ``p(c|ab) = (n(abc) + K p(c|b)) / (n(ab) + K)``, down to
an equal share for unseen tokens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from caretbench.build.sources.pull_request import PullRequest
from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.floors import (
    SMOOTHING_STRENGTH,
    UNSEEN_SHARE,
    QuestionNgrams,
    code_lines,
    split_shared_lines,
    tokenize,
)

MAX_TOKENS: Final = 6_000_000
"""Maximum number of tokens of a repository that are counted, to bound the memory."""

NGRAM_ORDERS: Final = (4, 3, 2)
"""Orders of the repository's n-gram models."""
LIKELIHOOD_SCORERS: Final = (
    "repository_fourgram",
    "repository_trigram",
    "repository_bigram",
    "in_question",
    "combined",
)
"""Names of likelihood scorers; ``combined`` is the sum of ``repository_trigram`` and ``in_question``."""

_UNKNOWN, _BEGIN, _END = 0, 1, 2
_MULTIPLIER: Final = np.int64(1_099_511_628_211)  # a prime: hashes of different n-grams rarely collide
_LONGEST: Final = max(NGRAM_ORDERS)

Keys = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class _TokenWindows:
    """Each token with the tokens before it; lines have marks at start and end."""

    def __init__(self, lines: Iterable[Sequence[int]]) -> None:
        flat: list[int] = []
        for line in lines:
            flat += (*(_BEGIN,) * (_LONGEST - 1), *line, _END)
        array = np.array(flat, dtype=np.int64)
        columns = [array[start : len(array) - _LONGEST + 1 + start] for start in range(_LONGEST)]
        inside = columns[-1] != _BEGIN
        self._columns = [column[inside] for column in columns]

    def __len__(self) -> int:
        return len(self._columns[-1])

    def grams(self, order: int) -> Keys:
        """Return a hash of each token with the ``order - 1`` before it."""
        return _hashed(self._columns[-order:])

    def contexts(self, order: int) -> Keys:
        """Return a hash of the ``order - 1`` tokens before each token."""
        return _hashed(self._columns[-order:-1])


def _hashed(columns: Sequence[Keys]) -> Keys:
    keys = np.zeros_like(columns[0])
    for column in columns:
        keys = (keys ^ column) * _MULTIPLIER
    return keys


class _CountTable:
    """Counts by key in sorted arrays: 16 bytes for each key."""

    def __init__(self, keys: Keys) -> None:
        self._keys, self._counts = np.unique(keys, return_counts=True)

    def of(self, keys: Keys) -> FloatArray:
        if not len(self._keys):
            return np.zeros(len(keys))
        positions = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[positions] == keys, self._counts[positions], 0).astype(np.float64)


class _NgramCounts:
    """Counts of n-grams and of their contexts."""

    def __init__(self, windows: _TokenWindows) -> None:
        self.grams = {order: _CountTable(windows.grams(order)) for order in range(1, _LONGEST + 1)}
        self.contexts = {order: _CountTable(windows.contexts(order)) for order in range(2, _LONGEST + 1)}
        self.total = len(windows)


class RepositoryNgrams:
    """N-gram counts of a repository's texts, in the order of the texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._read: set[int] = set()
        self._words: dict[str, int] = {"": _UNKNOWN, "\n": _BEGIN, "\r": _END}
        self._counts = _NgramCounts(_TokenWindows(self._learn(texts)))

    def _learn(self, texts: Iterable[str]) -> Iterator[list[int]]:
        words = self._words
        left = MAX_TOKENS
        for text in texts:
            for line in text.split("\n"):
                found = [words.setdefault(token, len(words)) for token in tokenize(line)]
                if found:
                    left -= len(found)
                    yield found
            self._read.add(hash(text))
            if left <= 0:
                return

    def _encoded(self, lines: Iterable[str]) -> list[list[int]]:
        return [[self._words.get(token, _UNKNOWN) for token in tokenize(line)] for line in lines]

    def excluding(self, *texts: str) -> CodeModel:
        """Return the code model without some texts: a question's own change must not answer it.

        Texts beyond the maximum number of tokens were not counted, and are ignored.
        """
        read = sorted({text for text in texts if hash(text) in self._read})
        return CodeModel(self, [line for text in read for line in text.split("\n") if tokenize(line)])


class CodeModel:
    """N-gram model of a repository's code without some lines."""

    def __init__(self, code_model: RepositoryNgrams, lines: Sequence[str]) -> None:
        self._background = code_model
        self._less = _NgramCounts(_TokenWindows(code_model._encoded(lines))) if lines else None

    def log_likelihoods(self, lines: Sequence[str]) -> FloatArray:
        """Return the natural log probability of each line: a row for each order, a column for each line."""
        encoded = self._background._encoded(lines)
        if not encoded:
            return np.zeros((len(NGRAM_ORDERS), 0))
        windows = _TokenWindows(encoded)
        counts, less = self._background._counts, self._less

        def seen(kind: Literal["grams", "contexts"], order: int) -> FloatArray:
            keys = getattr(windows, kind)(order)
            found: FloatArray = getattr(counts, kind)[order].of(keys)
            return found if less is None else np.maximum(found - getattr(less, kind)[order].of(keys), 0.0)

        total = max(counts.total - (less.total if less else 0), 0)
        shares = {1: (seen("grams", 1) + SMOOTHING_STRENGTH * UNSEEN_SHARE) / (total + SMOOTHING_STRENGTH)}
        for order in range(2, _LONGEST + 1):
            shares[order] = (seen("grams", order) + SMOOTHING_STRENGTH * shares[order - 1]) / (
                seen("contexts", order) + SMOOTHING_STRENGTH
            )
        starts = np.cumsum([0, *(len(line) + 1 for line in encoded[:-1])])
        return np.stack([np.add.reduceat(np.log(shares[order]), starts) for order in NGRAM_ORDERS])


class CodeModels:
    """Code models of repositories, built on demand; only two are cached, so request them by repository.

    Balancing of GMCQ-Hard and the leak report use the same texts.
    """

    def __init__(self, records: Iterable[PullRequest]) -> None:
        self._records: dict[str, dict[str, PullRequest]] = defaultdict(dict)
        for pull in records:
            self._records[pull.repo][pull.merge_sha] = pull
        self._of = lru_cache(maxsize=2)(self._count_ngrams)

    def excluding(self, repo: str, *pulls: PullRequest) -> CodeModel:
        """Return the model of a repository without some changes; an unknown repository has an empty one."""
        return self._of(repo).excluding(*map(_text, pulls))

    def _count_ngrams(self, repo: str) -> RepositoryNgrams:
        members = self._records.get(repo, {})
        return RepositoryNgrams(_text(members[sha]) for sha in sorted(members))


def _text(pull: PullRequest) -> str:
    return "\n".join(code_lines(render_patch(pull).text))


def likelihood_scores(choices: Sequence[str], code_model: CodeModel) -> Mapping[str, tuple[float, ...]]:
    """Return the log-likelihood of each choice's own lines by each of :data:`LIKELIHOOD_SCORERS`."""
    shared, apart = split_shared_lines(choices)
    repository = np.stack([code_model.log_likelihoods(lines).sum(axis=1) for lines in apart], axis=1)
    inside = QuestionNgrams(shared).log_likelihoods(apart)
    combined = [one + other for one, other in zip(repository[NGRAM_ORDERS.index(3)].tolist(), inside, strict=True)]
    return dict(zip(LIKELIHOOD_SCORERS, map(tuple, (*repository.tolist(), inside, combined)), strict=True))
