"""Problems as rows in the published layout, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.problem import ContextFile, FileSplice, Problem, TestsCheck
from caretbench.projects.file_spans import visible_text
from caretbench.suites.codevbench.build.exchange import RowSource, from_rows, read_test_names, to_rows, write_rows_out
from caretbench.suites.codevbench.suite import starter_problems
from tests.support.codev_problems import codev_problem

TEXT = 'def total(cart):\n    """Sum."""\n    found = 0\n    for one in cart:\n        found += one\n    return found\n'
CHECK = TestsCheck(command=("python3", "-m", "pytest", "-q"), junit=("r.xml",), minimum_tests=1)
FULL = "prefix_suffix_full_complete_current_block_no_evidence.jsonl"


def stored(folder: Path, data: bytes) -> tuple[SnapshotStore, Snapshot]:
    project = folder / "shop"
    (project / "shop").mkdir(parents=True, exist_ok=True)
    (project / "shop" / "cart.py").write_bytes(data)
    store = SnapshotStore(folder / "store")
    return store, store.add(project)


def source_of(snapshot: Snapshot, **more: Any) -> RowSource:
    return RowSource("shop", snapshot, CHECK, **more)


def row_of(**more: Any) -> dict[str, Any]:
    """A row as the paper prints it: the block is the loop of ``total``."""
    start, end = TEXT.index("for one"), TEXT.index("    return")
    before, middle, after = TEXT[:start], TEXT[start:end], TEXT[end:]
    place = "/data/Source_Code/shop/shop/cart.py"
    return {
        "func_name": f"{place}#L1-L6", "item_ids": ["tests/test_cart.py::test_total"], "block_key": f"{place}#L4-L5",
        "block_type": "FOR", "prefix": before, "suffix": after, "middle": middle, "test_prefix": before,
        "test_suffix": after, "test_middle": middle, **more,
    }  # fmt: skip


def read(folder: Path, rows: list[Mapping[str, Any]], source: RowSource, name: str = FULL) -> list[Problem]:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(from_rows(path, source))


LINES = st.lists(
    st.sampled_from(["x = 1", "    return 2", "é = 'ü'", "", "if a:", "\tb", "# 🙂"]), min_size=1, max_size=8
)


@st.composite
def files_with_spans(draw: st.DrawFn) -> tuple[bytes, int, int]:
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]]))
    text = "".join(line + draw(st.sampled_from(ends)) for line in draw(LINES))
    mark = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    between = (place for place in range(len(text) + 1) if text[max(place - 1, 0) : place + 1] != "\r\n")
    places = [len(mark) + len(text[:place].encode()) for place in between]
    start, end = sorted(draw(st.tuples(st.sampled_from(places), st.sampled_from(places))))
    return mark + text.encode(), start, end


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files_with_spans(), st.sampled_from(["full_block", "incomplete_suffix", "rag"]))
def test_out_and_in_gives_the_same_problems(tmp_path: Path, file: tuple[bytes, int, int], scenario: str) -> None:
    data, start, end = file
    store, snapshot = stored(tmp_path, data)
    problem = codev_problem(
        f"shop/cart.py:{scenario}", scenario=scenario, block="for", span=f"{start}-{end}",
        prefix=visible_text(data[:start]), suffix="" if scenario == "incomplete_suffix" else visible_text(data[end:]),
        reference=visible_text(data[start:end]),
    )  # fmt: skip
    context = (ContextFile(path="shop/other.py", text="def f(): pass\n"),) if scenario == "rag" else ()
    problem = problem.model_copy(
        update={
            "splice": FileSplice(snapshot=snapshot.id, path="shop/cart.py", start=start, end=end),
            "shown": problem.caret.model_copy(update={"context": context}),
        }
    )
    [row] = to_rows([problem], store)
    assert row["test_prefix"] + row["test_middle"] + row["test_suffix"] == visible_text(data)
    assert read(tmp_path, [row], source_of(snapshot)) == [problem]
    published = {name: value for name, value in row.items() if name != "caretbench"}
    if problem.reference.strip():  # a key of lines tells where
        [again] = read(tmp_path, [published], source_of(snapshot, scenario=(scenario, problem_cut(scenario))))
        assert (again.shown.prefix, again.shown.suffix) == (problem.caret.prefix, problem.caret.suffix)  # type: ignore[union-attr]
        assert (again.reference, again.label("block")) == (problem.reference, "for")
        assert isinstance(again.splice, FileSplice)
        assert (again.splice.start, again.splice.end) == (start, end)


def problem_cut(scenario: str) -> str:
    return "file_emptied" if scenario == "incomplete_suffix" else "block"


def test_the_starter_set_goes_out_and_in(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path / "store")
    problems = starter_problems(store)
    assert write_rows_out(tmp_path / "depot.jsonl", problems, store) == len(problems)
    snapshot = store.get(problems[0].splice.snapshot)  # type: ignore[union-attr]
    assert list(from_rows(tmp_path / "depot.jsonl", RowSource("depot", snapshot, CHECK))) == problems
    row = next(iter(to_rows(problems, store)))
    assert row["func_name"].startswith("parcels.py#L")
    assert row["prompt"].startswith("<filename>parcels.py<fim_prefix>")


def test_a_published_row_becomes_a_problem(tmp_path: Path) -> None:
    _, snapshot = stored(tmp_path, TEXT.encode())
    [problem] = read(tmp_path, [row_of()], source_of(snapshot))
    assert isinstance(problem.splice, FileSplice)
    assert problem.splice.content(TEXT.encode(), "pass\n") == row_of()["prefix"].encode() + b"pass\n    return found\n"
    labels = {
        name: problem.label(name) for name in ("scenario", "cut", "block", "block_class", "answer", "block_lines")
    }
    assert [*labels.values()] == ["full_block", "block", "for", "for", "code", "2"]
    assert problem.checks[0].tests == ("tests/test_cart.py::test_total",)  # type: ignore[union-attr]
    start, end = map(int, problem.released["block_span"].split("-"))
    assert TEXT[start:end] == "for one in cart:\n        found += one"


@pytest.mark.parametrize("field", ["item_ids", "item_dids", "unit_test_ids"])
def test_each_spelling_of_the_tests_is_read_and_ids_are_looked_up(tmp_path: Path, field: str) -> None:
    _, snapshot = stored(tmp_path, TEXT.encode())
    row = {name: value for name, value in row_of().items() if name != "item_ids"} | {field: [7]}
    (tmp_path / "tests.jsonl").write_text('{"did": "7", "relative_path": "tests/t.py", "func_path": "T::one"}\n')
    names = read_test_names(tmp_path / "tests.jsonl")
    [problem] = read(tmp_path, [row], source_of(snapshot, test_names=names))
    assert problem.checks[0].tests == ("tests/t.py::T::one",)  # type: ignore[union-attr]
    with pytest.raises(DataError, match=f"{FULL}:1: '7' is no test of pytest"):
        read(tmp_path, [row], source_of(snapshot))


def test_shown_and_executed_texts_stay_apart(tmp_path: Path) -> None:
    _, snapshot = stored(tmp_path, TEXT.encode())
    name = "prefix_full_suffix_empty_complete_current_block_no_evidence.jsonl"
    [problem] = read(tmp_path, [row_of(suffix="", prompt="anything")], source_of(snapshot), name)
    assert problem.caret.suffix == ""
    assert (problem.label("scenario"), problem.label("cut")) == ("incomplete_suffix", "file_emptied")
    splice = problem.splice
    assert isinstance(splice, FileSplice)
    assert splice.content(TEXT.encode(), problem.reference) == TEXT.encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_suffix": "elsewhere\n"}, "are not the text of shop/cart.py"),
        ({"middle": "pass\n"}, "middle and test_middle differ"),
        ({"suffix": None}, "suffix: expected a text"),
        ({"block_key": "/data/shop/shop/cart.py"}, "is no key of lines"),
        ({"block_key": "/data/shop/shop/gone.py#L1-L2"}, "shop has no file 'shop/gone.py'"),
        ({"block_key": "/data/shop/shop/cart.py#L40-L42"}, "the file has 7 lines, not 42"),
        ({"block_type": "CLASS"}, "block_type 'CLASS': expected one of METHOD"),
        ({"item_ids": []}, "no tests decide"),
        ({"caretbench": 3}, "caretbench: expected the fields of a problem"),
        ({"caretbench": {"shown": {}}}, "Field required"),
    ],
)
def test_a_wrong_row_is_refused_with_file_and_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    _, snapshot = stored(tmp_path, TEXT.encode())
    with pytest.raises(DataError, match=f"{FULL}:2: ") as raised:
        read(tmp_path, [row_of(), row_of(**change)], source_of(snapshot))
    assert message in str(raised.value)


def test_rows_of_other_repositories_are_skipped_and_none_at_all_is_an_error(tmp_path: Path) -> None:
    _, snapshot = stored(tmp_path, TEXT.encode())
    other = row_of(block_key="/data/Source_Code/bank/a.py#L1-L2")
    assert len(read(tmp_path, [other, row_of()], source_of(snapshot))) == 1
    with pytest.raises(DataError, match="no row is about 'shop'"):
        read(tmp_path, [other], source_of(snapshot))
    with pytest.raises(DataError, match="is no scenario of the published data"):
        read(tmp_path, [row_of()], source_of(snapshot), "rows.jsonl")


@pytest.mark.parametrize(
    ("split", "middle", "cut"),
    [("for one", "for one in cart", "statement"), ("one in", "one in cart", "token"), ("one\n", "one\n", "operator"),
     ("return", "", "empty")],
)  # fmt: skip
def test_the_cut_of_an_inner_block_follows_from_the_text_before_the_caret(
    tmp_path: Path, split: str, middle: str, cut: str
) -> None:
    _, snapshot = stored(tmp_path, TEXT.encode())
    place = TEXT.index(split)
    before, after = TEXT[:place], TEXT[place + len(middle) :]
    row = row_of(prefix=before, test_prefix=before, middle=middle, test_middle=middle, suffix=after, test_suffix=after)
    [problem] = read(tmp_path, [row], source_of(snapshot), "complete_current_header_inner_block_completion.jsonl")
    assert problem.label("cut") == cut
