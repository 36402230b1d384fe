"""Weights of a mix and the sample that follows them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.suites.codevbench.code_blocks import BlockKind, CodeBlock
from caretbench.suites.codevbench.cuts import Cut, HiddenSpan
from caretbench.suites.codevbench.miner import CodevMiner, SpanSampling
from caretbench.suites.codevbench.mix_weights import SHIPPED, Weights, read_weights
from caretbench.suites.codevbench.weighted_sample import weighted_sample
from caretbench.syntax import Span, analyse
from caretbench.syntax.source import SourceFile


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


@pytest.mark.parametrize("name", SHIPPED)
def test_weights_that_ship(name: str) -> None:
    weights = read_weights(name)
    assert weights.name == name
    assert weights.cut.empty == pytest.approx(0.25 * sum(weights.cut.model_dump().values()))


def test_usage_has_the_shares_that_the_paper_prints() -> None:
    usage = read_weights("usage")
    assert (usage.block.statement, usage.block.method) == (68.51, 5.71)
    control = sum(getattr(usage.block, name) for name in ("if_", "for_", "while_", "try_", "catch"))
    assert control == pytest.approx(6.53)
    assert usage.block.argument_list + usage.block.partial_line == pytest.approx(32.35)
    assert usage.line.whole == usage.line.partial


def test_a_sample_has_the_shares_of_the_weights() -> None:
    pool = spans({"method": 200, "statement": 200})
    even = Counter(one.block.kind for one in _sample(pool, read_weights("even"), limit=40))
    assert even == {"method": 20, "statement": 20}
    usage = Counter(one.block.kind for one in _sample(pool, read_weights("usage"), limit=130))
    assert usage["statement"] == 120


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
    assert weights.keeps("full_block", 0.99)
    assert not weights.keeps("rag", 0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("if = 1", "unless = 1"), "unless"),
        (("if = 1", "if = -1"), "finite numbers of 0 or more"),
        (("if = 1", "if = nan"), "finite numbers of 0 or more"),
        (("[cut]\ntoken = 1", ""), "cut.*even.toml has all names"),
        (("if = 1", "if = 0"), "one of them is more than 0"),
        (("name = ", "name "), "TOML"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "weights.toml"
    path.write_text(FILE.replace(*change))
    with pytest.raises(DataError, match=message) as raised:
        read_weights(str(path))
    assert str(path) in str(raised.value)
    with pytest.raises(DataError, match="no such file of weights"):
        read_weights(str(tmp_path / "none.toml"))


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
    with pytest.raises(DataError, match="--weights mine: it draws none of the project's"):
        miner.find(["a.py"])
