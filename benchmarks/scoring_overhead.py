"""What the scoring stage costs beside the programs: CPU per completion and memory, with an executor that runs nothing.

Usage: python benchmarks/scoring_overhead.py DATA [COUNT]   (DATA: the released layout, with recorded completions)
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Isolation, Status
from caretbench.extraction.policies import get_policy
from caretbench.problem import Completion
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.score import ScoringStage
from caretbench.suites import load_suite


class InstantExecutor:
    """Says at once that every program passed."""

    def submit(self, requests: Iterable[ExecutionRequest]) -> Iterator[ExecutionResult]:
        """One result per request, in order."""
        return (ExecutionResult(id=request.id, status=Status.PASSED, stage="run") for request in requests)

    def isolation(self) -> Isolation:
        """Nothing runs."""
        return Isolation(
            backend="none", level="none", memory="none", network="none", seccomp=False, user="unprivileged"
        )


def main(data: Path, wanted: int) -> None:
    """Score ``wanted`` recorded completions, repeated as further samples where there are fewer."""
    house = load_suite("devbench")
    problems = house.load(str(data)).problems
    by_id = {problem.id: problem for problem in problems}

    def completions() -> Iterator[Completion]:
        for turn in count():
            for row in house.recorded_completions(data, by_id, []):
                yield row.model_copy(update={"sample": row.sample + 1000 * turn})

    with tempfile.TemporaryDirectory() as folder:
        stage = ScoringStage(
            house, problems, RunFolder(Path(folder)), get_policy("syntax"), "default", InstantExecutor()
        )
        stage.add_completions(islice(completions(), wanted))
        begin = time.process_time()
        stage.run()
        spent = time.process_time() - begin
    rows = wanted + len(problems)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"{rows} completions: {1000 * spent / rows:.3f} ms CPU each, peak memory {memory:.0f} MB\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
