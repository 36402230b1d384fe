"""Weights of a mix and the sample that follows them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.suites.codevbench.build.builder import codev_options
from caretbench.suites.codevbench.build.code_blocks import BlockKind, CodeBlock
from caretbench.suites.codevbench.build.miner import (
    CodevMiner,
    Cut,
    HiddenSpan,
    SpanSampling,
    becomes_problem,
    weighted_sample,
)
from caretbench.suites.usage_weights import Weights, read_weights
from caretbench.syntax import Span
from caretbench.syntax.analysis import analyse
from caretbench.syntax.source import SourceFile
from tests.support import shop_project
from tests.support.make_problem import make_problem


def spans(kinds: dict[BlockKind, int], cut: Cut = "block", path: str = "a.py") -> list[HiddenSpan]:
    return [
        HiddenSpan(CodeBlock(path, kind, Span(10 * n, 10 * n + 9)), cut, Span(10 * n, 10 * n + 9))
        for kind, count in kinds.items()
        for n in range(count)
    ]


def _sample(
    pool: list[HiddenSpan], weights: Weights, *, limit: int | None, per_file: int | None = None, seed: int = 0
) -> list[HiddenSpan]:
    return weighted_sample(pool, weights, limit=limit, per_file=per_file, seed=seed)[0]


def test_a_sample_has_the_shares_of_the_weights() -> None:
    pool = spans({"method": 200, "statement": 200})
    even = Counter(one.block.kind for one in _sample(pool, read_weights("even"), limit=40))
    assert even == {"method": 20, "statement": 20}
    usage = Counter(one.block.kind for one in _sample(pool, read_weights("usage"), limit=130))
    assert usage["statement"] == 120


def test_small_cells_have_their_share_together() -> None:
    control: tuple[BlockKind, ...] = ("if", "for", "while", "try", "catch")
    cuts: tuple[Cut, ...] = ("block", "statement", "token", "operator", "empty")
    pool = spans({"method": 40, "statement": 200, "argument_list": 100, "partial_line": 100})
    for cut in cuts:
        pool += spans(dict.fromkeys(control, 20), cut)
    drawn = [_sample(pool, read_weights("usage"), limit=120, seed=seed) for seed in range(10)]
    counts = [sum(one.block.kind in control for one in chosen) for chosen in drawn]
    assert min(counts) >= 4
    assert sum(counts) / 10 == pytest.approx(17, abs=2), "a seventh of the shares, whole and cut"
    few = [_sample(pool, read_weights("usage"), limit=20, seed=seed) for seed in range(10)]
    assert sum(one.cut != "block" for chosen in few for one in chosen) >= 5
    assert len({tuple(Counter(one.block.kind for one in chosen).items()) for chosen in few}) > 1


def test_what_no_problem_has_is_named() -> None:
    options = replace(shop_project.codev_options(), sampling=SpanSampling(9, None, read_weights("usage")))
    problem = make_problem().model_copy(update={"labels": {"block": "statement", "scenario": "full_block"}})
    first, second = options.missing([problem])
    assert "no problem of block method, if, for, while, try, catch, argument_list, partial_line" in first
    assert second.endswith("no problem of scenario inner_block, incomplete_suffix, rag")


def test_a_rare_kind_leaves_its_share_to_the_others() -> None:
    pool = spans({"while": 2, "statement": 50})
    chosen = Counter(one.block.kind for one in _sample(pool, read_weights("even"), limit=30))
    assert chosen == {"while": 2, "statement": 28}


def test_inner_blocks_have_the_share_of_their_scenario() -> None:
    pool = [*spans({"if": 500}), *spans({"if": 500}, "token"), *spans({"if": 500}, "empty")]
    chosen = Counter(one.cut for one in _sample(pool, read_weights("even"), limit=300))
    inner = chosen["token"] + chosen["empty"]
    assert chosen["block"] / inner == pytest.approx(312 / (530 * 0.5), rel=0.05)
    assert chosen["empty"] / chosen["token"] == pytest.approx(1, rel=0.1)


def test_files_are_sampled_evenly_and_within_their_limit() -> None:
    pool = [*spans({"if": 30}), *spans({"if": 30}, path="b.py")]
    chosen = Counter(one.block.path for one in _sample(pool, read_weights("even"), limit=20))
    assert chosen == {"a.py": 10, "b.py": 10}
    assert len(_sample(pool, read_weights("even"), limit=None, per_file=3)) == 6


def test_another_seed_gives_another_sample() -> None:
    pool = spans({"if": 100})
    samples = [_sample(pool, read_weights("even"), limit=10, seed=seed) for seed in (0, 0, 1)]
    assert samples[0] == samples[1]
    assert samples[0] != samples[2]


FILE = """\
name = "mine"
source = "our telemetry"
[block]
if = 1
[scenario]
full_block = 1
[cut]
token = 1
"""


def test_weights_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.toml"
    path.write_text(FILE)
    weights = read_weights(str(path))
    pool = [*spans({"if": 3, "for": 3}), *spans({"if": 3}, "token")]
    assert [(one.block.kind, one.cut) for one in _sample(pool, weights, limit=9)] == [("if", "block")] * 3
    assert becomes_problem(weights, "full_block", 0.99)
    assert not becomes_problem(weights, "rag", 0.01)


def test_unfit_spans_are_replaced_by_others() -> None:
    pool = spans({"if": 30})
    chosen, rejected = weighted_sample(
        pool, read_weights("even"), limit=None, fault=lambda one: "odd" if one.span.start % 20 else None
    )
    assert len(chosen) == rejected["odd"] == rejected.total() == 15
    assert all(one.span.start % 20 == 0 for one in chosen)


def test_weights_that_draw_nothing_are_named(tmp_path: Path) -> None:
    path = tmp_path / "weights.toml"
    path.write_text(FILE.replace("if = 1", "while = 1"))
    miner = CodevMiner(
        analyse([SourceFile("a.py", b"def f(a):\n    b = a + 1\n    return b * 2\n")]),
        SpanSampling(9, None, read_weights(str(path))),
    )
    with pytest.raises(DataError, match=r"--weights mine: .*project"):
        miner.find(["a.py"])


def test_a_mix_needs_shares_of_blocks(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[language]\ngo = 3\n")
    values = {"weights": str(path), "max_candidates": 0, "per_file": None, "seed": 0}
    with pytest.raises(DataError, match=r"mine\.toml: .*\[block\]"):
        codev_options(values)
