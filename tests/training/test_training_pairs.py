from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from caretbench.errors import UsageError
from caretbench.files import read_rows
from caretbench.progress import Progress
from caretbench.training.pair_making import PairOptions
from caretbench.training.pair_set import PairSet, make_pair_set, parse_shares, token_tables
from caretbench.training.pairs import DEFAULT_SHARES, TrainingPair

MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal in it. "
    "The above copyright notice and this permission notice shall be included in all copies."
)
GPL = "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n"
PYTHON = "".join(
    f'def total_{n}(values):\n    """Return the sum, über {n}."""\n    total = {n}\n    for value in values:\n'
    f"        if value > {n}:\n            total += value\n    return total\n\n\n"
    for n in range(12)
)
RUST = "".join(
    f"fn step_{n}(value: i64) -> i64 {{\n    let twice = value * {n};\n    twice + 1\n}}\n\n" for n in range(12)
)


def project(folder: Path, licence: str = f"MIT License\n\n{MIT}") -> Path:
    folder.mkdir()
    files = {
        "LICENSE": licence,
        "total.py": PYTHON,
        "windows.py": PYTHON.replace("total", "whole").replace("\n", "\r\n"),
        "again.py": PYTHON,
        "steps.rs": RUST,
        "long.py": f"# {'x' * 5000}\n{PYTHON}",
        "broken.py": PYTHON + "def (\n",
        "tiny.py": "x = 1\n",
        "key.py": f"{PYTHON}token = 'ghp_{'aB3dE6gH9' * 4}'\n",
    }
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    return folder


def made(sources: list[Path], output: Path, shares: dict[str, float] | None = None, context: int = 8_000) -> PairSet:
    chosen = parse_shares(f"{name}={share}" for name, share in (shares or {}).items())
    options = PairOptions(per_file=40, shares=chosen, context=context, seed=3)
    return make_pair_set([str(source) for source in sources], output, options, Progress())


def test_each_middle_stands_in_its_file(tmp_path: Path) -> None:
    folder = project(tmp_path / "mine")
    result = made([folder], tmp_path / "pairs")
    pairs = list(read_rows(tmp_path / "pairs/pairs.jsonl", TrainingPair))
    assert len(pairs) == result.pairs > 80
    assert len({pair.id for pair in pairs}) == len(pairs)
    for pair in pairs:
        text = (folder / pair.path).read_text().replace("\r\n", "\n")
        start, end = map(int, pair.id.removesuffix("/asked").rpartition("/")[2].split("-"))
        assert (pair.prefix + pair.middle + pair.suffix == text) is not pair.cut
        assert (text[:start].endswith(pair.prefix), text[start:end]) == (True, pair.middle)
        assert text[end:].startswith(pair.suffix)
        assert pair.middle.strip()
        assert (pair.instruction is not None) is (pair.boundary == "instruction")
        assert pair.licence == "MIT"
    counts = Counter(pair.boundary for pair in pairs if pair.language == "python")
    assert set(counts) == {name for name, share in DEFAULT_SHARES.items() if share}
    assert "instruction" not in {pair.boundary for pair in pairs if pair.language == "rust"}


def test_what_no_model_should_learn_is_passed_over(tmp_path: Path) -> None:
    source = made([project(tmp_path / "mine")], tmp_path / "pairs").sources[0]
    # The first of two equal files in the order of their names stays.
    pairs = read_rows(tmp_path / "pairs/pairs.jsonl", TrainingPair)
    assert {pair.path for pair in pairs} == {"again.py", "steps.rs", "windows.py"}
    assert source.files == 3
    assert sum(source.passed_over.values()) == 5
    assert any("line" in reason for reason in source.passed_over)


@pytest.mark.parametrize(
    "licence", ["", "All rights reserved.", "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n"]
)
def test_a_source_that_may_not_be_passed_on_is_refused(licence: str, tmp_path: Path) -> None:
    source = project(tmp_path / "theirs", licence)
    result = made([source], tmp_path / "pairs")
    assert result.pairs == 0
    assert result.sources[0].refused
    # A set without a pair is none: the same command may be given again.
    (source / "LICENSE").write_text(f"MIT License\n\n{MIT}")
    assert made([source], tmp_path / "pairs").pairs


def test_a_part_under_another_licence_is_passed_over(tmp_path: Path) -> None:
    source = project(tmp_path / "mine")
    for name, licence in (("theirs", GPL), ("given", f"MIT License\n\n{MIT}")):
        (source / name / "inner").mkdir(parents=True)
        (source / name / "LICENSE").write_text(licence)
        (source / name / "inner/code.py").write_text(PYTHON.replace("total", name))
    (source / "head.py").write_text(f"# SPDX-License-Identifier: GPL-3.0-or-later\n{PYTHON}")
    (source / "apache.py").write_text(f"# SPDX-License-Identifier: Apache-2.0\n{PYTHON}")
    (source / "made.py").write_text(f"# Code generated by a tool. DO NOT EDIT.\n{PYTHON}")
    result = made([source], tmp_path / "pairs").sources[0]
    pairs = list(read_rows(tmp_path / "pairs/pairs.jsonl", TrainingPair))
    files = {pair.path: pair.licence for pair in pairs}
    assert {path for path in files if path not in ("again.py", "steps.rs", "windows.py")} == {
        "apache.py", "given/inner/code.py"
    }  # fmt: skip
    assert files["apache.py"] == "Apache-2.0"
    assert sum(count for reason, count in result.passed_over.items() if "GPL-3.0" in reason) == 2
    assert result.passed_over["generated by a tool"] == 1


def test_folders_of_one_name_have_pairs_of_their_own(tmp_path: Path) -> None:
    sources = [project(tmp_path / name / "src") for name in ("one", "two") if not (tmp_path / name).mkdir()]
    (sources[1] / "again.py").write_text(PYTHON.replace("total", "other"))
    made(sources, tmp_path / "pairs")
    pairs = list(read_rows(tmp_path / "pairs/pairs.jsonl", TrainingPair))
    assert {pair.source for pair in pairs} == {"src", "src-2"}
    assert len({pair.id for pair in pairs}) == len(pairs)


def test_rewrites_are_programs_that_do_what_the_file_does(tmp_path: Path) -> None:
    folder = project(tmp_path / "mine")
    made([folder], tmp_path / "pairs", {"rewrite": 1, "line": 0.01})
    pairs = [one for one in read_rows(tmp_path / "pairs/pairs.jsonl", TrainingPair) if one.boundary == "rewrite"]
    assert len({pair.instruction for pair in pairs}) > 2
    for pair in pairs:
        text = (folder / pair.path).read_text().replace("\r\n", "\n")
        changed = pair.prefix + pair.middle + pair.suffix
        assert changed != text
        results = []
        for program in (text, changed):
            space: dict[str, Callable[[list[int]], int]] = {}
            exec(program, space)  # noqa: S102 - the program of this module
            results.append([one([1, 5, 30]) for name, one in space.items() if name.startswith(("total_", "whole_"))])
        assert results[0] == results[1]


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    folder = project(tmp_path / "mine")
    made([folder], tmp_path / "one")
    made([folder], tmp_path / "two")
    assert (tmp_path / "one/pairs.jsonl").read_bytes() == (tmp_path / "two/pairs.jsonl").read_bytes()


def test_a_long_file_is_cut_at_lines(tmp_path: Path) -> None:
    made([project(tmp_path / "mine")], tmp_path / "pairs", {"line": 1}, context=300)
    for pair in read_rows(tmp_path / "pairs/pairs.jsonl", TrainingPair):
        assert len(pair.prefix) + len(pair.suffix) <= 300
        text = PYTHON if pair.path == "again.py" else None
        if text:
            before = text[: text.index(pair.prefix + pair.middle)]
            assert before == "" or before.endswith("\n")


def test_middles_of_blocks_begin_and_end_lines(tmp_path: Path) -> None:
    made([project(tmp_path / "mine")], tmp_path / "pairs", {"block": 1})
    pairs = list(read_rows(tmp_path / "pairs/pairs.jsonl", TrainingPair))
    assert {pair.language for pair in pairs} == {"python", "rust"}
    for pair in pairs:
        assert not pair.prefix.rpartition("\n")[2].strip()
        assert not pair.suffix.partition("\n")[0].strip()
        assert 2 <= pair.middle.count("\n") + 1 <= 30


def test_lengths_and_shares_are_tables(tmp_path: Path) -> None:
    result = made([project(tmp_path / "mine")], tmp_path / "pairs")
    lengths, boundaries, languages = token_tables(result.path, len, "characters")
    assert [row[0] for row in lengths.rows] == ["context", "middle", "instruction"]
    assert sum(int(row[1]) for row in boundaries.rows) == sum(int(row[1]) for row in languages.rows) == result.pairs
    manifest = json.loads((tmp_path / "pairs/pairs.json").read_text())
    assert manifest["pairs"] == result.pairs


@pytest.mark.parametrize("share", ["block", "block=no", "block=-1", "word=1", "block=0", "block=nan"])
def test_a_wrong_share_is_named(share: str) -> None:
    with pytest.raises(UsageError, match=re.escape("--share")):
        parse_shares([share])


def test_pairs_are_not_overwritten(tmp_path: Path) -> None:
    folder = project(tmp_path / "mine")
    made([folder], tmp_path / "pairs")
    with pytest.raises(UsageError, match="already"):
        made([folder], tmp_path / "pairs")
