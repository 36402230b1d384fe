from __future__ import annotations

import math
import re

import pytest

from caretbench.build.validation.duplicates import RUN_TOKENS, TwinIndex


def index_of(*programs: tuple[str, str, str]) -> TwinIndex:
    index = TwinIndex()
    for name, group, text in programs:
        index.add(name, "python", group, text)
    return index


def test_words_make_twins_within_a_group_only() -> None:
    index = index_of(("one", "a", "alpha beta gamma delta"), ("far", "a", "rho sigma tau"), ("far2", "a", "omega psi"))
    text = "alpha beta gamma epsilon"
    twin = index.twin_of("new", "python", "a", text)
    assert twin is not None
    assert (twin.name, twin.kind) == ("one", "words")
    assert index.twin_of("new", "python", "b", text) is None
    assert index.twin_of("new", "go", "a", text) is None
    assert index.twin_of("new", "python", "a", text, related=["one"]) is None


def test_the_cosine_has_its_known_value() -> None:
    index = index_of(("one", "a", "alpha beta"))
    twin = index.twin_of("new", "python", "a", "alpha beta beta gamma")
    # Three programs with the new one counted: ln 3 for a word of one program, ln(3 / 1) for those of `one` too.
    weight = math.log(3)
    one = [weight, weight]
    new = [weight, (1 + math.log(2)) * weight, weight]
    expected = (one[0] * new[0] + one[1] * new[1]) / (math.hypot(*one) * math.hypot(*new))
    assert twin is not None
    assert twin.similarity == pytest.approx(expected)


def test_a_shared_run_of_tokens_makes_twins_across_groups_but_imports_do_not() -> None:
    run = " ".join(f"name{number}" for number in range(RUN_TOKENS))
    index = index_of(("one", "a", f"first\n{run}\nlast"))
    other = f"{' '.join(f'other{number}' for number in range(400))}\n{run}"
    twin = index.twin_of("new", "python", "b", other)
    assert twin is not None
    assert twin.name == "one"
    imports = "\n".join(f"import module{number}" for number in range(RUN_TOKENS))
    index = index_of(("one", "a", f"{imports}\nalpha"))
    assert index.twin_of("new", "python", "b", f"{imports}\n{' '.join(f'w{n}' for n in range(900))}") is None


def test_a_program_is_no_twin_of_itself_and_a_removed_one_of_nobody() -> None:
    index = index_of(("one", "a", "alpha beta gamma"), ("two", "a", "rho sigma"))
    assert index.twin_of("one", "python", "a", "alpha beta gamma") is None
    assert index.twin_of("new", "python", "a", "alpha beta gamma") is not None
    index.remove("one")
    assert index.twin_of("new", "python", "a", "alpha beta gamma") is None


_PROGRAM = """def ledger(rows, limit):
    total = 0
    for row in rows:
        if row.amount > limit:
            total += row.amount - limit
        elif row.amount < 0:
            raise ValueError(row.amount)
    return total, len(rows)
"""
_RENAMED = {"ledger": "harbour", "rows": "ships", "limit": "draft", "total": "sum_of", "row": "ship", "amount": "depth"}


def test_a_copy_with_other_names_is_a_twin_and_a_sibling_may_be_one() -> None:
    renamed = re.sub(r"\w+", lambda word: _RENAMED.get(word[0], word[0]), _PROGRAM)
    index = index_of(("one", "a", _PROGRAM))
    twin = index.twin_of("new", "python", "b", renamed)
    assert twin is not None
    assert (twin.name, twin.kind, twin.similarity) == ("one", "5-grams without names", 1.0)
    assert index.twin_of("new", "python", "b", renamed, related=["one"]) is None
    other = "def f(a):\n    with open(a) as b:\n        return [c.strip() for c in b if c][1:-1]\n" * 2
    assert index.twin_of("new", "python", "b", other) is None


def test_one_changed_token_of_a_short_program_makes_no_other_program() -> None:
    """No run is long enough, and related programs may have the same words; the 5-grams say that it is a copy."""
    words = [f"word{number}" for number in range(2 * RUN_TOKENS - 10)]
    changed = [*words[: RUN_TOKENS - 5], "other", *words[RUN_TOKENS - 4 :]]
    index = index_of(("one", "a", " ".join(words)))
    twin = index.twin_of("new", "python", "a", " ".join(changed), related=["one"])
    assert twin is not None
    assert (twin.name, twin.kind) == ("one", "5-grams")


def test_a_removed_program_is_out_of_the_word_counts() -> None:
    index, fresh = (index_of(("one", "a", "alpha beta gamma"), ("far", "a", "rho sigma")) for _ in range(2))
    index.add("gone", "python", "a", "alpha alpha beta")
    index.remove("gone")
    assert index.twin_of("new", "python", "a", "alpha beta") == fresh.twin_of("new", "python", "a", "alpha beta")
