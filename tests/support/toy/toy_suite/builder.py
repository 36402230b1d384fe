"""Builder of the toy suite: problems from sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from caretbench import Builder
from caretbench.build.build_models import BuildJob, BuildRequest
from caretbench.files import write_rows
from caretbench.models import Sampling
from caretbench.options import Option
from caretbench.suites.suite_types import BuildResult
from toy_suite import toy_problem


class ToyBuilder(Builder):
    """Builder of additions."""

    name = "toy"
    about = "additions: A+B, 1+2 for example"
    options = (Option("language", str, "Language label of the problems.", "build", default="python"),)
    roles: ClassVar[Mapping[str, str]] = {"generator": "writes each docstring (optional)"}

    def build(self, job: BuildJob) -> BuildResult:
        """Build a problem from each sum.

        Examples:
          caretbench build toy 1+2 3+4 -o tasks
        """
        sources, output, options, progress, models = job
        sums: dict[str, tuple[int, int]] = {}
        for source in sources:
            first, plus, second = source.partition("+")
            if not (plus and first.isdigit() and second.isdigit()):
                raise ValueError(f"{source!r}: expected A+B, 1+2 for example")
            sums[source] = (int(first), int(second))
        texts: Mapping[str, str] = {}
        if "generator" in models.roles:
            texts = models.ask("generator", [_request(source, *pair) for source, pair in sums.items()])
        problems = []
        for source, pair in sums.items():
            problems.append(toy_problem(*pair, options["language"], texts.get(source, "")))
            progress("problems", 1, len(sums))
        output.mkdir(parents=True, exist_ok=True)
        write_rows(output / "problems.jsonl", problems)
        return BuildResult((f"{output}: {len(problems)} problems",), {"problems": len(problems)})


def _request(key: str, first: int, second: int) -> BuildRequest:
    return BuildRequest(
        key=key,
        prompt=f"Describe the sum of {first} and {second} in one short sentence, without the result.",
        sampling=Sampling(max_tokens=60, temperature=0),
        about="docstring",
    )
