"""Made-up changes of which every task of EFCB gets problems: as records, as a git history, and built."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from caretbench.build.sources.pull_request import FileChange, PullRequest
from caretbench.suites.efcb.build.build_folder import EfcbFolder
from caretbench.suites.efcb.build.changes import EfcbOptions
from caretbench.suites.efcb.build.problem_building import BuiltProblems, build_problems
from caretbench.suites.efcb.problem_metadata import seeded_random
from tests.support.git_repository import DAY, EPOCH, History

_NAMES = ("left", "right", "total", "count", "limit", "offset", "result", "buffer")
_THINGS = ("cache", "socket", "route", "peer", "timer", "store", "packet", "token", "filter", "queue")
_VERBS = ("drain", "merge", "split", "probe", "flush", "rank")


class Written:
    """One change: its message, its file, and the lines it adds."""

    def __init__(self, number: int, seed: int = 0) -> None:
        draw = seeded_random(seed, "a change", str(number))
        names = draw.sample(_NAMES, 5)
        thing, other, verb = *draw.sample(_THINGS, 2), draw.choice(_VERBS)
        lines = []
        for step in range(draw.randint(16, 24)):
            one, two, three = draw.choice(names), draw.choice(names), draw.choice(names)
            use = f"{one}.{draw.choice(_VERBS)}({two}, {step})"
            lines.append(use if draw.random() < 0.4 else f"{one} = {thing}{step % 4}({two}, {three})")
        self.ruby = number % 3 == 0
        head = f"def {verb}{number}({', '.join(names)})" if self.ruby else (
            f"func {verb}{number}({', '.join(names)} int) {{"
        )  # fmt: skip
        self.path = f"{thing}/{verb}{number}.{'rb' if self.ruby else 'go'}"
        self.code = "\n".join([head, *(f"\t{line}" for line in lines), "end" if self.ruby else "}"]) + "\n"
        self.title = f"{thing}: {verb} the {other} {number} times"
        self.description = (
            f"The {thing} used to {draw.choice(_VERBS)} every {other} that it saw. It now asks the "
            f"{draw.choice(_THINGS)} first, so that nothing is lost when number {number} comes late."
        )


def changes(count: int, repo: str = "owner/name", seed: int = 0) -> list[PullRequest]:
    """Records of so many changes, merged a day apart."""
    made = []
    for number in range(count):
        one = Written(number, seed)
        lines = one.code.removesuffix("\n").split("\n")
        patch = f"@@ -0,0 +1,{len(lines)} @@\n" + "\n".join(f"+{line}" for line in lines)
        made.append(
            PullRequest(
                repo=repo,
                number=number + 1,
                kind="squash",
                source="git",
                title=one.title,
                description=one.description,
                base_sha="b" * 40,
                merge_sha=seeded_random(seed, repo, str(number)).randbytes(20).hex(),
                merged_at=f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T00:00:00Z",
                license="MIT",
                files=(FileChange(path=one.path, status="added", additions=len(lines), patch=patch),),
            )
        )
    return made


def write_history(folder: Path, count: int, *, first: int = 0) -> History:
    """A clone with so many changes; ``History.write`` has not been called yet for further ones."""
    history = History(folder)
    history.commit("Begin", {"README": "begin\n"}, time=EPOCH)
    for number in range(first, first + count):
        one = Written(number)
        message = f"{one.title} (#{number + 1})\n\n{one.description}\n"
        history.commit(message, {one.path: one.code}, time=EPOCH + DAY * (number + 1))
    return history


@lru_cache(maxsize=4)
def _built(count: int, options: EfcbOptions) -> BuiltProblems:
    return build_problems(records(count), options)


def records(count: int) -> list[PullRequest]:
    """Changes of two repositories."""
    return [*changes(count), *changes(count // 2, "other/one", seed=1)]


def build_tasks(folder: Path, count: int = 16, options: EfcbOptions | None = None) -> Path:
    """A folder as ``caretbench build efcb`` writes it."""
    built = _built(count, options or EfcbOptions())
    pulls: Sequence[PullRequest] = records(count)
    made = EfcbFolder(folder)
    made.write_build(built.make_manifest(pulls, (), {}), built.problems, built.rejected, built.leaks, usable=True)
    return folder
