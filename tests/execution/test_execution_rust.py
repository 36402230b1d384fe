from __future__ import annotations

from collections.abc import Mapping

import pytest

from caretbench.execution.classification import reports_compile_error
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.toolchain_tables import toolchain_table
from caretbench.execution.toolchains import base_runtime
from tests.support.compiled_programs import need_toolchain, run_programs


def main(body: str, *above: str) -> str:
    named = "".join(f"{line}\n" for line in above)
    return f"{named}fn main() {{\n{body}\n}}\n"


PROGRAMS = {
    "passed": (main("let total: i32 = (1..4).sum();\nassert_eq!(total, 6);"), Status.PASSED),
    "returns a result": (
        'fn main() -> Result<(), std::num::ParseIntError> {\n"3".parse::<i32>()?;\nOk(())\n}\n', Status.PASSED,
    ),
    "collections": (
        main(
            'let mut seen = HashMap::new();\n*seen.entry("a").or_insert(0) += 2;\nassert_eq!(seen["a"], 2);',
            "use std::collections::HashMap;",
        ),
        Status.PASSED,
    ),
    "threads": (
        main(
            "let (send, receive) = mpsc::channel();\nlet threads: Vec<_> = (0..4).map(|n| {\n"
            "let send = send.clone();\nthread::spawn(move || send.send(n).unwrap())\n}).collect();\n"
            "for one in threads { one.join().unwrap(); }\ndrop(send);\nassert_eq!(receive.iter().sum::<i32>(), 6);",
            "use std::{sync::mpsc, thread};",
        ),
        Status.PASSED,
    ),
    "generics and traits": (
        "trait Area { fn area(&self) -> f64; }\nstruct Square(f64);\n"
        "impl Area for Square { fn area(&self) -> f64 { self.0 * self.0 } }\n"
        "fn total(all: &[Box<dyn Area>]) -> f64 { all.iter().map(|one| one.area()).sum() }\n"
        + main("assert_eq!(total(&[Box::new(Square(2.0)), Box::new(Square(1.0))]), 5.0);"),
        Status.PASSED,
    ),
    "warnings": (main("let unused = 1; let mut also = 2;"), Status.PASSED),
    "failed": (main("assert_eq!(1 + 1, 3);"), Status.FAILED),
    "failed with words": (main('assert_eq!(1 + 1, 3, "the sum of {}", 1);'), Status.FAILED),
    "failed plainly": (main("assert!(1 > 2);"), Status.FAILED),
    "failed in a thread": (
        main("std::thread::spawn(|| assert_ne!(1, 1)).join().unwrap();"), Status.FAILED,
    ),
    "panic": (main('panic!("beyond");'), Status.RUNTIME_ERROR),
    "panic in a thread": (main('std::thread::spawn(|| panic!("x")).join().unwrap();'), Status.RUNTIME_ERROR),
    "a thread that nobody asks for": (
        main('let _ = std::thread::spawn(|| panic!("x")).join();'), Status.PASSED,
    ),
    "index": (
        main("let values = vec![1];\nlet at = values.len();\nprintln!(\"{}\", values[at]);"), Status.RUNTIME_ERROR,
    ),
    "unwrap": (
        main("let none: Option<i32> = std::env::args().nth(9).map(|_| 1);\nnone.unwrap();"), Status.RUNTIME_ERROR,
    ),
    "overflow": (
        main("let big = std::env::args().count() as u8 + 254;\nprintln!(\"{}\", big + 1);"), Status.RUNTIME_ERROR,
    ),
    "todo": (main("todo!();"), Status.RUNTIME_ERROR),
    "an error of main": (
        'fn main() -> Result<(), std::num::ParseIntError> {\n"x".parse::<i32>()?;\nOk(())\n}\n',
        Status.RUNTIME_ERROR,
    ),
    "stack": (
        "fn deeper(n: u64) -> u64 { if n == 0 { 0 } else { 1 + deeper(n + 1) } }\n"
        + main('println!("{}", deeper(1));'),
        Status.RUNTIME_ERROR,
    ),
    "exit status": (main("std::process::exit(3);"), Status.RUNTIME_ERROR),
    "abort": (main("std::process::abort();"), Status.RUNTIME_ERROR),
    "early exit": (main("std::process::exit(0);\nassert_eq!(1, 2);"), Status.INCOMPLETE),
    "early exit in a thread": (
        main("std::thread::spawn(|| std::process::exit(0)).join().unwrap();\nassert_eq!(1, 2);"),
        Status.INCOMPLETE,
    ),
    "early exit in a destructor": (
        "struct Way;\nimpl Drop for Way { fn drop(&mut self) { std::process::exit(0) } }\n"
        + main("let _way = Way;\nassert_eq!(1, 2);"),
        Status.INCOMPLETE,
    ),
    "early exit in a hook": (
        main("std::panic::set_hook(Box::new(|_| std::process::exit(0)));\nassert_eq!(1, 2);"), Status.INCOMPLETE,
    ),
    "printed sentinel": (
        main('println!("{:?} D", std::env::var("CARETBENCH_SENTINEL"));\nstd::process::exit(0);'),
        Status.INCOMPLETE,
    ),
    "the sentinel is taken": (main('assert!(std::env::var("CARETBENCH_SENTINEL").is_err());'), Status.PASSED),
    "syntax": ("fn main( {\n", Status.COMPILE_ERROR),
    "type": (main('let number: i32 = "one";'), Status.COMPILE_ERROR),
    "borrow": (
        main("let mut all = vec![1];\nlet first = &all[0];\nall.push(2);\nprintln!(\"{}\", first);"),
        Status.COMPILE_ERROR,
    ),
    "denied": ("#![deny(warnings)]\n" + main("let unused = 1;"), Status.COMPILE_ERROR),
    "no main": ("fn helper() {}\n", Status.COMPILE_ERROR),
    "missing crate": (main("let _ = rand::random::<u8>();"), Status.UNRESOLVED_IMPORT),
    "missing crate that is used": (
        main("let mut source = rand::thread_rng();\nprintln!(\"{}\", source.gen::<u8>());", "use rand::Rng;"),
        Status.UNRESOLVED_IMPORT,
    ),
    "missing extern crate": (main("", "extern crate serde;"), Status.UNRESOLVED_IMPORT),
    "missing crate and another error": (
        main("let _ = rand::random::<u8>();\nlet _ = HashMap::new();"), Status.COMPILE_ERROR,
    ),
    "missing name of the standard library": (main("", "use std::collections::NoMap;"), Status.COMPILE_ERROR),
    "missing file of a module": (main("", "mod shapes;"), Status.COMPILE_ERROR),
    "network": (
        main('assert!(std::net::TcpStream::connect("192.0.2.1:80").is_err());'), Status.PASSED,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def results() -> Mapping[str, ExecutionResult]:
    return run_programs("rust", {name: source for name, (source, _) in PROGRAMS.items()})


@pytest.mark.parametrize(("name", "status"), [(name, status) for name, (_, status) in PROGRAMS.items()])
def test_outcome(results: Mapping[str, ExecutionResult], name: str, status: Status) -> None:
    assert results[name].status is status, results[name]


def test_a_missing_crate_is_named(results: Mapping[str, ExecutionResult]) -> None:
    names = ("missing crate", "missing crate that is used", "missing extern crate")
    assert [results[name].missing_module for name in names] == ["rand", "rand", "serde"]


def test_the_compilers_words_name_the_line(results: Mapping[str, ExecutionResult]) -> None:
    assert "main.rs:2" in results["type"].diagnostics
    assert reports_compile_error(results["type"].diagnostics)
    assert not reports_compile_error(results["failed"].stderr.text)


def test_a_panic_shows_its_place(results: Mapping[str, ExecutionResult]) -> None:
    assert "main.rs:2" in results["panic"].stderr.text


@pytest.mark.smoke
def test_paper_takes_exit_status_0_for_a_pass() -> None:
    names = ("passed", "failed", "early exit", "missing crate")
    results = run_programs("rust", {name: PROGRAMS[name][0] for name in names}, profile="paper")
    assert {name: results[name].status for name in names} == {
        "passed": Status.PASSED,
        "failed": Status.FAILED,
        "early exit": Status.PASSED,
        "missing crate": Status.UNRESOLVED_IMPORT,
    }


def test_bounds() -> None:
    need_toolchain("rust")
    programs = {
        "for ever": (main("loop {}"), Limits(cpu_s=2)),
        "waits": (main("std::thread::sleep(std::time::Duration::from_secs(600));"), Limits(wall_s=3)),
        "memory": (
            main("let mut kept: Vec<Vec<u8>> = Vec::new();\nloop {\nkept.push(vec![1; 1 << 24]);\n}"),
            Limits(memory_mb=256),
        ),
        "output": (main('loop {\nprintln!("{}", "x".repeat(1 << 16));\n}'), Limits(output_kill_mb=1)),
    }
    requests = [
        ExecutionRequest(id=name, language="rust", source=source, limits=limits)
        for name, (source, limits) in programs.items()
    ]
    found = {result.id: result.status for result in LocalExecutor(workers=2, use_cache=False).submit(requests)}
    assert found == {
        "for ever": Status.TIMEOUT,
        "waits": Status.TIMEOUT,
        "memory": Status.OUT_OF_MEMORY,
        "output": Status.OUTPUT_LIMIT,
    }


SAID = {
    "thread 'main' panicked at 'assertion failed: `(left == right)`\n  left: `2`,\n right: `3`: sum', b.rs:1:12":
        Status.FAILED,
    "\nthread 'main' (32048) panicked at b.rs:1:12:\nassertion `left == right` failed: sum\n  left: 2": Status.FAILED,
    "thread 'main' panicked at b.rs:1:12:\nassertion failed: a > b\nnote: run with": Status.FAILED,
    "thread '<unnamed>' panicked at b.rs:1:12:\nindex out of bounds: the len is 1": Status.RUNTIME_ERROR,
    "memory allocation of 123 bytes failed\n": Status.OUT_OF_MEMORY,
}  # fmt: skip


@pytest.mark.parametrize("said", SAID)
def test_old_and_new_versions_say_the_same(said: str) -> None:
    table = toolchain_table("rust")
    assert table is not None
    found = (failure.status for failure in table.failures if failure.pattern.search(said))
    assert next(found, Status.RUNTIME_ERROR) is SAID[said]


LACKS = """error[E0433]: cannot find module or crate `rand` in this scope
 --> a.rs:2:25
  |
2 | fn main(){ let x: i32 = rand::thread_rng(); }
  |                         ^^^^ use of unresolved module or unlinked crate `rand`
  |
  = help: you might be missing a crate named `rand`

error: aborting due to 1 previous error
"""


def test_a_newer_compiler_names_a_missing_crate_otherwise() -> None:
    table = toolchain_table("rust")
    assert table is not None
    assert table.compiler is not None
    assert len(table.compiler.errors.findall(LACKS)) == 1
    assert [name for pattern in table.missing_modules for name in pattern.findall(LACKS)] == ["rand"]


def test_without_the_toolchain_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_runtime, "tool_version", lambda *_: None)
    request = ExecutionRequest(id="a", language="rust", source=PROGRAMS["passed"][0])
    [result] = LocalExecutor(workers=1, use_cache=False).submit([request])
    assert result.status is Status.SKIPPED
    assert "install rustc" in result.reason
