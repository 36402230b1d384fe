"""The starter set: problems built from functions and sample programs of our own, all valid by the gate.

``benchmarks/c3bench_starter.py`` builds it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from caretbench.files import read_rows
from caretbench.problem import Problem


def starter_folder() -> Path:
    """Return the folder of the starter set in the package: ``functions/`` and ``problems.jsonl``."""
    return Path(str(resources.files("caretbench.suites.c3bench"))) / "starter_set"


def load() -> list[Problem]:
    """Return the problems of the starter set."""
    return list(read_rows(starter_folder() / "problems.jsonl", Problem))
