"""Count wrong answers that a project's whole suite fails and the deciding tests of a Codev-Bench problem pass.

Usage: python benchmarks/deciding_tests.py FOLDER [--answers N] [--jobs N]

FOLDER is that of a build (`--candidates-only` is enough). Wrong answers of each span: without its construct (as text,
too), the reference with code after it, then mutants and wrong values in a random order with a fixed seed.
"""

from __future__ import annotations

import argparse
import random
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from caretbench.build.project_tasks.task_folder import TaskFolder
from caretbench.build.validation.mutants import added_code, changed_references, in_file, removed_constructs
from caretbench.execution.execution_types import Status
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.problem import InlineSplice, Problem
from caretbench.projects.answer_requests import (
    file_splice,
    get_tests_check,
    original_file,
    store_projects,
    workspace_request,
)


def without_header(reference: str) -> Iterator[str]:
    """Yield the body of a construct of Python without its header, as a model writes that forgets the condition."""
    header, *body = reference.split("\n")
    if not header.rstrip().endswith(":") or not body:
        return
    own = len(body[0]) - len(body[0].lstrip())
    inner = [line for line in body if not line.strip() or len(line) - len(line.lstrip()) >= own]
    yield textwrap.indent(textwrap.dedent("\n".join(inner)), " " * max(0, own - 4)).lstrip()


def wrong_answers(problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield the wrong answers to a problem, with their kind."""
    splice = file_splice(problem)
    inside = in_file(problem, original_file(splice.snapshot, splice.path))
    assert isinstance(inside.splice, InlineSplice)  # noqa: S101  in_file makes one
    yield from (("removed", one.text) for one in removed_constructs(inside))
    yield from (("without header", text) for text in without_header(problem.reference))
    behind = inside.splice.model_copy(update={"before": inside.splice.before + problem.reference})
    ended = inside.model_copy(update={"reference": "", "splice": behind})
    yield from (("too much", problem.reference + one.text) for one in list(added_code(ended))[:2])
    changed = [("mutant", one.text) for one in changed_references(inside)]
    random.Random(problem.id).shuffle(changed)  # noqa: S311  a sample
    yield from changed


def main() -> None:
    """Run them and print the counts, and each wrong answer that only the whole suite fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--answers", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    store_projects([(place.name, place) for place in (given.folder / "snapshots").iterdir()])
    tried: dict[str, tuple[Problem, str, str]] = {}
    for problem in TaskFolder(given.folder).candidates():
        texts = {problem.reference.strip()}
        for kind, text in wrong_answers(problem):
            if text.strip() not in texts and len(texts) <= given.answers:
                texts.add(text.strip())
                tried[f"{problem.id} {len(texts)}"] = (problem, kind, text)
    engine = WorkspaceExecutor(given.jobs, use_cache=False)

    def request(name: str, *, whole: bool) -> WorkspaceRequest:
        problem, _, text = tried[name]
        everything = get_tests_check(problem).model_copy(update={"tests": (), "minimum_tests": 0, "reference_s": None})
        asked = problem.model_copy(update={"checks": (everything,)}) if whole else problem
        return workspace_request(asked, text).model_copy(update={"id": name, "reference_cpu_s": None})

    deciding = {one.id: one.status for one in engine.submit(request(name, whole=False) for name in tried)}
    # What the deciding tests fail, the whole suite fails too.
    passing = [name for name, status in deciding.items() if status is Status.PASSED]
    missed = [one.id for one in engine.submit(request(name, whole=True) for name in passing) if one.status.kills_mutant]
    engine.close()
    caught = Counter(tried[name][1] for name, status in deciding.items() if status.kills_mutant or name in missed)
    sys.stdout.writelines(f"missed: {tried[name][1]}: {name}: {tried[name][2]!r}\n" for name in missed)
    sys.stdout.write(f"{len(missed)} of {caught.total()} missed ({dict(caught)}; {len(tried)} tried)\n")


if __name__ == "__main__":
    main()
