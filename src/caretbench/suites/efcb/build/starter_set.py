"""The starter set: problems of a repository that is the same on every machine.

``starter/history.fi.gz`` is its history, as ``git fast-export`` writes it: 250 commits of a shop that delivers, grown
from the sample projects. ``python -m caretbench.suites.efcb.build.starter_set FOLDER`` writes the repository, to look
at it or to build from it. To change it, change the written repository, and store what
``git fast-export main | gzip -9n`` writes. ``starter/problems.jsonl.xz``, which the suite loads, has the rows of
:func:`starter_problems`.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, Final

from caretbench.build.sources.git_mining import mine_git
from caretbench.build.sources.pull_request import PullRequest
from caretbench.errors import DataError, MachineError
from caretbench.files import read_packaged_toml, read_rows, sha256_text
from caretbench.problem import Problem
from caretbench.suites.efcb.build.changes import EfcbOptions, render_patch
from caretbench.suites.efcb.build.choices.choice_problems import ChoiceItem, choice_problems
from caretbench.suites.efcb.build.choices.gmcq_hard import SetTexts, four_text_questions
from caretbench.suites.efcb.build.problem_building import build_problems
from caretbench.suites.efcb.problem_metadata import TASKS, EfcbTask

STARTER_REPOSITORY_NAME: Final = "cornershop/cornershop"
"""Name of the repository in records."""


def write_repository(target: Path, *, bare: bool = False) -> str:
    """Write the repository into a new or empty folder, and return the hash of its last commit.

    Raises:
        DataError: the folder is not empty.
        MachineError: git is missing, or fails.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target}: is no empty folder")
    target.mkdir(parents=True, exist_ok=True)
    # Templates of the machine's git would add hooks and settings to the folder.
    _git(target, "init", "--quiet", "--initial-branch=main", "--template=", *(["--bare"] if bare else []))
    history = (resources.files("caretbench.suites.efcb") / "starter/history.fi.gz").read_bytes()
    _git(target, "fast-import", "--quiet", stdin=gzip.decompress(history))
    if not bare:
        _git(target, "reset", "--quiet", "--hard")
    return _git(target, "rev-parse", "HEAD").strip()


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    program = shutil.which("git")
    if program is None:
        raise MachineError("git is missing: the starter set of efcb is a repository that it writes; install git")
    # Settings of the user, of the machine and of a calling git are ignored.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # A user whose git makes SHA-256 repositories would get other commits, and so other problems.
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_DEFAULT_HASH": "sha1"}
    done = subprocess.run(
        [program, *arguments], cwd=folder, input=stdin, capture_output=True, check=False, env=environment
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
        raise MachineError(f"git {arguments[0]} failed: {said}")
    return done.stdout.decode("utf-8", "replace")


def main(arguments: list[str]) -> int:
    """Write the repository into the given folder, and return the exit status."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m caretbench.suites.efcb.build.starter_set FOLDER\n")
        return 2
    try:
        head = write_repository(Path(arguments[0]))
    except (DataError, MachineError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{arguments[0]}: {STARTER_REPOSITORY_NAME}, at {head}\n")
    return 0


_DIGITS: Final = 12


def starter_problems(pulls: Sequence[PullRequest]) -> list[Problem]:
    """Return the problems of the mined repository: default profile, seed 0, without leak report."""
    # By the changes' own texts GMCQ-Hard is answered without them.
    tasks = [task for task in TASKS if task != EfcbTask.HARD]
    problems = list[Problem](build_problems(pulls, EfcbOptions(), tasks, with_leak_report=False).problems)
    problems += version_problems(pulls)
    return sorted(problems, key=lambda problem: problem.id)


def starter_versions() -> list[dict[str, Any]]:
    """Return the sets of ``starter/versions.toml``: two edits of a change, and what the code does with and without."""
    sets: list[dict[str, Any]] = read_packaged_toml("caretbench.suites.efcb", "starter/versions.toml")["set"]
    return sets


def version_problems(pulls: Sequence[PullRequest]) -> Iterator[Problem]:
    """Yield the problems of GMCQ-Hard: four texts for four versions of a change, written by people."""
    by_title = {pull.title: pull for pull in pulls}
    options = EfcbOptions()
    for versions in starter_versions():
        pull = by_title[versions["change"]]
        choices, texts = [], []
        for made in product((False, True), repeat=2):
            version, told = render_patch(pull).text, []
            for is_made, edit in zip(made, (versions["first"], versions["second"]), strict=True):
                line = edit["edited"] if is_made else edit["line"]
                version = version.replace(f"\n+{edit['line']}\n", f"\n+{line}\n")
                told.append(edit["edited_text"] if is_made else edit["text"])
            choices.append(version)
            texts.append(" ".join(told))
        item = ChoiceItem(pull, EfcbTask.HARD, "", tuple(choices), 0, (), {})
        name = sha256_text(versions["change"])[:_DIGITS]
        for question in four_text_questions(item, SetTexts(tuple(texts), "people"), name, options.seed):
            yield from choice_problems(question, options)


def mine_starter(folder: Path) -> list[PullRequest]:
    """Write the repository into a folder, and mine it."""
    write_repository(folder / "repository", bare=True)
    records = folder / "pull_requests.jsonl"
    mine_git(folder / "repository", records, name=STARTER_REPOSITORY_NAME)
    return list(read_rows(records, PullRequest))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
