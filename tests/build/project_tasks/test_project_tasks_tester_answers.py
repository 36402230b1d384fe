"""Answers of a tester as single tests, the functions that are asked for, and the code that is shown."""

from __future__ import annotations

import time

import pytest

from caretbench.build.project_tasks.block_miner import MinedBlock
from caretbench.build.project_tasks.tester.answer_tests import answer_tests, name_fault, refusal
from caretbench.build.project_tasks.tester.untested_functions import (
    MAX_FUNCTIONS,
    function_groups,
    import_path,
    shown_code,
    without_secrets,
)
from caretbench.syntax import Span
from caretbench.syntax.analysis import analyse
from caretbench.syntax.source import SourceFile
from tests.support.written_tests import BAD, GOOD, answered

CLASSES = """
import unittest
from shop import total

LIMIT = 3

class Base(unittest.TestCase):
    def setUp(self):
        self.names = ["pear"]

    def test_one(self):
        self.assertEqual(total(self.names), LIMIT)

    @unittest.skipIf(False, "never")
    def test_two(self):
        self.assertEqual(total([]), 0)

def test_three():
    assert total([]) == 0
"""


def test_each_test_gets_the_rest_of_the_file_without_the_others() -> None:
    found = answer_tests(f"```python\n{CLASSES}```", "a/shop.py", "pytest")
    assert [one.name for one in found] == ["Base.test_one", "Base.test_two", "test_three"]
    one, two, three = (test.source for test in found)
    assert "test_two" not in one
    assert "skipIf" not in one
    assert "setUp" in one
    assert "LIMIT = 3" in one
    assert "test_one" not in two
    assert "skipIf" in two
    assert "class Base" not in three
    assert len({test.stem for test in found}) == 3
    assert all(test.stem.startswith("test_shop_") for test in found)


def test_functions_become_methods_for_unittest() -> None:
    [found] = answer_tests(answered(GOOD["test_total"]), "shop.py", "unittest")
    assert "class WrittenTest(unittest.TestCase):\n    def test_total(self):\n        test_total()" in found.source


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty"),
        ("I would rather not.", "it has no code fence, and is not Python"),
        ("```python\ndef test_a(:\n```", "it does not parse as Python"),
        ("```python\nx = 1\n```", "it has no test"),
        ("```python\nx = 1\n```\n```python\ny = 1\n```", "it has 2 code fences"),
        ("```python\n" + "#" * 70_000 + "\n```", "more than 60,000 characters"),
        ("```a\n" * 40_000, "more than 60,000 characters"),
        ("```python\n" + "(" * 5_000 + "\n```", "does not parse"),
        ("```python\nx = '\0'\n```", "does not parse"),
    ],
)
def test_malformed_answers_are_named(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        answer_tests(text, "shop.py", "pytest")


def test_an_answer_that_is_cut_keeps_its_whole_tests() -> None:
    text = answered(*GOOD.values()).removesuffix("```\n")[:-9]
    assert [one.name for one in answer_tests(text, "shop.py", "pytest")] == ["test_total", "test_label"]
    with pytest.raises(ValueError, match="not parse as Python"):
        answer_tests("```python\ndef test_a(:\n    pass\nx = [", "shop.py", "pytest")


def test_classes_with_very_many_tests_are_split_soon() -> None:
    many = "class A:\n" + "".join(" def test():0\n" for _ in range(2_000))
    start = time.process_time()
    assert answer_tests(f"{many}{many}", "shop.py", "pytest")
    assert time.process_time() - start < 2


def test_names_are_shown_in_part() -> None:
    [found] = answer_tests(answered(f"def test_{'a' * 9_000}():\n    assert 1\n"), "shop.py", "pytest")
    assert len(found.shown_name) == 100
    assert len(found.stem) < 80


def refused(body: str, name: str = "test_it", head: str = "import shop\n") -> str:
    text = head + f"\n\ndef {name}():\n" + "".join(f"    {line}\n" for line in (*body.split("\n"), "assert 1"))
    [found] = answer_tests(text, "shop.py", "pytest")
    return refusal(found).partition(":")[0]


@pytest.mark.parametrize("name", ["test_ghp_" + "aB3d" * 9, "test_my_AKIA" + "AB12" * 4, "test_" + "a" * 20_000])
def test_names_that_are_too_long_or_look_like_keys_are_refused_and_not_shown(name: str) -> None:
    [found] = answer_tests(answered(f"def {name}():\n    assert 1\n"), "shop.py", "pytest")
    assert refusal(found).startswith("unfit_name: ")
    assert len(found.shown_name) <= 100
    assert not {"aB3daB3d", "AB12AB12"} & {found.shown_name[n : n + 8] for n in range(100)}


def test_usual_names_are_shown_as_they_are() -> None:
    name = "Base.test_total_of_hf_tokenizer_config_is_returned"
    assert name_fault(f"::{name}[apple-3]") == ""
    assert name_fault(f"::{name}[ghp_{'aB3d' * 9}]") != ""


@pytest.mark.parametrize(
    "line",
    [
        "assert 'append' in shop.label.__code__.co_names",
        "assert 99 in getattr(shop.label, '__code__').co_consts",
        "assert 'label' in shop.size.__globals__",
        "import inspect\nassert inspect.getsource(shop.label)",
        "from dis import get_instructions",
        "import linecache",
        "import os, tokenize",
        "assert 'words' in open(shop.__file__).read()",
    ],
)
def test_tests_that_read_how_the_code_is_written_are_refused(line: str) -> None:
    assert refused(line) == "reads_the_source"


@pytest.mark.parametrize(
    "line",
    [
        "import _pytest.python",
        "import importlib",
        "from importlib import import_module",
        "__import__('os')",
        "sys.modules['x'] = 1",
        "import gc",
        "exec('x')",
        "e = eval",
        "setattr(pytest, 'x', 1)",
        "pytest.Function.runtest = 1",
        "unittest.TestCase.run = 1",
        "builtins.exec('x')",
    ],
)
def test_tests_that_can_change_the_run_of_others_are_refused(line: str) -> None:
    assert refused(line) == "touches_the_runner"


@pytest.mark.parametrize(
    "line",
    [
        "assert shop.eval('1') == 1",
        "assert shop.tokenize('a') == ['a']",
        "monkeypatch.setattr('builtins.input', str)",
        "assert shop.inspect(1)",
        "names = open(__file__)",
        "assert unittest.TestCase.maxDiff == 1",
    ],
)
def test_usual_calls_are_not_refused(line: str) -> None:
    assert refused(line) == ""


def test_an_answer_has_at_most_twenty_tests() -> None:
    many = answered(*(f"def test_{n}():\n    assert {n}\n" for n in range(30)))
    assert len(answer_tests(many, "shop.py", "pytest")) == 20


def test_what_needs_no_run_is_refused_before_it() -> None:
    kinds = {}
    for name, (_, text) in BAD.items():
        [test] = answer_tests(answered(text), "shop.py", "pytest")
        kinds[name] = refusal(test).partition(":")[0]
    assert {name: kind for name, kind in kinds.items() if kind} == {
        "test_silent": "asserts_nothing",
        "test_ends_the_process": "touches_the_runner",
        "test_reads_the_code_object": "reads_the_source",
    }
    [raising] = answer_tests(
        answered("def test_r():\n    with pytest.raises(KeyError):\n        shop.x()\n"), "shop.py", "pytest"
    )
    assert refusal(raising) == ""


MODULE = b"""\
class Shop:
    def total(self, names):
        return len(names) * 2

    def empty(self):
        return self.total([]) + 0


def plain(a):
    def inner(b):
        return b + 1
    return inner(a)
"""


def groups(seed: int = 0, limit: int = 9, source: bytes = MODULE) -> list[tuple[str, list[str]]]:
    analysis = analyse([SourceFile("shop.py", source)])
    returns = [n for n in range(len(source)) if source.startswith(b"return", n)]
    blocks = {"shop.py": [MinedBlock("shop.py", Span(n, source.index(b"\n", n))) for n in returns]}
    found = function_groups(
        analysis, blocks, lambda _path, span: b"len" in source[slice(*span)], seed=seed, limit=limit
    )
    return [(group.path, [one.name for one in group.functions]) for group in found]


def test_functions_with_a_block_that_no_test_reaches_are_asked_for() -> None:
    assert groups() == [("shop.py", ["Shop.empty", "plain"])]


def test_groups_are_drawn_by_the_seed_and_bounded() -> None:
    many = b"".join(b"def f%d(a):\n    return a\n\n\n" % n for n in range(6 * MAX_FUNCTIONS))
    assert len(groups(source=many, limit=100)) == 6
    assert all(len(names) == MAX_FUNCTIONS for _, names in groups(source=many))
    assert groups(source=many, limit=2) == groups(source=many)[:2]
    assert len({str(groups(seed, source=many)) for seed in range(5)}) > 1


def test_a_long_file_is_shown_in_parts() -> None:
    filler = b"".join(b"def f%d(a):\n    return a\n\n\n" % n for n in range(2_000))
    last = b"class Last:\n    size = 3\n\n    def f(self):\n        return self.size + 77\n"
    analysis = analyse([SourceFile("shop.py", filler + last)])
    span = Span(len(filler) + last.index(b"return"), len(filler) + len(last) - 1)
    [group] = function_groups(analysis, {"shop.py": [MinedBlock("shop.py", span)]}, lambda *_: False, seed=0, limit=1)
    shown = shown_code(analysis, group)
    assert len(shown) < 17_000
    assert "class Last:" in shown
    assert "return self.size + 77" in shown
    assert "f1999" not in shown


def test_secrets_in_literals_are_not_sent_and_code_is() -> None:
    code = 'API_KEY = "sk-abcdefghijklmnop"\nkey = make_key(value)\n'
    shown = without_secrets(code)
    assert "abcdefghijklmnop" not in shown
    assert "key = make_key(value)" in shown


def test_import_paths_leave_out_folders_of_the_import_path() -> None:
    assert import_path("src/shop/core.py", ("src", ".deps")) == "shop.core"
    assert import_path("shop/__init__.py", (".", ".deps")) == "shop"
    assert import_path("shop.py", ()) == "shop"
