"""Literal installation commands in jobs of GitHub workflows that test the project.

The files are read as lines: a job is what is indented below its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from caretbench.build.projects.setup.project_tables import read_text
from caretbench.build.projects.setup.python.need_names import PythonNeeds, is_other_work, joined_needs, need_rules
from caretbench.build.projects.setup.python.pip_arguments import installer_needs
from caretbench.execution.workspaces.snapshot_store import Snapshot

_WORKFLOW: Final = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_KEY: Final = re.compile(r"(?P<indent> +)(?P<name>['\"]?[\w-]+['\"]?):\s*(?:#.*)?")
_RUN: Final = re.compile(r"\s*(?:-\s+)?run:\s*(?:[|>][-+\d]*\s*)?(?P<rest>.*)")
_QUOTED: Final = re.compile(r"(['\"])(.*)\1")
_MOST_CHARACTERS: Final = 500_000


def workflow_needs(snapshot: Snapshot) -> PythonNeeds:
    """Return what installation commands in jobs with a test runner name."""
    paths = sorted(path for path in snapshot.entries if _WORKFLOW.fullmatch(path))
    texts = ((read_text(snapshot, path) or "")[:_MOST_CHARACTERS] for path in paths)
    return joined_needs(needs for text in texts for name, job in _jobs(text) for needs in _job_needs(name, job))


def _jobs(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield name and lines of each job."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if re.fullmatch(r"jobs:\s*(?:#.*)?", line)), len(lines))
    indent, name, job = "", "", list[str]()
    for line in lines[start + 1 :]:
        if line.strip() and not line.startswith((" ", "#")):
            break
        key = _KEY.fullmatch(line)
        indent = indent or (key["indent"] if key else "")
        if key and key["indent"] == indent:
            yield name, job
            name, job = key["name"].strip("'\""), []
        elif not line.lstrip().startswith("#"):
            job.append(line)
    yield name, job


def _job_needs(name: str, job: list[str]) -> Iterator[PythonNeeds]:
    if is_other_work(name) or need_rules().ci_runner.search("\n".join(job)) is None:
        return
    for line in re.sub(r"\\\n\s*", " ", "\n".join(job)).splitlines():
        found = _RUN.fullmatch(line)
        command = found["rest"] if found else line.strip()
        quoted = _QUOTED.fullmatch(command)
        yield installer_needs(quoted[2] if quoted else command)
