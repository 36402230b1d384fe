"""One checkout, driven by its command line in a temporary folder, and the problems that are chosen for it."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.safety_net.values import Values, rows

PROBLEMS = 60
SEED = 11
LINKED = ("bundles", "dotnet", "tools", "models")
# Languages of released problems whose bundles `caretbench deps build` completes without packages of the system.
BUNDLED = ("python", "javascript", "typescript", "csharp")
# Released problems with answers that race: the same program passes in one run and fails in the next.
RACING = ("typescript/code_purpose/9",)


def say(text: str) -> None:
    """Write a line to standard error at once."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a script


def git(folder: Path, *arguments: str) -> bytes:
    """Return the output of git in a folder."""
    program = shutil.which("git") or "git"
    return subprocess.run([program, "-C", str(folder), *arguments], check=True, capture_output=True).stdout


@dataclass
class Net:
    """One checkout in a temporary folder: its commands, the chosen problems, the values found."""

    checkout: Path
    folder: Path
    data: Path | None
    chosen: dict[str, list[str]]
    problems: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def command(self, *arguments: str, values: Values | None = None) -> Any:
        """Return the JSON output of a command; its exit status joins ``values`` where it is not 0."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CARETBENCH_")}
        environment |= {"CARETBENCH_CACHE": str(self.folder / "cache"), "HOME": str(self.folder / "home")}
        environment["OPENAI_API_KEY"] = "none"
        program = self.checkout / ".venv" / "bin" / "caretbench"
        done = subprocess.run(
            [str(program), *arguments, "--json"],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            short = " ".join(one if len(one) < 80 else f"{one[:60]}…" for one in arguments)
            say(f"  status {done.returncode}: {short}: {done.stderr[-400:]}")
            if values is not None:
                values[f"status/{arguments[0]}"] = done.returncode
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            return {}

    def data_of(self, name: str) -> str | None:
        """Return the value of ``--data`` for a set of problems, none where it is not on this machine."""
        _, found, kind = name.partition("-")
        if not found:
            return "starter"
        return str(self.data / "devbench") if self.data and kind == "released" else None

    def load(self, name: str) -> dict[str, dict[str, Any]]:
        """Return all problems of a set by id, and choose among them where no record has chosen yet."""
        if name not in self.problems:
            suite, data = name.partition("-")[0], self.data_of(name) or "starter"
            folder = self.folder / f"all-{name}"
            self.command("score", suite, "--data", data, "--baseline", "empty", "--no-execute", "--no-html", "-o",
                         str(folder))  # fmt: skip
            self.problems[name] = {row["id"]: row for row in rows(folder / "problems.jsonl")}
            if name not in self.chosen:
                self.chosen[name] = choose(list(self.problems[name].values()), released=data != "starter")
            # A set that was built anew has new ids: six of SimCopilot's sixty went with the gate of stricter mutants.
            gone = [identity for identity in self.chosen[name] if identity not in self.problems[name]]
            if gone:
                say(f"  {name}: {len(gone)} of {len(self.chosen[name])} chosen problems are gone: {', '.join(gone)}")
                self.chosen[name] = [identity for identity in self.chosen[name] if identity not in gone]
        return self.problems[name]

    def select(self, name: str, count: int = PROBLEMS) -> tuple[str, ...]:
        """Return the options that select evenly spread problems of those chosen."""
        self.load(name)
        ids = self.chosen[name]
        return "--select", "id=" + "|".join(ids[:: max(1, len(ids) // count)][:count])


def choose(problems: Sequence[Mapping[str, Any]], *, released: bool) -> list[str]:
    """Return the ids of evenly spread problems, one drawn from each part of the set."""
    able = [
        row["id"]
        for row in problems
        if not released
        or (row["labels"]["language"] in BUNDLED and not any(check.get("needs") for check in row["checks"]))
    ]
    chooser = random.Random(SEED)  # noqa: S311 - no secret
    edges = [len(able) * number // PROBLEMS for number in range(PROBLEMS + 1)]
    drawn = [able[chooser.randrange(low, high)] for low, high in pairwise(edges) if low < high]
    return [identity for identity in drawn if identity not in RACING]


@contextmanager
def opened(checkout: Path, chosen: dict[str, list[str]]) -> Iterator[Net]:
    """Yield a net in a temporary folder that sandboxed users can read, with the machine's bundles."""
    places = (os.environ.get("CARETBENCH_CACHE"), Path.home() / ".cache" / "caretbench", "/var/cache/caretbench")
    machine = next((Path(place) for place in places if place and (Path(place) / "bundles").exists()), Path())
    data = os.environ.get("CARETBENCH_TEST_DATA")
    with tempfile.TemporaryDirectory(prefix="safety-net-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        for one in (folder, folder / "cache", folder / "home"):
            one.mkdir(exist_ok=True)
            one.chmod(0o755)
        for name in LINKED:
            if (machine / name).exists():
                (folder / "cache" / name).symlink_to((machine / name).resolve())
        yield Net(checkout.resolve(), folder, Path(data).resolve() if data else None, chosen)
