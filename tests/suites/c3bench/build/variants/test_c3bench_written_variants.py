from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from caretbench.files import DataError
from caretbench.suites.c3bench.build.variants.code_context import read_variants

CONTEXT: dict[str, Any] = {
    "id": "a/b",
    "language": "python",
    "prefix": "def twice(number):\n",
    "tests": "def check(candidate):\n    assert candidate(2) == 4\n",
    "entry_point": "twice",
    "implementations": [
        {"code": "    return number * 2\n", "category": "algorithmic", "instruction": "Multiply."},
        {"code": "    return number + number\n", "category": "algorithmic", "instruction": "Add.", "author": "Ada"},
    ],
}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "variants.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_a_row_is_a_context_with_variants(tmp_path: Path) -> None:
    found = read_variants(written(tmp_path, CONTEXT | {"before": "import math\n", "suffix": "\n"}))
    [context] = found.contexts
    assert (context.id, context.reference) == ("a/b", "    return number * 2\n")
    program = context.splice.program("    return 4\n")
    assert program.startswith("import math\ndef twice(number):\n    return 4\n\n")
    assert program.endswith("\ncheck(twice)\n")
    assert [(one.name, one.author, one.origin) for one in found.variants] == [
        ("hand-1", "", "hand"),
        ("hand-2", "Ada", "hand"),
    ]
    assert found.faults == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (CONTEXT | {"language": "cobol"}, "row: no language 'cobol'; languages: cpp"),
        (CONTEXT | {"language": "java"}, "row: entry_point is for Python"),
        (CONTEXT | {"prefix": 3}, "prefix: Input should be a valid string"),
        (CONTEXT | {"implementations": []}, "implementations: "),
        (CONTEXT | {"unknown": 1}, "unknown: Extra inputs"),
        (CONTEXT | {"implementations": [3]}, "a/b: no implementation is left"),
    ],
)
def test_a_malformed_row_is_one_line_and_the_rest_goes_on(tmp_path: Path, row: Any, message: str) -> None:
    path = written(tmp_path, row, "", CONTEXT | {"id": "good"})
    found = read_variants(path)
    assert [one.id for one in found.contexts] == ["good"]
    assert any(line.startswith(f"{path}:1: {message}") for line in found.faults), found.faults


def test_a_malformed_implementation_leaves_the_others(tmp_path: Path) -> None:
    wrong = {"code": "    return 4\n", "category": "style", "instruction": "Guess."}
    path = written(tmp_path, CONTEXT | {"implementations": [*CONTEXT["implementations"], wrong]}, CONTEXT)
    found = read_variants(path)
    assert len(found.variants) == 2
    [first, second] = found.faults
    assert first.startswith(f"{path}:1: implementation 3 of a/b: category: ")
    assert second == f"{path}:2: the id 'a/b' occurs in {path}:1 already"


def test_faults_of_toml_name_the_context(tmp_path: Path) -> None:
    path = tmp_path / "variants.toml"
    text = """\
[[contexts]]
id = "one"
language = "cpp"
prefix = "p"
tests = "t"

[[contexts.implementations]]
code = "x"
category = "parameter"
instruction = "Do."

[[contexts.implementations]]
code = "y"
category = "parameter"
instruction = "Do."
requires = ["for"]

[[contexts]]
id = "two"
"""
    path.write_text(text)
    found = read_variants(path)
    assert [one.id for one in found.contexts] == ["one"]
    assert found.faults[0] == f"{path}, context 1: implementation 2 of one: no features for requires and forbids in cpp"
    assert found.faults[1].startswith(f"{path}, context 2: language: Field required")


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/absent\.toml: cannot be"):
        read_variants(tmp_path / "absent.toml")
    wrong = [
        ("latin.toml", b"\xff\xfe", "not TOML"),
        ("a.toml", b"other = 1", "no .*contexts"),
        ("b.jsonl", b"{", "b.jsonl:1: not JSON"),
        ("c.jsonl", b"[]", "expected a JSON object"),
    ]
    for name, text, message in wrong:
        (tmp_path / name).write_bytes(text)
        with pytest.raises(DataError, match=message):
            read_variants(tmp_path / name)


def test_the_example_is_read() -> None:
    folder = resources.files("caretbench.suites.c3bench.build.variants")
    with resources.as_file(folder / "example.toml") as path:
        found = read_variants(path)
    assert found.faults == []
    assert {one.language for one in found.contexts} == {"cpp", "python"}
    assert len(found.variants) == 8
