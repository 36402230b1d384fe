"""Likeness by words: against reference formulas, and whatever the order of the patches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.suites.efcb.build.choices.gmcq_easy import ChangeCorpus
from caretbench.suites.efcb.lexical_similarity import PatchCorpus, file_titles, split_words, word_distances

TEXTS = ("open the file file", "close the file", "unrelated words here", "")
PATCHES = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12).map(" ".join), min_size=1, max_size=8)


def test_identifiers_are_parted_at_humps_and_underscores() -> None:
    assert split_words("maxPortRange HTTPServer snake_case v2 Größe IPv6") == [
        "max", "port", "range", "http", "server", "snake", "case", "v", "2", "gr", "öß", "e", "i", "pv", "6",
    ]  # fmt: skip


def test_tfidf_is_the_cosine_of_its_formula() -> None:
    idf = {word: math.log(5 / (1 + held)) + 1 for word, held in {"open": 1, "the": 2, "file": 2}.items()}
    weights = {"open": idf["open"], "the": idf["the"], "file": (1 + math.log(2)) * idf["file"]}
    length = math.sqrt(sum(value**2 for value in weights.values()))
    scores = PatchCorpus(TEXTS).tfidf("open missing")
    assert scores[0] == pytest.approx(weights["open"] / length)
    assert list(scores[1:]) == [0, 0, 0]
    assert PatchCorpus(TEXTS).tfidf("open the file file")[0] == pytest.approx(1)


def test_likeness_of_patches() -> None:
    corpus = ChangeCorpus(TEXTS)
    square = corpus.pairwise_scores(np.arange(3), np.arange(3))
    assert square[0, 1] == pytest.approx(corpus.tfidf(TEXTS[0])[1])
    assert np.diag(square) == pytest.approx([1, 1, 1])
    assert square[0, 2] == 0


@settings(deadline=None, max_examples=50)
@given(PATCHES, st.randoms(use_true_random=False), st.sampled_from(["a b c", "h", "", "z"]))
def test_the_order_of_patches_changes_nothing(texts: list[str], random: object, asked: str) -> None:
    order = list(range(len(texts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    first, second = PatchCorpus(texts), PatchCorpus([texts[index] for index in order])
    assert list(first.tfidf(asked)[order]) == list(second.tfidf(asked))
    assert (first.tfidf(asked) <= 1 + 1e-9).all()


def test_nothing_is_like_nothing() -> None:
    assert list(PatchCorpus([]).tfidf("a")) == []
    assert list(PatchCorpus(["", ""]).tfidf("a")) == [0, 0]


def test_paths_are_those_of_the_shown_files() -> None:
    text = "a/b.go\n@@ -1,2 +1,1 @@\n x\n---\n-y\n---\nold.go => new.go\n@@ -1 +1 @@\n-x\n+y\n---\n"
    assert file_titles(text) == ["a/b.go", "old.go => new.go"]


def test_distances_count_words() -> None:
    square = word_distances(["a b c", "a  x\nc", "a b c d", "b a c", ""])
    assert square.tolist()[0] == [0, 1, 1, 2, 3]
    assert (square == square.T).all()
    many = " ".join(map(str, range(60_000)))
    assert word_distances([many, many[6:]])[0, 1] > 0


def test_many_texts_at_a_time_score_as_each_alone() -> None:
    corpus, asked = ChangeCorpus(TEXTS), ["open the file", "close file file", "words", ""]
    alone = np.array([corpus.tfidf(text) for text in asked])
    vectors, every = corpus.query_vectors(asked), np.arange(4)
    assert corpus.own_scores(vectors) == pytest.approx(np.diag(alone))
    left, right = np.repeat(every, 4), np.tile(every, 4)
    assert corpus.pairwise_scores(every, every, vectors).ravel() == pytest.approx(alone[left, right])
