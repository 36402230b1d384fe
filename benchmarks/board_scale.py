"""Cost and size of a board of simulated models: 60 on five sets of 500 problems.

    python benchmarks/board_scale.py FOLDER

Wanted: at most two minutes of CPU, pages of at most 5 MB, and the same bytes in two sites.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from caretbench.files import write_rows
from caretbench.problem import Completion, Score
from caretbench.reports.board.board import make_board
from caretbench.reports.board.board_site import write_site
from caretbench.runs.run_folder import DataInfo, Manifest, ModelInfo, RunFolder
from caretbench.suites import load_problems, load_suite

MODELS, SUITES, PROBLEMS = 60, 5, 500


def write_run(path: Path, number: int, random: np.random.Generator) -> None:
    """Write a run whose passes are drawn from abilities and difficulties."""
    folder = RunFolder(path)
    path.mkdir(parents=True)
    kind = load_problems(load_suite("devbench"), "starter").problems[0]
    problems = [
        kind.model_copy(update={"id": f"simulated/{place}", "cluster": f"{place}"}) for place in range(PROBLEMS)
    ]
    folder.write_problems(problems)
    names = [f"model-{place:02}" for place in range(MODELS)]
    data = DataInfo(name=f"set{number}", hash=f"{number}" * 64, problems=PROBLEMS, selected=PROBLEMS)
    models = [ModelInfo(model=name, source="recorded", parameters="recorded") for name in names]
    folder.write_manifest(Manifest(suite="devbench", data=data, models=models, policy="syntax@4", profile="default"))
    chances = 1 / (1 + np.exp(random.normal(0, 1.5, PROBLEMS) - np.arange(MODELS)[:, None] / 40))
    passed = random.random((MODELS, PROBLEMS)) < chances
    keys = [
        {"problem_id": problem.id, "model": name, "parameters": "recorded", "sample": 0}
        for name in names
        for problem in problems
    ]
    write_rows(folder.completions_path, [Completion(**key, text="x") for key in keys])
    verdict = {"scorer": "execution@1", "policy": "syntax@4", "profile": "default", "counted": True}
    write_rows(
        folder.scores_path,
        [
            Score(**key, **verdict, outcome="passed" if won else "failed", values={"passed": float(won)})
            for key, won in zip(keys, passed.ravel(), strict=True)
        ],
    )


def main() -> None:
    """Write the runs and two sites of them into a new folder, and print cost and size."""
    root, random = Path(sys.argv[1]), np.random.default_rng(0)
    for number in range(SUITES):
        write_run(root / "runs" / f"run{number}", number, random)
    sites = []
    for name in ("one", "two"):
        begun = time.process_time()
        write_site(*make_board([root / "runs"]), root / name, (), "nobody")
        print(f"{time.process_time() - begun:.0f} s of CPU")  # noqa: T201  # a script's output
        files = sorted(path for path in (root / name).rglob("*") if path.is_file())
        sites.append({path.relative_to(root / name): path.read_bytes() for path in files})
    pages = sum(len(content) for path, content in sites[0].items() if path.suffix == ".html")
    same = "the same" if sites[0] == sites[1] else "other"
    print(f"{pages / 1e6:.1f} MB of pages, {same} bytes twice")  # noqa: T201  # a script's output


if __name__ == "__main__":
    main()
