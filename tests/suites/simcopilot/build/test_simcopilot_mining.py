"""Mining: what is cut out, what is not, what is chosen, and what is shown."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.build.project_tasks.block_miner import TaskOrigin
from caretbench.extraction.policies import get_policy
from caretbench.problem import FileSplice, Problem, Provenance, TestsCheck
from caretbench.projects.code_search import TokenSearch, split_tokens
from caretbench.projects.file_spans import overlap_groups
from caretbench.suites.simcopilot.build.tasks import ProjectMiner, SampledCandidate, TaskSampling, balanced_sample
from caretbench.suites.simcopilot.contexts import CONTEXTS, build_context
from caretbench.syntax import SourceFile
from caretbench.syntax.analysis import analyse

PYTHON = '''\
"""Prices."""
import math


LIMIT = 3


def price(orders, rate):
    """What all orders cost."""
    total = 0
    for order in orders:
        if order.count > LIMIT and order.weight < 10:
            total += math.floor(order.cost * rate)  # cheaper
        else:
            total += order.full(rate)
            log(order)
    return round(total, 2)


class Shop:
    def __init__(self, name):
        self.name = name

    def open(self, hours):
        for hour in sorted(hours):
            self.ring(hour, price([], 1))
            print("open at", hour, "in", self.name)
'''
JAVA = """\
package a;

class Books {
    int sum(int[] values) {
        int total = 0;
        for (int value : values) {
            if (value > 0 && value < 100) {
                total = Math.addExact(total, value);
                System.out.println(total);
            }
        }
        return total;
    }
}
"""
FILES = {"shop/prices.py": PYTHON, "shop/other.py": "def log(order):\n    print(order)\n", "a/Books.java": JAVA}
ORIGIN = TaskOrigin("shop", "0" * 64, Provenance(source="shop"), TestsCheck(command=("true",)))


def miner(files: dict[str, str | bytes] | None = None) -> ProjectMiner:
    chosen = files or dict(FILES)
    return ProjectMiner(analyse([SourceFile(path, text) for path, text in chosen.items()]))


def tasks(files: dict[str, str | bytes] | None = None, **wanted: object) -> list[Problem]:
    mine = miner(files)
    paths = list(files or FILES)
    return mine.make_problems(
        mine.sample_candidates(mine.find_candidates(paths), TaskSampling(limit=None, **wanted), paths), ORIGIN
    )  # type: ignore[arg-type]


def test_every_reference_stands_in_its_place_and_survives_extraction() -> None:
    found = tasks()
    assert {problem.labels["mode"] for problem in found} == {"infill", "suffix_hidden"}
    assert len({problem.id for problem in found}) == len(found)
    for problem in found:
        splice = problem.splice
        assert isinstance(splice, FileSplice)
        data = FILES[splice.path].encode()
        assert splice.content(data, problem.reference) == data
        assert get_policy("block").apply(problem.reference, problem.caret).text == problem.reference
        if problem.labels["mode"] == "suffix_hidden":
            assert problem.caret.suffix == ""
        else:
            assert problem.caret.prefix + problem.reference + problem.caret.suffix == FILES[splice.path]


def test_an_edit_changes_neither_the_ids_of_other_blocks_nor_their_hashes() -> None:
    before = {problem.id: problem.block_hash for problem in tasks()}
    assert "shop/shop/prices.py:Shop.open:infill.loop_body" in before
    edited = PYTHON.replace("LIMIT = 3\n", "LIMIT = 3\n\n\ndef tax(cost):\n    return log(cost) or cost * 2\n")
    edited = edited.replace('print("open at"', 'print("opens at"')
    after = {problem.id: problem.block_hash for problem in tasks(FILES | {"shop/prices.py": edited})}
    assert before.keys() <= after.keys()
    changed = {name for name, found in before.items() if after[name] != found}
    assert changed
    assert all(":Shop.open" in name for name in changed)


def test_blocks_of_one_kind_in_a_function_are_numbered() -> None:
    two = "def f(a):\n" + "".join(f"    if a > {n}:\n        print(a, {n})\n        g(a)\n" for n in (1, 2))
    names = {problem.id.removeprefix("shop/a.py:") for problem in tasks({"a.py": two})}
    assert {"f:infill.if_body", "f#2:infill.if_body"} <= names
    assert not any("#3:infill.if_body" in name for name in names)


def test_where_the_suffix_is_hidden_a_block_ends_with_what_closes_it() -> None:
    found = {
        (problem.labels["block"], problem.reference)
        for problem in tasks()
        if problem.labels["mode"] == "suffix_hidden" and problem.labels["language"] == "java"
    }
    bodies = [text for kind, text in found if kind == "loop_body"]
    assert bodies
    assert all(text.endswith("}\n        }") for text in bodies)
    headers = [text for kind, text in found if kind == "if_condition"]
    assert headers
    assert headers[0].startswith("value > 0")
    assert headers[0].endswith("}")


def test_accessors_imports_docstrings_and_tests_are_no_tasks() -> None:
    text = '''import os
class A:
    def __init__(self, x):
        self.x = x
    def get(self):
        """The x."""
        return self.x
    def stub(self):
        ...
'''
    assert tasks({"a.py": text}) == []
    assert tasks({"test_a.py": PYTHON, "b.py": text}) == []


def test_the_end_of_a_comment_with_brackets_is_no_task() -> None:
    text = "function f(s) {\n  let c;\n  do { c = s.next(g(s), h(s)); } while (c !== 0 && c !== 0x3E/* > */);\n}\n"
    assert not [problem for problem in tasks({"a.js": text}) if problem.reference.startswith("/*")]


def test_a_block_that_is_shown_elsewhere_is_no_task() -> None:
    body = "    for item in items:\n        handle(item.name, item.size, other=item.other)\n        finish(item)\n"
    twice = f"def one(items):\n{body}\n\ndef two(items):\n{body}"
    assert not [p for p in tasks({"a.py": twice}) if p.labels["block"] == "function_body" and p.caret.suffix]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_files_stay_as_they_are_whatever_ends_their_lines(newline: str) -> None:
    text = "\ufeff" + PYTHON.replace("cheaper", "günstiger 🛒").replace("\n", newline).replace("    ", "\t")
    data = text.encode()
    found = tasks({"a.py": data})
    assert found
    for problem in found:
        splice = problem.splice
        assert isinstance(splice, FileSplice)
        assert splice.content(data, problem.reference) == data
        shown = problem.caret.prefix + problem.reference + problem.caret.suffix
        assert "\r" not in shown
        assert "\ufeff" not in shown


def test_the_choice_hangs_on_the_seed_alone() -> None:
    mine = miner()
    found = mine.find_candidates(list(FILES))
    paths = list(FILES)
    first = mine.sample_candidates(found, TaskSampling(limit=12, seed=1), paths)
    backwards = miner(dict(reversed(FILES.items())))  # type: ignore[arg-type]
    assert first == backwards.sample_candidates(
        backwards.find_candidates(paths[::-1]), TaskSampling(limit=12, seed=1), paths[::-1]
    )
    alike = [SampledCandidate(str(n), "f", (("infill", "loop_body", "function"),)) for n in range(40)]
    assert balanced_sample(alike, limit=5, seed=1) != balanced_sample(alike, limit=5, seed=2)
    assert len(first) == 12


def test_groups_that_overlap_are_drawn_from_in_turn() -> None:
    groups = [0, 0, 0, 0, 0, 0, 1, 2, 3]
    cells = (("infill", "statement", "none"), ("suffix_hidden", "statement", "none"))
    drawable = [SampledCandidate(str(n), "f", (cells[n % 2],), group) for n, group in enumerate(groups)]
    for seed in range(8):
        names = balanced_sample(drawable, limit=4, seed=seed)
        assert {groups[int(name)] for name in names} == {0, 1, 2, 3}


def test_the_longest_blocks_go_where_else_nearly_all_overlap() -> None:
    lines = ("for one in prices:", "    if one > {n}:", "        total += one", "    else:", "        total = {n}", "")
    loop = "\n    ".join(("", *lines))[1:].rstrip(" ")
    body = "".join(loop.format(n=n) for n in range(1, 8))
    few = {"a.py": f"def add(prices, total):\n{body}    return total\n"}
    found = tasks(few)
    assert len({one.overlap_group for one in found}) >= 6
    assert {one.label("block") for one in found}.isdisjoint({"function_body"})
    short = {"a.py": f"def add(prices, total):\n{loop.format(n=1)}    return total\n"}
    assert "function_body" in {one.label("block") for one in tasks(short)}


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1, max_size=60), st.integers())
def test_every_cell_is_filled(rows: list[tuple[str, str]], seed: int) -> None:
    drawable = [SampledCandidate(str(n), "f", (("infill", kind, ref),)) for n, (kind, ref) in enumerate(rows)]
    cells = {one.cells[0] for one in drawable}
    names = balanced_sample(drawable, limit=len(cells), seed=seed)
    assert {drawable[int(name)].cells[0] for name in names} == cells
    random.Random(seed).shuffle(drawable)  # noqa: S311  no secret
    assert balanced_sample(drawable, limit=len(cells), seed=seed) == names


def test_spans_that_overlap_by_way_of_others_share_a_group() -> None:
    groups = overlap_groups([("a", 0, 5), ("a", 8, 12), ("a", 4, 9), ("a", 12, 14), ("b", 0, 3)])
    assert groups[0] == groups[1] == groups[2]
    assert len({groups[0], groups[3], groups[4]}) == 3


def test_labels_are_raw_numbers() -> None:
    [problem] = [
        p for p in tasks() if p.labels["block"] == "if_condition" and "LIMIT" in p.reference and p.caret.suffix
    ]
    assert problem.labels["reference_distance"] == 7.0
    assert {"if_condition", "loop_body", "local_variable", "global_variable"} <= set(
        problem.labels["constructs"]  # type: ignore[arg-type]
    )
    assert problem.labels["comment_distance"] == 3.0
    assert problem.labels["cursor_column"] == 11.0


@pytest.mark.parametrize("name", sorted(CONTEXTS))
def test_hidden_text_reaches_no_prompt(name: str) -> None:
    copy = "def again(orders, rate):\n" + PYTHON[PYTHON.index("    total = 0") : PYTHON.index("class Shop")]
    files: dict[str, str | bytes] = {**FILES, "shop/copy.py": copy + "\n\ndef other(x):\n    return price(x, 2)\n"}
    mine = miner(files)
    for problem in tasks(files):
        context = build_context(name, problem, mine.analysis)
        caret = context.caret
        texts = [caret.prefix, caret.suffix, *(file.text for file in caret.context)]
        tokens = split_tokens(problem.reference)
        if len(tokens) >= 16:
            assert not any(list(TokenSearch(text).find(tokens)) for text in texts), (problem.id, name)
        assert problem.labels["mode"] == "infill" or not caret.suffix
        for file, places in zip(caret.context, context.file_origins, strict=True):
            for line, (path, number) in zip(file.text.splitlines(), places, strict=True):
                assert str(files[path]).split("\n")[number - 1] == line
        source = str(files[str(caret.path)]).split("\n")
        for line, (_, number) in zip(caret.prefix.split("\n"), context.prefix_origins, strict=False):
            assert source[number - 1].startswith(line)
        if name == "as_is":
            assert (caret.prefix, caret.suffix) == (problem.caret.prefix, problem.caret.suffix)


def test_what_is_around_the_caret_moves_to_the_end() -> None:
    mine = miner()
    for problem in tasks():
        if problem.caret.path != "shop/prices.py" or "price(orders" not in problem.caret.prefix:
            continue
        if "class Shop" in problem.caret.prefix:
            continue
        prefix = build_context("move_enclosing_to_end", problem, mine.analysis).caret.prefix
        assert prefix.index("class Shop") < prefix.index("def price")


@pytest.mark.parametrize(
    ("wanted", "own", "limit"),
    [
        (TaskSampling(per_1000_lines=30), None, 360),
        (TaskSampling(per_1000_lines=30), 60, 60),
        (TaskSampling(), None, 240),
        (TaskSampling(limit=400, per_1000_lines=30), None, 400),
        (TaskSampling(limit=None, per_1000_lines=30), None, None),
    ],
)
def test_large_projects_give_more_unless_somebody_says_how_many(
    wanted: TaskSampling, own: int | None, limit: int | None
) -> None:
    assert wanted.for_check(own, 12_000).limit == limit


SMALL = {
    "a/Small.java": """\
class Small {
    int read(String text, int[] values) {
        int index = 0;
        do {
            index = next(index, values.length);
            if (index > LIMIT) { break; }
        } while (true);
        if (ready()) { log(text, index); }
        try {
            index = Integer.parseInt(text) + values[index];
        } catch (NumberFormatException error) {
            log(text, error);
        }
        try {
            index = Integer.parseInt(text);
            log(text, index);
        } finally {
            close(text, index);
        }
        return index;
    }
}
""",
    "small.py": """\
def read(text, table):
    try:
        table["value"] = int(text, base=10)
    except ValueError:
        report(text, table)
    try:
        report(text, base=table)
    except ValueError:
        table.clear()
    try:
        table[key(text)] = read(text, table)
    except ValueError:
        report(text, table)
    try:
        (text, table) = read(text, table)
    except ValueError:
        report(text, table)
    try:
        table[key(text)].update(other=text)
    except ValueError:
        report(text, table)
    while True:
        consume(text, table)
""",
}


def test_a_word_or_two_and_an_assignment_alone_in_a_try_are_no_tasks() -> None:
    found = miner(dict(SMALL)).find_candidates(list(SMALL))
    texts = {
        SMALL[path].encode()[slice(*candidate.span)].decode() for path, several in found.candidates.items()
        for candidate in several
    }  # fmt: skip
    assert {"index > LIMIT", "log(text, index);", "report(text, base=table)", "consume(text, table)"} <= texts
    assert not texts & {"true", "true)", "true);", "ready()", "ready())", "True", "table.clear()", "break;"}
    assert "table[key(text)].update(other=text)" in texts
    lone = (
        "index = Integer.parseInt(text) + values[index];", 'table["value"] = int(text, base=10)',
        "table[key(text)] = read", "(text, table) = read",
    )  # fmt: skip
    assert not [text for text in texts if text.startswith(lone)]
    assert any(text.startswith("index = Integer.parseInt(text);\n") for text in texts)  # another statement follows
    assert found.rejected["assignment_in_try"] >= 4
