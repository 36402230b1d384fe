"""Mutation testing of the package: small changes of single lines, and the tests that notice them.

Usage: python -m benchmarks.mutate_tests [--seed N] [--count N] [--minutes N] [--equivalent N …] [--everywhere]
Draws modules of the package, one of each room in turn, changes one line in each (benchmarks/mutations.py), and runs the
tests of its own room: first those that mirror or import the module, then those that import what imports it, then the
others; short ones before long ones. With --everywhere, those of other rooms follow, nearest first. A test counts only
if it passes again without the change. Works on a copy of the checkout in a temporary folder: the checkout itself is
only read.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

from benchmarks.mutations import Mutation, mutations, parses

ROOT = Path(__file__).parents[1]
PACKAGE = "caretbench"
PRELOADED = ("polars", "pydantic", "rich", "scipy.stats", "tree_sitter", "typer")
"""Imported once for all runs; no plugins of pytest, whose assertions it rewrites."""
_DIVIDED = ("build", "people", "suites")
"""Folders whose folders are rooms."""
_NO_PROGRAM = ("samples", "starter", "harness", "inside")
_RINGS = 3
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """A mutation and the test that failed because of it, if one did."""

    module: str
    mutation: Mutation
    diff: str
    test: str | None
    decided: bool
    """Whether all tests that belong to it were run, where none failed."""

    @property
    def in_room(self) -> bool:
        """Whether the test that failed is one of the module's own room."""
        return self.test is not None and _test_room(Path(self.test.partition("::")[0])) == room_of(self.module)

    @property
    def verdict(self) -> str:
        """The test, or why there is none."""
        return (self.test and self.test + ("" if self.in_room else " (another room)")) or (
            "SURVIVED" if self.decided else "undecided: out of time"
        )


def copy_checkout(target: Path) -> None:
    """Copy what git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git of the caller
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def room_of(module: str) -> tuple[str, ...]:
    """Return the folders of a module's room; none for a module at the top, whose room is the file of its tests."""
    folders = module.split(".")[1:-1]
    return tuple(folders[: 2 if folders[:1] and folders[0] in _DIVIDED else 1])


def _test_room(test: Path) -> tuple[str, ...]:
    """Return the folders of the room that a file below ``tests`` belongs to."""
    return room_of(".".join(test.with_suffix("").parts))


def imported(path: Path) -> set[str]:
    """Return the dotted names that a file imports, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


class Suite:
    """The modules of a checkout, and which tests belong to them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        source = root / "src" / PACKAGE
        self.modules = {
            ".".join((PACKAGE, *path.relative_to(source).with_suffix("").parts)): path
            for path in sorted(source.rglob("*.py"))
            if path.name != "__init__.py" and not {*path.relative_to(source).parts} & {*_NO_PROGRAM}
        }
        self._imports = {name: imported(path) for name, path in self.modules.items()}
        for name, path in self.modules.items():  # programs within sandboxes are read as texts
            text = path.read_text("utf-8")
            self._imports[name] |= {other for other, file in self.modules.items() if f'("{file.name}")' in text}
        helpers = {f"tests.support.{path.stem}": imported(path) for path in (root / "tests/support").glob("*.py")}
        self._tests: dict[Path, set[str]] = {}
        for path in sorted((root / "tests").rglob("test_*.py")):
            names = imported(path)
            self._tests[path] = names.union(*(helpers[name] for name in names & helpers.keys()))

    def belonging(self, module: str, *, everywhere: bool) -> Iterator[list[Path]]:
        """Yield files of tests, nearest first: that mirror a module, import it, import its importers, and so on.

        Those of its room come first, and all of them; those of other rooms follow where ``everywhere``.
        """
        room = [path for path in self._tests if _test_room(path.relative_to(self.root)) == room_of(module)]
        yield from self._rings(module, room)
        yield room
        if everywhere:
            yield from self._rings(module, [path for path in self._tests if path not in room])

    def _rings(self, module: str, tests: Sequence[Path]) -> Iterator[list[Path]]:
        # Each in a run of its own: within a run, files with long tests come first.
        yield from ([path] for path in tests if path.stem.endswith(f"_{self.modules[module].stem}"))
        near = {module}
        for _ in range(_RINGS + 1):
            yield [path for path in tests if self._tests[path] & near]
            near = near | {name for name, names in self._imports.items() if names & near}


class UndecidedError(Exception):
    """The time was over before all tests had run."""


class Runner:
    """Runs tests in a copy of the checkout: in forks of this process, which has imported what all tests import."""

    def __init__(self, root: Path) -> None:
        self._root = root
        for name in PRELOADED:
            with suppress(ImportError):
                importlib.import_module(name)

    def first_failure(self, tests: Sequence[str], deadline: float, *choice: str) -> str | None:
        """Return the first test that fails, or None.

        Raises:
            UndecidedError: The deadline came first.
        """
        with tempfile.TemporaryFile("w+") as output:
            pid = os.fork()
            if pid == 0:
                self._work(["-x", "-q", "-p", "no:cacheprovider", "--tb=no", *choice, *tests], output.fileno())
            try:
                code = self._wait(pid, deadline)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
            output.seek(0)
            said = output.read()
        found = _FAILED.search(said)
        if found is None and code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise SystemExit(f"pytest ends with {code}: {said[-2000:]}")
        return found and found[1]

    def _work(self, arguments: list[str], output: int) -> NoReturn:
        code = 1
        try:
            os.setsid()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.chdir(self._root)
            places = [str(self._root / "src"), str(self._root)]
            os.environ["PYTHONPATH"] = os.pathsep.join(places)
            sys.path[:] = [*places, *(place for place in sys.path if place not in ("", str(ROOT)))]
            for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
                del sys.modules[name]
            code = pytest.main(arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _wait(self, pid: int, deadline: float) -> int:
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise UndecidedError
            time.sleep(0.1)


def attempt(
    suite: Suite, runner: Runner, module: str, mutation: Mutation, minutes: float, *, everywhere: bool
) -> Outcome:
    """Change a module, run its tests until one fails, and restore it."""
    path = suite.modules[module]
    before = path.read_bytes()
    after = mutation.apply(before)
    name = str(path.relative_to(suite.root))
    diff = "".join(
        difflib.unified_diff(
            before.decode().splitlines(keepends=True), after.decode().splitlines(keepends=True), name, name, n=1
        )
    )
    deadline = time.monotonic() + 60 * minutes
    rings, seen = list[list[Path]](), set[Path]()
    for ring in suite.belonging(module, everywhere=everywhere):
        rings.append([test for test in ring if test not in seen])
        seen.update(ring)
    try:
        failed = _first_failure(suite, runner, path, rings, after, deadline)
    except UndecidedError:
        return Outcome(module, mutation, diff, None, decided=False)
    finally:
        _write(path, before, 2)
    return Outcome(module, mutation, diff, failed, decided=True)


def _first_failure(
    suite: Suite, runner: Runner, path: Path, rings: Sequence[Sequence[Path]], after: bytes, deadline: float
) -> str | None:
    """Return the first test that fails with this text of a module, and passes without."""
    before = path.read_bytes()
    for choice, ring in [(choice, ring) for choice in ("not long", "long") for ring in rings]:
        if not ring:
            continue
        # Another time of change: compiled files are recognised by whole seconds and by size.
        _write(path, after, 1)
        failed = runner.first_failure([str(test.relative_to(suite.root)) for test in ring], deadline, "-m", choice)
        _write(path, before, 2)
        if failed and runner.first_failure([failed], time.monotonic() + 600) is None:
            return failed
    return None


def _write(path: Path, text: bytes, seconds: int) -> None:
    moment = path.stat().st_mtime + seconds
    path.write_bytes(text)
    os.utime(path, (moment, moment))


def draw(suite: Suite, seed: int) -> Iterator[tuple[str, Mutation]]:
    """Yield modules, one of each room in turn, and a mutation of each: first its kind, then its place.

    A module's place in the draw and its mutation depend on its own name and text, so that a change of one module leaves
    the others drawn.
    """

    def numbers(name: str) -> random.Random:
        return random.Random(f"{seed} {name}")  # noqa: S311 - a sample, no secrets

    rooms: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(suite.modules, key=lambda name: numbers(name).random()):
        rooms.setdefault(room_of(name), []).append(name)
    turns = sorted(
        (turn, numbers(" ".join(room)).random(), name)
        for room, names in rooms.items()
        for turn, name in enumerate(names)
    )
    for _, _, name in turns:
        source = suite.modules[name].read_bytes()
        rng, possible = numbers(name), mutations(source)
        rng.shuffle(possible)
        kinds = sorted({one.kind for one in possible})
        rng.shuffle(kinds)
        possible.sort(key=lambda one: kinds.index(one.kind))
        chosen = next((one for one in possible if parses(one.apply(source))), None)
        if chosen:
            yield name, chosen


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Print each mutation with the test that failed, and a table at the end."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw (default 1)")
    parser.add_argument("--count", type=int, default=20, help="number of modules (default 20)")
    parser.add_argument("--minutes", type=float, default=10, help="time for the tests of one mutation (default 10)")
    parser.add_argument("--only", type=int, nargs="*", help="run these of the drawn mutations, counted from 1")
    parser.add_argument("--equivalent", type=int, nargs="*", default=[], help="draw others in place of these")
    parser.add_argument("--everywhere", action="store_true", help="run the tests of other rooms, too")
    chosen = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    outcomes: list[tuple[int, Outcome]] = []
    with tempfile.TemporaryDirectory(prefix="caretbench-mutated-", dir="/var/tmp") as folder:
        root = Path(folder)
        root.chmod(0o755)  # sandboxes read the package
        copy_checkout(root)
        suite, runner = Suite(root), Runner(root)
        numbered = enumerate(draw(suite, chosen.seed), 1)
        for number, (module, mutation) in islice(numbered, chosen.count + len(chosen.equivalent)):
            if chosen.only and number not in chosen.only:
                continue
            if number in chosen.equivalent:
                sys.stdout.write(f"{number}. equivalent: {module}:{mutation.line} {mutation.kind}\n\n")
                continue
            outcome = attempt(suite, runner, module, mutation, chosen.minutes, everywhere=chosen.everywhere)
            outcomes.append((number, outcome))
            sys.stdout.write(f"{number}. {mutation.kind}: {outcome.verdict}\n{outcome.diff}\n")
            sys.stdout.flush()
    sys.stdout.write("| | module | change | test that fails |\n| --- | --- | --- | --- |\n")
    for number, outcome in outcomes:
        place = f"`{outcome.module.removeprefix(PACKAGE + '.')}`:{outcome.mutation.line}"
        sys.stdout.write(f"| {number} | {place} | {outcome.mutation.kind} | {outcome.verdict} |\n")
    killed = sum(one.in_room for _, one in outcomes)
    sys.stdout.write(f"{killed} of {len(outcomes)} made a test of their own room fail\n")


if __name__ == "__main__":
    main()
