"""Sources of a build: layouts of rows, folders, and what cannot be read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from caretbench.conventional.descriptions import pull_files, released_folder
from caretbench.errors import DataError
from caretbench.suites.c3bench.build.sources import read_sources

FUNCTIONS = '''"""Numbers."""
import math
import os

LIMIT = 3


def small(value):
    return value < LIMIT


def smallest(values):
    """Return the small values."""
    return [math.floor(one) for one in values if small(one)]
'''
CHECKS = "def check_smallest(candidate):\n    assert candidate([1.5, 7]) == [1]\n"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_function_comes_with_what_it_refers_to_and_no_more(tmp_path: Path) -> None:
    write(tmp_path, numbers_dot_py=FUNCTIONS, check_numbers_dot_py=CHECKS)
    found = read_sources([str(tmp_path)])
    [function] = found.functions
    assert (function.id, function.entry_point) == (f"{tmp_path.name}/numbers/smallest", "smallest")
    assert "import math\n" in function.text
    assert "LIMIT = 3" in function.text
    assert "def small(value)" in function.text
    assert "import os" not in function.text
    space: dict[str, object] = {}
    exec(function.text + "\n\n" + function.test, space)  # noqa: S102  our own text
    space["check"](space["smallest"])  # type: ignore[operator]
    assert [one.id for one in found.files] == [function.id]


def test_a_function_comes_with_what_changes_what_it_refers_to(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\n\nfrom math import *\n\ntry:\n    import json as codec\n"
        "except ImportError:\n    codec = None\n\nTABLE = {}\nTABLE['a'] = 1\nTABLE.update(b=2)\nNAMES = ['x']\n"
        "NAMES += ['y']\nOTHER = {}\nOTHER['z'] = 1\n\n\ndef look(name: Late) -> str:\n"
        "    return codec.dumps([TABLE[name], NAMES, floor(1.5)])\n\n\nclass Late:\n    pass\n\n\n"
        "if __name__ == '__main__':\n    TABLE['c'] = look('a')\n"
    )
    check = "def check_look(candidate):\n    assert candidate('b') == '[2, [\"x\", \"y\"], 1]'\n"
    write(tmp_path, words_dot_py=text, check_words_dot_py=check)
    [function] = read_sources([str(tmp_path)]).functions
    space: dict[str, object] = {}
    exec(compile(function.text + "\n\n" + function.test, "p", "exec", dont_inherit=True), space)  # noqa: S102  our own
    space["check"](space["look"])  # type: ignore[operator]
    assert "OTHER" not in function.text
    assert "__main__" not in function.text


def test_what_is_not_used_has_a_reject(tmp_path: Path) -> None:
    more = FUNCTIONS + "\n\ndef untested():\n    return 1\n"
    write(tmp_path, a__numbers_dot_py=FUNCTIONS, a__check_style_dot_py="def check_style(text):\n    return text\n",
          b__a__numbers_dot_py=FUNCTIONS, b__words_dot_py=more, b__check_words_dot_py=CHECKS)  # fmt: skip
    (tmp_path / "a" / "check_numbers.py").write_text("def check_smalest(candidate):\n    pass\n")
    found = read_sources([str(tmp_path / "a"), str(tmp_path / "b" / "a"), str(tmp_path / "b")])
    assert [one.id for one in found.functions] == ["b/words/smallest"]
    assert sorted(one.id for one in found.files) == [
        "a/check_style.py", "a/numbers.py", "b/a/numbers.py", "b/words/smallest",
    ]  # fmt: skip
    assert {(one.reason, one.detail) for one in found.rejects} == {
        ("no_function", "check_smalest: numbers.py has no such function"), ("repeated_id", "a/numbers.py"),
        ("no_check", "small: check_words.py has no check_small"),
        ("no_check", "untested: check_words.py has no check_untested"),
    }  # fmt: skip


def test_two_functions_of_one_name_are_one_and_a_reject(tmp_path: Path) -> None:
    for folder, text in (("x", FUNCTIONS), ("y", FUNCTIONS.replace("LIMIT = 3", "LIMIT = 4"))):
        write(tmp_path / folder / "lib", numbers_dot_py=text, check_numbers_dot_py=CHECKS)
    found = read_sources([str(tmp_path / "x" / "lib"), str(tmp_path / "y" / "lib")])
    assert len(found.functions) == 1
    assert ("repeated_id", "lib/numbers/smallest") in {(one.reason, one.detail) for one in found.rejects}


def test_faults_have_file_and_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    write(tmp_path, good_dot_py="value = 1\n", bad_dot_py="x = 1\ny = = 2\n", bad_dot_js="let a = 1;\nlet b = ;\n",
          ok_dot_java="class A { int b() { return 1; } }\n", node_modules__skipped_dot_js="let a = 1;\n")  # fmt: skip
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    found = read_sources([str(tmp_path)])
    assert [one.id.partition("/")[2] for one in found.files] == ["good.py", "ok.java"]
    reasons = {Path(one.place).name: (one.reason, one.detail.partition(":")[0]) for one in found.rejects}
    assert reasons["bad.py"] == ("syntax", "line 2")
    assert reasons["bad.js"] == ("syntax", "line 2")
    assert reasons["bytes.py"][0] == "unreadable"


def test_rows_of_all_layouts_are_read(tmp_path: Path) -> None:
    humaneval = {
        "task_id": "MultiLineInfilling/HumanEval/7/L0_L0",
        "entry_point": "one",
        "prompt": "def one():\n",
        "canonical_solution": "    return 1\n",
        "suffix": "",
        "test": "def check(candidate):\n    pass\n",
    }
    devbench = {
        "id": "4",
        "language": "python",
        "prefix": "def two(x):\n",
        "golden_completion": "    return x + 2\n",
        "suffix": "",
        "assertions": "assert two(1) == 3\nassert two(0) == 2\n",
    }
    safim = {
        "task_id": "block_1",
        "lang": "java",
        "eval_prompt": "class A { {{completion}} }\n",
        "ground_truth": "int a;",
        "unit_tests": "[]",
    }
    rows = [humaneval, devbench, safim, {"a": 1}, {**safim, "eval_prompt": "no hole"}, {**safim, "lang": "cobol"},
            {**devbench, "suffix": 3}]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_sources([str(path)])
    assert [(one.id, one.entry_point) for one in found.functions] == [("HumanEval/7", "one"), ("rows/4", "two")]
    assert "def check(two):\n    assert two(1) == 3" in found.functions[1].test
    assert [(one.id, one.language) for one in found.files][2:] == [("rows/block_1", "java")]
    assert [one.place.rpartition(":")[2] for one in found.rejects] == ["4", "5", "6", "7"]
    assert "no known layout" in found.rejects[0].detail


def test_assertions_that_use_more_of_the_program_give_no_function(tmp_path: Path) -> None:
    row = {"id": "4", "prefix": "LIMIT = 2\ndef two(x):\n", "golden_completion": "    return x + 2\n", "suffix": "",
           "assertions": "assert two(LIMIT) == 4\n"}  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    found = read_sources([str(path)])
    assert not found.functions
    assert [one.id for one in found.files] == ["rows/4"]


def test_a_program_with_marks_is_read_without_its_hidden_tests(tmp_path: Path) -> None:
    write(tmp_path, javascript__api__one_dot_js="let a = ⟦1⟧;\n⟦tests⟧\nassert(a === 1);\n")
    [file] = read_sources([str(tmp_path)]).files
    assert (file.text, file.language) == ("let a = 1;\n", "javascript")


def test_a_source_that_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no source: give humaneval-infilling"):
        read_sources([])
    with pytest.raises(DataError, match="/nowhere: no such"):
        read_sources([str(tmp_path / "nowhere")])
    with pytest.raises(DataError, match=f"{tmp_path}: nothing to"):
        read_sources([str(tmp_path)])


def test_data_that_were_not_pulled_name_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="pull humaneval-infilling"):
        read_sources(["humaneval-infilling"])
    write(tmp_path / "local", LICENSE="other")
    with pytest.raises(DataError, match=r"Infilling\.jsonl\.gz: not"):
        pull_files("humaneval-infilling", tmp_path / "local", lambda _added, _total: None)
    assert not list(released_folder("humaneval-infilling").rglob("*.gz"))


def test_humaneval_infilling_is_pulled_from_a_local_copy_and_read(
    test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    steps: list[int] = []
    pull_files("humaneval-infilling", test_data / "humaneval_infilling", lambda added, _total: steps.append(added))
    assert sum(steps) == 4
    found = read_sources(["humaneval-infilling"])
    assert len(found.functions) == 164
    assert {one.provenance.licence for one in found.functions} == {"MIT"}
    assert not found.rejects


def test_each_program_of_safim_is_a_source_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    program = "import sys\r\n\r\n\r\ndef double(n):\r\n    return n * 2\n\n\nprint(double(int(input())))\r\n"
    rows = [
        {
            "task_id": f"block_completion_00000{number}", "lang": language, "ground_truth": hole,
            "eval_prompt": program.replace(hole, "{{completion}}", 1) + "# C++" * (language == "cpp"),
        }
        for number, (language, hole) in enumerate((("python", "n * 2"), ("python", "input()"), ("cpp", "n * 2")))
    ]  # fmt: skip
    path = released_folder("safim") / "block_completion.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode()))
    found = read_sources(["safim"])
    [file] = found.files
    assert (file.id, file.text) == ("block_completion/block_completion_000000", program.replace("\r\n", "\n"))
    assert file.provenance.licence == "MIT"
    assert [(reject.reason, reject.detail) for reject in found.rejects] == [("language", "cpp")]
