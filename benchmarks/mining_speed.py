"""What mining a clone costs: CPU of reading and parsing, CPU of the whole mining, peak memory.

Usage: python benchmarks/mining_speed.py [--commits COUNT] [CLONE ...]
Without a clone, one with COUNT commits is generated. CPU is that of this process and of git; aims for 5,000 commits:
6 s for reading and parsing, 25 s for all of it.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from caretbench.build.sources.git.git_repository import open_repository
from caretbench.build.sources.git.history import list_commits
from caretbench.build.sources.git.patches import PatchLimits, SkippedCommit, read_diffs
from caretbench.build.sources.git_mining import MiningPeriod, mine_git

FILES = 300
LINES = 250
WORDS = ("buffer", "client", "count", "delay", "engine", "filter", "handle", "index", "limit", "node", "route", "state")


def spent() -> float:
    """CPU seconds of this process and of those it waited for."""
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in usage)


def peak(who: int = resource.RUSAGE_SELF) -> float:
    """The most memory so far, in MB."""
    return resource.getrusage(who).ru_maxrss / 1024


def commits(count: int) -> Iterator[bytes]:
    """A ``git fast-import`` stream: a few files change in each commit, about 10 KB of patch."""
    chance = random.Random(1)  # noqa: S311 - the same history each time

    def line() -> str:
        return f"    {chance.choice(WORDS)}_{chance.randrange(1000)} = {chance.choice(WORDS)}({chance.randrange(1000)})"

    texts = {f"src/part{n % 20}/file{n}.py": [line() for _ in range(LINES)] for n in range(FILES)}
    changed = list(texts)
    for number in range(count):
        for path in changed if number else ():
            text = texts[path]
            for _ in range(chance.randrange(1, 6)):
                start = chance.randrange(len(text))
                text[start : start + chance.randrange(8)] = [line() for _ in range(chance.randrange(9))]
        message = f"part: change {number} (#{number})\n\nThe {chance.choice(WORDS)} was too large for it.\n".encode()
        about = f"A <a@example.com> {1_600_000_000 + 3600 * number} +0000\n"
        yield (f"commit refs/heads/main\nauthor {about}committer {about}data {len(message)}\n".encode() + message)
        for path in changed:
            data = "\n".join(texts[path]).encode()
            yield f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"
        changed = chance.sample(list(texts), chance.randrange(1, 9))


def generate(folder: Path, count: int) -> None:
    """Write such a history."""
    git = shutil.which("git") or "git"
    subprocess.run([git, "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    command = [git, "-C", str(folder), "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None  # noqa: S101
        for part in commits(count):
            process.stdin.write(part)
    if process.returncode:
        raise SystemExit("git fast-import failed")


def measure(clone: Path, count: int, folder: Path) -> None:
    """Read and parse the newest commits, then mine them; say what it cost."""
    begin = spent()
    with open_repository(clone) as repository:
        shas = [commit.sha for commit in list_commits(repository) if commit.parents][:count]
        kinds: Counter[str] = Counter()
        size = 0
        for diff in read_diffs(repository, shas, PatchLimits()):
            kinds["unreadable" if isinstance(diff, SkippedCommit) else "read"] += 1
            size += 0 if isinstance(diff, SkippedCommit) else sum(file.characters for file in diff.files)
    parsed = spent()
    parsing = peak()
    out = folder / "pull_requests.jsonl"
    mined = mine_git(clone, out, MiningPeriod(limit=count))
    sys.stdout.write(
        f"{clone}: {len(shas)} commits, {size / 1e6:.1f} M characters of patches ({dict(kinds)})\n"
        f"  reading and parsing {parsed - begin:.2f} s CPU, peak memory {parsing:.0f} MB\n"
        f"  the whole mining {spent() - parsed:.2f} s CPU, peak memory {peak():.0f} MB"
        f" (git {peak(resource.RUSAGE_CHILDREN):.0f} MB)\n"
        f"  {mined.written} records, {out.stat().st_size / 1e6:.1f} MB; skipped: {mined.skipped_by_reason or 'none'}\n"
    )
    out.unlink()


def main() -> None:
    """Measure each clone, or a generated one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="*", type=Path)
    parser.add_argument("--commits", type=int, default=5000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clones: list[Path] = arguments.clones
        if not clones:
            clones = [folder / "generated.git"]
            generate(clones[0], arguments.commits)
        for clone in clones:
            measure(clone, arguments.commits, folder)


if __name__ == "__main__":
    main()
