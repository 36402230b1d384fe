"""Mutation testing of the package: small changes of single lines, and the tests that notice them.

Usage: python -m benchmarks.mutate_tests [--seed N] [--count N] [--minutes N]
Draws modules of the package, changes one line in each (benchmarks/mutations.py), and runs the tests that belong to it:
first those that mirror or import the module, then those that import what imports it, then those
of its room; short ones before long ones. A test counts only if it passes again without the change. Works on a copy of
the checkout in a temporary folder: the checkout itself is only read.
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
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

from benchmarks.mutations import Mutation, mutations, parses

ROOT = Path(__file__).parents[1]
PACKAGE = "caretbench"
PRELOADED = ("polars", "pydantic", "rich", "scipy.stats", "tree_sitter", "typer")
"""Imported once for all runs; no plugins of pytest, whose assertions it rewrites."""
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
    def verdict(self) -> str:
        """The test, or why there is none."""
        return self.test or ("SURVIVED" if self.decided else "undecided: out of time")


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

    def belonging(self, module: str) -> Iterator[list[Path]]:
        """Yield files of tests, nearest first: that mirror or import a module, that import its importers, and so on."""
        near, seen = {module}, set[Path]()
        stem = self.modules[module].stem
        for ring in range(_RINGS + 1):
            found = [
                path
                for path, names in self._tests.items()
                if path not in seen and (names & near or (not ring and path.stem.endswith(f"_{stem}")))
            ]
            # Those that are about little else first.
            yield sorted(found, key=lambda path: (not path.stem.endswith(f"_{stem}"), len(self._tests[path])))
            seen.update(found)
            near = near | {name for name, names in self._imports.items() if names & near}
        room = self.root / "tests" / module.split(".")[1]
        yield [path for path in self._tests if path.parent.is_relative_to(room) and path not in seen]


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


def attempt(suite: Suite, runner: Runner, module: str, mutation: Mutation, minutes: float) -> Outcome:
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
    try:
        failed = _first_failure(suite, runner, module, after, deadline)
    except UndecidedError:
        return Outcome(module, mutation, diff, None, decided=False)
    finally:
        _write(path, before, 2)
    return Outcome(module, mutation, diff, failed, decided=True)


def _first_failure(suite: Suite, runner: Runner, module: str, after: bytes, deadline: float) -> str | None:
    """Return the first test of those that belong to a module that fails with this text of it, and passes without."""
    path = suite.modules[module]
    before = path.read_bytes()
    rings = list(suite.belonging(module))
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


def draw(suite: Suite, seed: int, count: int) -> Iterator[tuple[str, Mutation]]:
    """Draw so many modules, each as likely as any other, and a mutation of each: first its kind, then its place."""
    rng = random.Random(seed)  # noqa: S311 - a sample, no secrets
    names = list(suite.modules)
    rng.shuffle(names)
    for name in names:
        source = suite.modules[name].read_bytes()
        possible = mutations(source)
        rng.shuffle(possible)
        kinds = sorted({one.kind for one in possible})
        rng.shuffle(kinds)
        possible.sort(key=lambda one: kinds.index(one.kind))
        chosen = next((one for one in possible if parses(one.apply(source))), None)
        if chosen:
            yield name, chosen
            count -= 1
        if not count:
            return


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Print each mutation with the test that failed, and a table at the end."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw (default 1)")
    parser.add_argument("--count", type=int, default=20, help="number of modules (default 20)")
    parser.add_argument("--minutes", type=float, default=10, help="time for the tests of one mutation (default 10)")
    parser.add_argument("--only", type=int, nargs="*", help="run these of the drawn mutations, counted from 1")
    chosen = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    outcomes: list[tuple[int, Outcome]] = []
    with tempfile.TemporaryDirectory(prefix="caretbench-mutated-", dir="/var/tmp") as folder:
        root = Path(folder)
        root.chmod(0o755)  # sandboxes read the package
        copy_checkout(root)
        suite, runner = Suite(root), Runner(root)
        for number, (module, mutation) in enumerate(draw(suite, chosen.seed, chosen.count), 1):
            if chosen.only and number not in chosen.only:
                continue
            outcome = attempt(suite, runner, module, mutation, chosen.minutes)
            outcomes.append((number, outcome))
            sys.stdout.write(f"{number}. {mutation.kind}: {outcome.verdict}\n{outcome.diff}\n")
            sys.stdout.flush()
    sys.stdout.write("| | module | change | test that fails |\n| --- | --- | --- | --- |\n")
    for number, outcome in outcomes:
        place = f"`{outcome.module.removeprefix(PACKAGE + '.')}`:{outcome.mutation.line}"
        sys.stdout.write(f"| {number} | {place} | {outcome.mutation.kind} | {outcome.verdict} |\n")
    sys.stdout.write(f"{sum(one.test is not None for _, one in outcomes)} of {len(outcomes)} made a test fail\n")


if __name__ == "__main__":
    main()
