"""Settings of a bench: the table ``[bench]`` of ``caretbench.toml``, overridden by options."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from pydantic import Field

from caretbench.files import validated
from caretbench.problem import Row
from caretbench.projects.settings import SETTINGS_FILE, read_settings

STATE: Final = ".caretbench"
"""Folder of all that a bench writes, in the repository; it ignores itself in git, and no snapshot has it."""
SUITES: Final = ("simcopilot", "codevbench")
"""Suites that are built of a project and its tests without a model."""


class BenchSettings(Row):
    """Settings of a bench.

    ``problems`` is the number of problems of each suite, about: a build examines so many blocks (Codev-Bench half of
    it, as a block gives two problems on average), and a fourth more where some are new.
    ``alpha`` is the level of each test: by default 0.05 divided by 26, for a year of weekly benches.
    """

    suites: tuple[str, ...] = Field(default=SUITES, min_length=1)
    models: tuple[str, ...] = ()
    problems: int = Field(default=60, ge=1)
    max_tokens: int = Field(default=400, ge=1)
    temperature: float = Field(default=0.0, ge=0, le=2)
    alpha: float = Field(default=0.05 / 26, gt=0, lt=1)


def bench_settings(root: Path) -> BenchSettings:
    """Return the settings of a repository.

    Raises:
        DataError: the file is malformed; the message names the key.
    """
    return validated(BenchSettings, dict(read_settings(root).bench), root / SETTINGS_FILE)


def git_answer(root: Path, *question: str) -> str:
    """Return what git answers about a repository; empty without git, a repository or an answer."""
    command = ["git", "-C", str(root), *question]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
