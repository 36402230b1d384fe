"""Declarations of one program do not reach the next in the same compile server, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from caretbench.execution.bundles.bundle_store import installed_bundle
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.toolchains import load_runtime
from tests.support.compiled_programs import need_toolchain

# All declare the same names, one means something else by a name of the library, and some are broken.
PROGRAMS: Mapping[str, Mapping[str, str]] = {
    "java": {
        "number": "class Helper { int value() { return 1; } }\n"
        "public class Main { public static void main(String[] a) { assert new Helper().value() == 1; } }",
        "record": "record Helper(String value) {}\n"
        'public class Main { public static void main(String[] a) { assert new Helper("x").value() != null; } }',
        "shadow": "class String { int length() { return 7; } }\nclass Helper { String value = new String(); }\n"
        "public class Main { public static void main(java.lang.String[] a) { new Helper().value.length(); } }",
        "broken": "class Helper { Missing value; }\n"
        "public class Main { public static void main(String[] a) { new Helper().value(); } }",
        "absent": "public class Main { public static void main(String[] a) { new Helper(); } }",
    },
    "typescript": {
        "number": "class Helper { value(): number { return 1; } }\nconst one: number = new Helper().value();",
        "record": 'interface Helper { value: string }\nconst one: Helper = { value: "x" };',
        "shadow": "interface Array<T> { extra: number }\nconst Helper: number = [1].extra;",
        "broken": "class Helper { value: Missing }\nconst one: string = [1].extra;",
        "absent": "const one = new Helper(); const other: number = [1].extra;",
    },
    "csharp": {
        "number": "class Helper { public int Value => 1; }\n"
        "class Program { static void Main() { Console.WriteLine(new Helper().Value); } }",
        "record": "struct Helper { public string Value; }\n"
        "class Program { static void Main() { Console.WriteLine(new Helper().Value); } }",
        "shadow": "class Console { public static int WriteLine(object value) => 7; }\nclass Helper { }\n"
        "class Program { static void Main() { int seven = Console.WriteLine(new Helper()); } }",
        "broken": "class Helper { Missing value; }\n"
        "class Program { static void Main() { int seven = Console.WriteLine(1); } }",
        "absent": "class Program { static void Main() { new Helper(); } }",
    },
}
ORDERS = (
    ("number", "broken", "record", "shadow", "absent", "number"),
    ("shadow", "absent", "broken", "number", "record", "shadow"),
)


@pytest.mark.long
@pytest.mark.parametrize("language", PROGRAMS)
def test_a_server_makes_of_a_program_what_a_fresh_one_makes_of_it(language: str, tmp_path: Path) -> None:
    need_toolchain(language)
    fresh = {name: _compiled(language, [name], tmp_path / "fresh" / name)[0] for name in PROGRAMS[language]}
    assert {name for name, made in fresh.items() if made[0] is None} >= {"number", "record", "shadow"}
    assert fresh["absent"] != fresh["number"]
    for place, order in enumerate(ORDERS):
        together = _compiled(language, order, tmp_path / str(place))
        for name, made in zip(order, together, strict=True):
            assert made == fresh[name], (order, name)


def _compiled(language: str, names: Sequence[str], place: Path) -> list[tuple[object, ...]]:
    """Status, words and files of each program, compiled in this order by one server."""
    sandbox = Sandbox()
    sandbox.probe()
    folders = [place / str(number) for number in range(len(names))]
    for folder in folders:
        folder.mkdir(parents=True)
    requests = [ExecutionRequest(id=name, language=language, source=PROGRAMS[language][name]) for name in names]
    results = load_runtime(language, sandbox, installed_bundle).compile(requests, folders)
    sandbox.close()
    return [
        (result.status, result.diagnostics, result.missing_module, _files(folder))
        for result, folder in zip(results, folders, strict=True)
    ]


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
