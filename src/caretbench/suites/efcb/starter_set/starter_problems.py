"""The starter set: problems of a generated repository that is the same on every machine.

``python -m caretbench.suites.efcb.starter_set.write_starter FOLDER`` writes the repository, to look at it or to build
from it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

from caretbench.build.sources.git_mining import mine_git
from caretbench.build.sources.pull_request import PullRequest
from caretbench.files import cache_folder, read_rows, sha256_text, write_rows
from caretbench.problem import Problem
from caretbench.suites.efcb.build.options import EfcbOptions
from caretbench.suites.efcb.build.problem_building import build_problems
from caretbench.suites.efcb.starter_set.starter_history import read_files
from caretbench.suites.efcb.starter_set.write_starter import STARTER_REPOSITORY_NAME, write_repository
from caretbench.temporary import temporary_folder
from caretbench.versions import versions

_DIGITS: Final = 12
# The problems depend on the history, and on the code that mines and builds.
_MADE_OF: Final = ("samples", "suites/efcb", "build/sources", "syntax")


def load_starter_problems() -> list[Problem]:
    """Return the problems, built at first use and then read from the cache.

    Default profile, seed 0, without leak report. Several processes may build at once; all write the same.

    Raises:
        MachineError: the problems have to be built, and git is missing.
    """
    path = cache_folder() / "data" / f"efcb-starter-{_digits()}" / "problems.jsonl"
    if not path.exists():
        with temporary_folder("efcb-starter") as folder:
            write_rows(path, build_problems(mine_starter(folder), EfcbOptions(), with_leak_report=False).problems)
    return list(read_rows(path, Problem))


def mine_starter(folder: Path) -> list[PullRequest]:
    """Write the repository into a folder, and mine it.

    Raises:
        MachineError: git is missing.
    """
    write_repository(folder / "repository", bare=True)
    records = folder / "pull_requests.jsonl"
    mine_git(folder / "repository", records, name=STARTER_REPOSITORY_NAME)
    return list(read_rows(records, PullRequest))


def _digits() -> str:
    package = resources.files("caretbench")
    parts = [
        text for folder in _MADE_OF for path, text in read_files(package / folder).items() for text in (path, text)
    ]
    return sha256_text(*versions().values(), *parts)[:_DIGITS]
