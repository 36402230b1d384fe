"""Precompiled headers: which a program may be given, how they are kept, and that they change no verdict."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Limits, ProjectTree, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Invocation, Sandbox
from caretbench.execution.sandbox.supervisor import SandboxResult
from caretbench.execution.toolchains import cpp, load_runtime, precompiled_headers
from caretbench.execution.toolchains.precompiled_headers import (
    PRECOMPILED,
    CompilerFlags,
    PrecompiledHeaderStore,
    leading_headers,
    leading_includes,
)
from tests.support.compiled_programs import need_toolchain

LIMITS = Limits(wall_s=30, cpu_s=10)
FLAGS: CompilerFlags = ("-O0",)
WORK = "#include <iostream>\n#include <vector>\n"
PROGRAM = WORK + 'int main() { std::vector<int> v{1}; std::cout << v.size() << "\\n"; }\n'


# --- which headers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "headers"),
    [
        ("#include <vector>\n#include <cassert>\n#include <map>\nint x;\n", {"vector", "map"}),
        ("// a\n/* b\n c */ #  include\t<vector> // d\r\n\r\n\t#include <map>\n", {"vector", "map"}),
        ("#include <vector>\n#include <sqlite3.h>\n#include <map>\n", {"vector"}),
        ("#include <vector>\n#define NDEBUG\n#include <map>\n", {"vector"}),
        ("#include <vector>\n#ifdef X\n#include <map>\n#endif\n", {"vector"}),
        ("#include <vector>\n#pragma once\n#include <map>\n", {"vector"}),
        ("#define private public\n#include <vector>\n", set()),
        ("// goes on \\\n#include <vector>\n", set()),
        ("/* not closed #include <vector>\n", set()),
        ("/* a */ int x; /*\n*/ #include <vector>\n", set()),
        ('#include "vector"\n#include <map>\n', set()),
        ("#include <vector> int x;\n#include <map>\n", set()),
        ("#include <vector>\n#include \\\n<map>\n", {"vector"}),
        ("\ufeff#include <vector>\n", set()),
        ("#include <map>\n#include <bits/stdc++.h>\n", {"bits/stdc++.h"}),
        ("#include <vector>", set()),
        ("", set()),
    ],
)
def test_only_standard_headers_before_anything_else_count(source: str, headers: set[str]) -> None:
    assert leading_headers(source) == headers


@pytest.mark.parametrize(
    ("source", "begin"),
    [
        ("#include <vector>\n#include <unistd.h>\n#include <map>\nint x;\n", ["vector", "unistd.h", "map"]),
        (
            "#include <sys/types.h> // d\n\n#include <cassert>\n#include <sys/socket.h>\n",
            ["sys/types.h", "sys/socket.h"],
        ),
        ("#include <unistd.h>\n#define X\n#include <map>\n", ["unistd.h"]),
        ("#define X\n#include <unistd.h>\n", []),
        ("#include <vector>\n#include <map>\n", []),
        ('#include "unistd.h"\n', []),
        ("#include <vector>\n#include \\\n<unistd.h>\n", []),
    ],
)
def test_with_other_libraries_all_counts_that_a_program_begins_with(source: str, begin: list[str]) -> None:
    assert leading_includes(source) == "".join(f"#include <{header}>\n" for header in begin)


# --- how they are kept --------------------------------------------------------------------------------------------


class Built:
    """Stands in for the compiler: counts, and writes so many bytes."""

    def __init__(self, size: int = 100) -> None:
        self.texts: list[str] = []
        self.size = size

    def __call__(self, text: str, flags: CompilerFlags, folder: Path) -> bool:
        del flags
        self.texts.append(text)
        (folder / PRECOMPILED).write_bytes(os.urandom(self.size))
        return True


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is built when it is first asked for."""
    monkeypatch.setattr(precompiled_headers, "build_cpu_ms", lambda headers: 1e-6 + 0 * len(headers))


def entries(root: Path) -> list[Path]:
    return [place for place in root.iterdir() if not place.name.startswith(".")]


def test_a_set_is_built_once_it_would_have_paid(tmp_path: Path) -> None:
    built = Built()
    headers = PrecompiledHeaderStore(tmp_path, "g++")
    found = [headers.for_program(f"{WORK}int a{number};\n", FLAGS, built) for number in range(10)]
    assert 2 <= found.count(None) <= 6
    assert built.texts == ["#include <iostream>\n"]
    for number in range(10, 210):
        headers.for_program(f"{WORK}int a{number};\n", FLAGS, built)
    assert built.texts == ["#include <iostream>\n", "#include <iostream>\n#include <vector>\n"]
    small = headers.for_program("#include <iostream>\n#include <list>\n", FLAGS, built)
    large = headers.for_program(WORK + "#include <list>\n", FLAGS, built)
    assert small is not None
    assert small.headers == frozenset({"iostream"})
    assert large is not None
    assert large.headers == frozenset({"iostream", "vector"})
    assert headers.for_program(WORK, ("-O2",), built) is None
    assert headers.for_program("#include <vector>\n", FLAGS, built) is None


def test_the_same_program_counts_once(tmp_path: Path) -> None:
    built = Built()
    headers = PrecompiledHeaderStore(tmp_path, "g++")
    for _ in range(50):
        headers.expect(WORK, FLAGS)
        assert headers.for_program(WORK, FLAGS, built) is None
    assert built.texts == []


def test_what_expected_programs_share_is_built_before_the_first_of_them(tmp_path: Path) -> None:
    built = Built()
    headers = PrecompiledHeaderStore(tmp_path, "g++")
    foreign = "#include <unistd.h>\n"
    programs = [f"{begin}int a{number};\n" for begin, count in ((WORK, 200), (foreign, 2)) for number in range(count)]
    for program in programs:
        headers.expect(program, FLAGS)
    assert built.texts == []
    assert all(headers.for_program(program, FLAGS, built) for program in programs)
    assert built.texts == ["#include <iostream>\n", "#include <iostream>\n#include <vector>\n", foreign]


def test_other_libraries_headers_are_built_when_they_are_asked_for_again(tmp_path: Path) -> None:
    built = Built()
    headers = PrecompiledHeaderStore(tmp_path, "g++")
    source = "#include <unistd.h>\n#include <map>\n"
    assert headers.for_program(source + "int a;\n", FLAGS, built) is None
    entry = headers.for_program(source + "int b;\n", FLAGS, built)
    assert entry is not None
    assert (entry.headers, built.texts) == (None, [source])
    assert headers.for_program("#include <map>\n#include <unistd.h>\n", FLAGS, built) is None  # another order


@pytest.mark.usefixtures("eager")
def test_other_processes_entries_are_found_and_another_compilers_are_not(tmp_path: Path) -> None:
    PrecompiledHeaderStore(tmp_path, "g++").for_program(WORK, FLAGS, Built())
    built = Built()
    assert PrecompiledHeaderStore(tmp_path, "g++").for_program(WORK, FLAGS, built) is not None
    assert built.texts == []
    assert PrecompiledHeaderStore(tmp_path, "another").for_program(WORK, FLAGS, built) is not None
    assert len(built.texts) == 2


def test_two_processes_may_build_the_same_at_once(tmp_path: Path) -> None:
    slow, fast = Built(), Built()
    other = PrecompiledHeaderStore(tmp_path, "g++")

    def build(text: str, flags: CompilerFlags, folder: Path) -> bool:
        assert other.for_text(text, flags, fast) is not None
        return slow(text, flags, folder)

    entry = PrecompiledHeaderStore(tmp_path, "g++").for_text("text", FLAGS, build)
    assert entry is not None
    assert entry == other.for_text("text", FLAGS, fast)
    assert [place.name for place in entries(tmp_path)] == [entry.name]
    assert not list(tmp_path.glob(".building-*"))


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_a_damaged_entry_is_thrown_away_and_built_again(tmp_path: Path, damage: str) -> None:
    first = PrecompiledHeaderStore(tmp_path, "g++").for_text("text", FLAGS, Built())
    assert first is not None
    place = tmp_path / first.name / PRECOMPILED
    data = place.read_bytes()
    if damage == "gone":
        place.unlink()
    else:
        place.write_bytes(data[:50] if damage == "cut" else data[:50] + bytes([data[50] ^ 1]) + data[51:])
    built = Built()
    headers = PrecompiledHeaderStore(tmp_path, "g++")
    entry = headers.for_text("text", FLAGS, built)
    assert entry is not None
    assert headers.is_intact(entry)
    assert len(built.texts) == 1


def test_what_was_used_longest_ago_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled_headers, "MAX_ENTRIES", 3)
    monkeypatch.setattr(precompiled_headers, "MAX_BYTES", 250)
    built = Built()
    headers = PrecompiledHeaderStore(tmp_path, "g++")
    old, used = headers.for_text("old", FLAGS, built), headers.for_text("used", FLAGS, built)
    assert old is not None
    assert used is not None
    for number, entry in enumerate((old, used)):
        os.utime(tmp_path / entry.name, (number, number))
    new = headers.for_text("new", FLAGS, built)
    assert new is not None
    assert {place.name for place in entries(tmp_path)} == {used.name, new.name}
    assert headers.for_text("old", FLAGS, built) is None  # found gone; it counts as never asked for
    assert headers.for_text("old", FLAGS, built) is not None


def test_without_a_folder_programs_go_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    built = Built()
    headers = PrecompiledHeaderStore(tmp_path / "file" / "folder", "g++")
    assert headers.for_text("text", FLAGS, built) is None


# --- that they change nothing -------------------------------------------------------------------------------------

TRICKY: Mapping[str, str] = {
    "plain": PROGRAM,
    "line": WORK + 'int main() { std::cout << __LINE__ << __FILE__ << __COUNTER__ << "\\n"; return __LINE__; }\n',
    "assertion": WORK + '#include <cassert>\nint main() { assert(!\n"here"); }\n',
    "silenced": WORK + "#define NDEBUG\n#include <cassert>\nint main() { assert(false); }\n",
    "silenced_first": "#define NDEBUG\n" + WORK + "#include <cassert>\nint main() { assert(false); }\n",
    "missing_include": WORK + "int main() { std::regex pattern; std::unordered_map<int, int> m; std::thread t; }\n",
    "missing_assert": WORK + "int main() { assert(true); }\n",
    "wrong": WORK + "int main() { std::vector<int> v = 3.0; std::vector<std::ostream> w(2); return x; }\n",
    "wrong_inside": WORK + "struct A { A(const A&) = delete; };\nint main() { std::vector<A> v; v.push_back(v[0]); }\n",
    "no_such_header": WORK + "#include <no/such.hpp>\nint main() {}\n",
    "message": WORK + '#pragma once\n#pragma message("said")\n#warning said\nint main() {}\n',
    "guarded": "// one\n\n/* two */\n" + WORK + "#ifndef _GLIBCXX_VECTOR\n#error gone\n#endif\nint main() {}\n",
    "private_first": "#define private public\n" + WORK + "int main() { std::vector<int> v; v._M_impl; }\n",
    "private_later": WORK + "#define private public\n#include <list>\nint main() { std::vector<int> v; v._M_impl; }\n",
    "hidden": "/* " + WORK + "*/\nint main() { std::cout << 1; }\n",
    "continued": "// \\\n" + WORK + "int main() { std::cout << 1; }\n",
    "not_linked": WORK + "int other();\nint main() { return other(); }\n",
    "throws": WORK + "int main() { std::vector<int>{}.at(3); }\n",
    "early": WORK + "#include <cstdlib>\nint main() { std::exit(0); }\n",
}


class Recording(Sandbox):
    """Notes what the compiler is given."""

    def __init__(self) -> None:
        super().__init__()
        self.compilers: list[Sequence[str]] = []

    def run(self, invocation: Invocation) -> SandboxResult:
        if invocation.argv[0] == cpp.COMPILER:
            self.compilers.append(invocation.argv)
        return super().run(invocation)


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    need_toolchain("cpp")
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "tools"))
    sandbox = Recording()
    yield sandbox
    sandbox.close()


def run(sources: Mapping[str, str], sandbox: Sandbox, folder: Path, **fields: Any) -> dict[str, ExecutionResult]:
    cache = ResultCache(folder)
    executor = LocalExecutor(workers=2, compilers=1, cache=cache, sandbox=sandbox, bundles=lambda _: None)
    requests = [
        ExecutionRequest(id=name, language="cpp", source=source, limits=LIMITS, **fields)
        for name, source in sources.items()
    ]
    return {result.id: result for result in executor.submit(requests)}


def what_counts(result: ExecutionResult) -> tuple[object, ...]:
    return (
        result.status, result.stage, result.exit_code, result.signal, result.sentinel, result.stdout.text,
        result.stderr.text, re.sub(r"/tmp/cc\w+", "object", result.diagnostics), result.missing_module,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.usefixtures("eager")
def test_verdicts_and_words_are_the_same_without(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = run(TRICKY, recording, tmp_path / "given")
    used = [argv for argv in recording.compilers if "-include" in argv]
    assert len(used) == len(TRICKY) - 4
    monkeypatch.setattr(PrecompiledHeaderStore, "for_program", lambda *_: None)
    plain = run(TRICKY, recording, tmp_path / "plain")
    assert given.keys() == TRICKY.keys()
    assert {name: what_counts(result) for name, result in given.items()} == {
        name: what_counts(result) for name, result in plain.items()
    }
    assert given["plain"].status is Status.PASSED
    assert given["silenced"].status is Status.FAILED
    assert given["missing_include"].status is Status.COMPILE_ERROR
    assert given["no_such_header"].missing_module == "no/such.hpp"


FOREIGN = "#include <iostream>\n#include <unistd.h>\n#include <sys/types.h>\n"
WITH_OTHERS: Mapping[str, str] = {
    "first": FOREIGN + "int main() { std::cout << 1; }\n",
    "second": FOREIGN + "int main() { std::cout << (getpid() > 0); }\n",
    "assertion": FOREIGN + "#include <cassert>\nint main() { assert(getpid() < 0); }\n",
    "wrong": FOREIGN + "int main() { std::regex pattern; return x; }\n",
    "another_order": "#include <unistd.h>\n#include <iostream>\nint main() { std::cout << getpid() * 0; }\n",
}


@pytest.mark.long
def test_verdicts_and_words_are_the_same_with_other_libraries(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = run(WITH_OTHERS, recording, tmp_path / "given")
    # All but the other order: headers are learned from the whole window before the first compiler.
    assert sum("-include" in argv for argv in recording.compilers) == 4
    monkeypatch.setattr(PrecompiledHeaderStore, "for_program", lambda *_: None)
    plain = run(WITH_OTHERS, recording, tmp_path / "plain")
    assert {name: what_counts(result) for name, result in given.items()} == {
        name: what_counts(result) for name, result in plain.items()
    }
    assert given["assertion"].status is Status.FAILED
    assert given["wrong"].status is Status.COMPILE_ERROR


@pytest.mark.usefixtures("eager")
def test_a_damaged_header_costs_a_compilation_and_no_verdict(tmp_path: Path, recording: Recording) -> None:
    runtime = load_runtime("cpp", recording)
    source = "#include <new>\nint main() {}\n"

    def compiled(name: str) -> bool:
        (tmp_path / name).mkdir()
        recording.compilers.clear()
        [result] = runtime.compile(
            [ExecutionRequest(id=name, language="cpp", source=source, limits=LIMITS)], [tmp_path / name]
        )
        return result.artefact is not None

    assert compiled("first")
    [place] = (tmp_path / "tools").rglob(PRECOMPILED)
    place.write_bytes(place.read_bytes()[:10_000])
    assert compiled("second")
    assert [("-include" in argv) for argv in recording.compilers] == [True, False]
    assert not place.exists()
    assert compiled("third")
    assert len(recording.compilers) == 2  # built again, and used


def test_the_released_flags_stay_as_they_are(tmp_path: Path, recording: Recording) -> None:
    result = run({"a": PROGRAM}, recording, tmp_path / "cache", profile="paper")["a"]
    assert result.status is Status.PASSED
    [argv] = recording.compilers
    assert set(argv) == {cpp.COMPILER, *cpp.PAPER_FLAGS, *cpp.LINKER_FLAGS, cpp.PROGRAM, "-o", "program", "-pthread"}


@pytest.mark.parametrize("profile", ["paper", "default"])
def test_programs_of_a_submission_share_headers_from_the_first_on(
    tmp_path: Path, recording: Recording, profile: str
) -> None:
    sources = {str(number): f"{WORK}int main() {{ return {number} - {number}; }}\n" for number in range(6)}
    results = run(sources, recording, tmp_path / "cache", profile=profile)
    assert {result.status for result in results.values()} == {Status.PASSED}
    built = [argv for argv in recording.compilers if "c++-header" in argv]
    compiled = [argv for argv in recording.compilers if cpp.PROGRAM in argv]
    flags = cpp.PAPER_FLAGS if profile == "paper" else cpp.DEFAULT_FLAGS
    assert [set(flags) <= set(argv) for argv in built] == [True]
    assert [("-include" in argv) for argv in compiled] == [True] * 6


def executables(sandbox: Sandbox, folder: Path) -> list[bytes]:
    folder.mkdir()
    runtime = load_runtime("cpp", sandbox)
    found = []
    for name in ("plain", "throws", "message", "private_later"):
        (folder / name).mkdir()
        request = ExecutionRequest(id=name, language="cpp", source=TRICKY[name], profile="paper", limits=LIMITS)
        [result] = runtime.compile([request], [folder / name])
        found += [file.read_bytes() for file in (folder / name).iterdir()] if result.artefact else []
    return found


@pytest.mark.long
@pytest.mark.usefixtures("eager")
def test_at_the_released_flags_executables_are_the_same_bytes(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = executables(recording, tmp_path / "given")
    assert sum("-include" in argv for argv in recording.compilers) == 4
    monkeypatch.setattr(PrecompiledHeaderStore, "for_program", lambda *_: None)
    assert executables(recording, tmp_path / "plain") == given
    assert len(given) == 3


def test_an_executable_too_large_to_be_read_out_still_runs(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpp, "_READ_OUT", ProjectTree(results=("program",), max_file_bytes=10, max_total_bytes=10))
    result = run({"a": "int main() {}"}, recording, tmp_path / "cache")["a"]
    assert result.status is Status.PASSED
    assert len(recording.compilers) == 2
