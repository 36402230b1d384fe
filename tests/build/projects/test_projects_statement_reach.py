"""Marks before statements, and what a project's tests reach by them."""

from __future__ import annotations

import re
import shutil
import tempfile
import textwrap
from pathlib import Path

import pytest

from caretbench.build.projects.language_tables import instrumentation_table
from caretbench.build.projects.reach.instrumentation import EXECUTION_LOG, instrument
from caretbench.build.projects.reach.measurement import measure_reach
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.errors import DataError
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest, WorkspaceRunner
from caretbench.syntax.parser import is_well_formed, parse
from caretbench.syntax.source import SourceFile

PYTHON = '''\
"""What it is about."""
from __future__ import annotations
import enum


@enum.unique
class Colour(enum.Enum):
    """Two colours."""
    RED = 1
    BLUE = 2


def used(x):
    """Stays what it is."""
    if x: return never(0) if x > 99 else 1; x = 2
    elif x is None:
        raise ValueError
    try:
        y = 2
    except OSError:
        y = 3
    return y


def never(x):
    for i in range(3):
        x += i
    return x
'''

JAVA = """\
package shop;

public class Prices {
    private final int rate;

    public Prices() {
        this(3);
        System.out.println("made");
    }

    Prices(int rate) {
        this.rate = rate;
    }

    int of(int x) {
        final int y;
        switch (x) {
            case 0:
                y = 1;
                break;
            default:
                y = rate;
        }
        Runnable r = () -> { System.out.println(y); };
        if (x > 9) return y;
        else {
            r.run();
        }
        return y;
    }

    static int never(int x) {
        while (x > 3) {
            x--;
        }
        return x;
    }
}
"""

JAVASCRIPT = """\
'use strict'
const path = require('path')
const a = [1, 2]
module.exports = { used, never }

function used(x) {
  switch (x) {
    case 1: return 'one'
    default:
      let y = x
      return `${y}`
  }
}

function never(x) {
  while (x > 3) { x-- }
  return x
}
"""

TYPESCRIPT = """\
import { readFileSync } from "fs";
export interface Shape { area(): number }
function over(x: string): string;
function over(x: number): string;
function over(x: unknown): string {
  return `${x}`;
}
export class Square implements Shape {
  constructor(private side: number) { this.side = side; }
  area(): number { return this.side ** 2; }
}
"""

CPP = """\
#pragma once
#include <vector>
constexpr int twice(int x) { return 2 * x; }
template <typename T> T used(T x) {
    switch (static_cast<int>(x)) {
        case 1: return x;
        default: x += 1;
    }
    if (x > 9) return 0;
    for (int i = 0; i < 3; ++i) { x += i; }
    return x;
}
inline int never(int x) {
    return x;
}
"""

CSHARP = """\
using System;
namespace Shop;
public class Prices {
    public int Of(int x) {
        int Local(int y) { return y; }
        switch (x) {
            case 1: return 1;
            default: x += 1; break;
        }
        return Local(x);
    }
}
"""

GO = """\
// package shop sells.
package shop

type Prices struct{ Rate int }

func (p *Prices) Of(x int) (int, error) {
	y := p.Rate
	switch {
	case x == 0:
		y = 1
	default:
		y += x
	}
	if x < 0 {
		return 0, nil
	} else if add := func(z int) int { return z + 1 }; x > 1 {
		return add(y), nil
	}
	return y, nil
}
"""
RUST = """\
//! Prices.
#![allow(dead_code)]
pub struct Prices { pub rate: i64 }

const fn twice(x: i64) -> i64 { let y = 2 * x; y }

impl Prices {
    pub fn of(&self, x: i64) -> i64 {
        #[allow(unused_mut)]
        let mut y = self.rate;
        match x {
            0 => { y = 1; }
            _ => y += twice(x),
        }
        let add = |z: i64| { y + z };
        if x > 9 { return add(0); }
        fn inner(z: i64) -> i64 { z + 1 }
        inner(add(1))
    }
}

fn never(mut x: i64) -> i64 {
    while x > 3 { x -= 1; }
    x
}
"""

SOURCES = {
    "a.py": PYTHON, "shop/Prices.java": JAVA, "a.js": JAVASCRIPT, "a.ts": TYPESCRIPT, "a.hpp": CPP, "A.cs": CSHARP,
    "src/lib.rs": RUST, "shop.go": GO,
}  # fmt: skip


@pytest.mark.parametrize("path", SOURCES)
def test_files_with_marks_are_well_formed_and_lose_nothing(path: str) -> None:
    source = SourceFile(path, SOURCES[path])
    marked = instrument(source, 7)
    assert is_well_formed(parse(marked.content, source.grammar), source.grammar)
    text = marked.content.decode()
    table = instrumentation_table(source.language)
    assert table is not None
    definition = (table.definition.splitlines() or [""])[-1].replace("@file", "7")[:20]
    assert definition in text or source.language == "cpp"
    assert len(marked.spans) >= 3
    starts = [span.start for span in marked.spans]
    place = f"{walls.WORK}/{EXECUTION_LOG}"
    assert starts == sorted(set(starts))
    for n in range(len(marked.spans)):
        call = table.call.replace("@file", "7").replace("@n", str(n)).replace("@place", place).strip("; ")
        assert text.count(call) == 1
    if source.language in {"java", "javascript", "csharp"}:  # a statement shares its line with its mark
        assert text.count("\n") - source.text().count("\n") == 2


EXPORTED = """\
class EXPORTED Printer : public Visitor
{
public:
    Printer( int depth = 0 );
    int Size() const {
        return size;
    }
    int Wide() const {
        int x = 1;
#if defined(WIDE)
        x = 2;
#endif
        return x;
    }
private:
    int size;
};
"""


def test_no_mark_stands_in_a_class_behind_a_macro_or_before_a_directive() -> None:
    lines = instrument(SourceFile("a.h", EXPORTED), 0).content.decode().splitlines()
    marked = [line.split(";", 1)[1].strip() for line in lines if line.strip().startswith("caretbench_mark_0(")]
    assert marked == ["return size;", "int x = 1;", "x = 2;", "return x;"]


CUT_UP = """class Shop {
    int Sum(int a, int b) { return a + b; }
    int First(int[] all) {
        int n = 0;
#if FAST
        foreach (var one in all)
#else
        for (int i = 0; i < all.Length; i++)
#endif
        {
#if FAST
            n += one; }
#else
            n += all[i]; }
#endif
        return n;
    }
    int Wide(int a) {
#if WIDE
        return a * 2;
#else
        return a;
#endif
    }
}
"""


def test_functions_that_a_preprocessor_cuts_up_blind_only_themselves() -> None:
    found = instrument(SourceFile("Shop.cs", CUT_UP), 0)
    text = found.content.decode()
    assert "{ CaretbenchMarks0.At(0); return a + b; }" in text
    assert re.sub(r"CaretbenchMarks0\.At\(\d+\); ", "", text).startswith(CUT_UP)
    broken = CUT_UP.replace("all[i]; }\n#endif", "all[i]; }}}\n#endif")
    assert "{ CaretbenchMarks0.At(0); return a + b; }" in instrument(SourceFile("Shop.cs", broken), 0).content.decode()
    with pytest.raises(DataError, match=r"Shop\.java .*parse"):
        instrument(SourceFile("Shop.java", "class Shop { int sum( { } }"), 0)


def test_what_has_to_come_first_does() -> None:
    text = instrument(SourceFile("a.py", PYTHON), 0).content.decode()
    assert text.startswith('"""What it is about."""\nfrom __future__ import annotations\nexec(')
    assert '    """Stays what it is."""\n    _caretbench_mark(' in text
    compile(text, "a.py", "exec")
    script = instrument(SourceFile("a.js", JAVASCRIPT), 0).content.decode()
    assert script.startswith("'use strict'\ncaretbenchMark0(0); const path")
    java = instrument(SourceFile("shop/Prices.java", JAVA), 0).content.decode()
    assert "{\n        this(3);\n        CaretbenchMarks0.at(0); System" in java
    assert "twice(int x) { return" in instrument(SourceFile("a.hpp", CPP), 0).content.decode()
    typed = instrument(SourceFile("a.ts", TYPESCRIPT), 0).content.decode()
    assert "function over(x: number): string;\nfunction over(x: unknown)" in typed


def test_a_file_without_statements_stays_as_it_is() -> None:
    for path, text in {"a.py": '"""Nothing."""\n', "A.java": "interface A {}\n", "a.ts": "export {}\n"}.items():
        assert instrument(SourceFile(path, text), 0).content == text.encode()


def test_what_is_unknown_counts_as_reached() -> None:
    assert StatementReach().reaches("a.py", 3, 9)


# --- really run -------------------------------------------------------------------------------------------------------

NEEDS_SANDBOX = pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")


def look(
    workspace_runner: WorkspaceRunner, files: dict[str, str], command: tuple[str, ...], paths: list[str]
) -> StatementReach:
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(textwrap.dedent(text))
        snapshot = workspace_runner.store.add(Path(folder)).id
    engine = WorkspaceExecutor(1, workspace_runner=workspace_runner, use_cache=False)
    return measure_reach(
        engine, WorkspaceRequest(id="r", snapshot=snapshot, command=command), paths, store=workspace_runner.store
    )


def covers(reach: StatementReach, path: str, text: str) -> bool:
    start = SOURCES[path].index(text)
    return reach.reaches(path, start, start + len(text))


JAVA_TEST = """\
package shop;
class T { public static void main(String[] a) { if (new Prices().of(4) != 3) System.exit(1); } }
"""
NODE_TEST = """\
import {createRequire} from 'module'
const a = createRequire(import.meta.url)('./a.js')
if (a.used(5) !== '5') throw 1
"""
PYTHON_TEST = "import a\nassert a.used(0) == 2 and a.used.__doc__ == 'Stays what it is.'\n"
CPP_TEST = '#include "a.hpp"\nint main() { return used(2) == 6 && twice(2) == 4 ? 0 : 1; }'

# By file: the tool that it takes, the tests, the command, what it executes, and what not.
CARGO = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
RUST_TEST = "#[test]\nfn prices() { assert_eq!(shop::Prices { rate: 3 }.of(2), 9); }\n"

GO_TEST = (
    'package shop\n\nimport "testing"\n\nfunc TestOf(t *testing.T) {\n'
    "\tif y, _ := (&Prices{Rate: 3}).Of(2); y != 6 {\n\t\tt.Fatal(y)\n\t}\n}\n"
)

PROJECTS = {
    "shop.go": (
        "go", {"go.mod": "module shop\n", "shop_test.go": GO_TEST}, ("sh", "-c", "GOCACHE=/tmp/go go test -vet=off ."),
        ("y := p", "y += x", "return add", "return z"), ("y = 1", "return 0", "return y, nil"),
    ),
    "src/lib.rs": (
        "cargo", {"Cargo.toml": CARGO, "tests/prices.rs": RUST_TEST},
        ("sh", "-c", "cargo test --offline --quiet --tests"),
        ("y += twice", "let add", "inner(add(1))", "z + 1"), ("y = 1", "return add(0)", "x -= 1"),
    ),
    "a.py": (
        "python3", {"test_a.py": PYTHON_TEST}, ("python3", "test_a.py"),
        ("y = 2", "return y", "elif x is None"), ("y = 3", "raise ValueError", "x += i"),
    ),
    "a.js": (
        "node", {"t.mjs": NODE_TEST}, ("node", "t.mjs"),
        ("let y = x", "return `${y}`"), ("return 'one'", "x--"),
    ),
    "shop/Prices.java": (
        "javac", {"shop/T.java": JAVA_TEST}, ("sh", "-c", "javac -d out shop/*.java && java -cp out shop.T"),
        ("y = rate;", "r.run()", "this.rate = rate"), ("y = 1", "x--"),
    ),
    "a.hpp": (
        "g++", {"t.cpp": CPP_TEST}, ("sh", "-c", "g++ -Wall -Werror -o t t.cpp && ./t"),
        ("x += i",), ("return x;\n        default",),
    ),
}  # fmt: skip


@NEEDS_SANDBOX
@pytest.mark.parametrize("path", PROJECTS)
def test_what_tests_execute_is_found_out(workspace_runner: WorkspaceRunner, path: str) -> None:
    tool, files, command, hit, missed = PROJECTS[path]
    if shutil.which(tool, path=walls.PATH) is None:
        pytest.skip(f"{tool} is not installed")
    reach = look(workspace_runner, {path: SOURCES[path], **files}, command, [path])
    assert (reach.run_count, dict(reach.unknown_files)) == (1, {})
    assert [text for text in hit if not covers(reach, path, text)] == []
    assert [text for text in missed if covers(reach, path, text)] == []
    source = SourceFile(path, SOURCES[path])
    lines = reach.executed_lines(path, source)
    assert source.line_at(source.data.index(hit[0].encode())) in lines
    assert source.line_at(source.data.index(missed[-1].encode())) not in lines


@NEEDS_SANDBOX
def test_a_file_that_does_not_compile_with_marks_is_named_by_the_compiler(workspace_runner: WorkspaceRunner) -> None:
    if shutil.which("g++", path=walls.PATH) is None:
        pytest.skip("g++ is not installed")
    files = {f"{name}.cpp": f"int {name}(int x) {{\n    return x + 1;\n}}\n" for name in ("a", "b", "c", "d")}
    files["odd.cpp"] = (
        "#define EITHER(x) if (x) x = 2;\nint odd(int x) {\n    EITHER(x)\n    else x = 3;\n    return x;\n}\n"
    )
    files["t.cpp"] = "int a(int); int odd(int); int main() { return a(1) == 2 && odd(0) == 3 ? 0 : 1; }\n"
    paths = [path for path in files if path != "t.cpp"]
    reach = look(workspace_runner, files, ("sh", "-c", "g++ -o t *.cpp && ./t"), paths)
    assert set(reach.unknown_files) == {"odd.cpp"}
    assert reach.run_count == 2, "not by halves"
    assert [hit for _, hit in reach.statements["a.cpp"]] == [True]


@NEEDS_SANDBOX
def test_a_file_that_fails_with_marks_is_found_by_halves_and_counts_as_reached(
    workspace_runner: WorkspaceRunner,
) -> None:
    files = {
        "good.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n",
        "odd.py": "def h():\n    return 3\n",
        "test.py": "import good, odd, sys\ngood.f()\nassert len(open('odd.py').read()) < 40\n"
        "assert sys.gettrace() is None\n",
    }
    reach = look(workspace_runner, files, ("python3", "test.py"), ["good.py", "odd.py", "notes.txt"])
    assert set(reach.unknown_files) == {"odd.py", "notes.txt"}
    assert reach.unknown_files["odd.py"].startswith("the tests do not pass with instrumentation")
    assert reach.run_count == 4  # the first one is traced
    assert reach.reaches("odd.py", 0, 5)
    assert reach.reaches("good.py", 13, 21)
    assert not reach.reaches("good.py", files["good.py"].index("return 2"), len(files["good.py"]))


@NEEDS_SANDBOX
@pytest.mark.long
@pytest.mark.skipif(shutil.which("node", path=walls.PATH) is None, reason="node is not installed")
def test_a_file_of_javascript_that_fails_with_marks_blinds_only_itself(workspace_runner: WorkspaceRunner) -> None:
    files = {
        "good.mjs": "export function f(x) {\n  if (x) return 1\n  return 2\n}\n",
        "more.js": "exports.g = function () {\n  return 3\n}\n",
        "odd.js": "exports.h = function () {\n  return 4\n}\n",
        "all.test.mjs": "import assert from 'node:assert'\nimport { test } from 'node:test'\n"
        "import { f } from './good.mjs'\nimport more from './more.js'\nimport odd from './odd.js'\n"
        "test('f', () => assert.equal(f(true), 1))\ntest('g', () => assert.equal(more.g(), 3))\n"
        "test('h', () => assert(odd.h.toString().length < 30))\n",
    }
    reach = look(workspace_runner, files, ("node", "--test"), ["good.mjs", "more.js", "odd.js"])
    assert set(reach.unknown_files) == {"odd.js"}
    assert reach.reaches("more.js", files["more.js"].index("return 3"), len(files["more.js"]))
    text = files["good.mjs"]
    assert reach.reaches("good.mjs", text.index("return 1"), text.index("return 1") + 8)
    assert not reach.reaches("good.mjs", text.index("return 2"), text.index("return 2") + 8)


@NEEDS_SANDBOX
@pytest.mark.skipif(shutil.which("node", path=walls.PATH) is None, reason="node is not installed")
def test_what_a_test_does_to_objects_hides_no_statement(workspace_runner: WorkspaceRunner) -> None:
    guard = "{ enumerable: true, get() { throw new Error('inherited') } }"
    files = {
        "a.js": "exports.f = function () {\n  return 3\n}\n",
        "t.js": f"Object.defineProperty(Object.prototype, 'polluted', {guard})\n"
        "if (require('./a.js').f() !== 3) throw 1\n",
    }
    reach = look(workspace_runner, files, ("node", "t.js"), ["a.js"])
    assert reach.reaches("a.js", files["a.js"].index("return 3"), len(files["a.js"]))
    assert not reach.reaches_nothing
