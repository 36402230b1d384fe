"""Second round of executions: an answer that passes is reduced while it passes, and measured again.

A suite's reduction yields shorter answers (:meth:`caretbench.suites.base.Suite.reduction`). All answers of a run go on
together, so that a round has a program of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from caretbench.execution.dispatcher import AnyRequest
from caretbench.execution.execution_types import ExecutionResult, Status
from caretbench.suites.suite_types import Measurement, Reduction

MAX_RUNS: Final = 40
"""Maximum number of runs of an answer's reduction; a prototype needed 12 to 29."""
MAX_CPU_S: Final = 20.0
"""Maximum CPU time of them, in seconds."""


RequestT = TypeVar("RequestT", bound=AnyRequest)


@dataclass
class ReducedAnswer:
    """State of one reduction: the next text to run (None at the end), and then its scores."""

    steps: Reduction
    text: str | None = None
    measured: Measurement | None = None
    runs: int = 0
    cpu_s: float = 0.0

    def __post_init__(self) -> None:
        """Begin."""
        self._continue(None)

    def tell(self, result: ExecutionResult) -> None:
        """Continue with the result of the text."""
        self.runs += 1
        self.cpu_s += result.cpu_s
        over = self.runs >= MAX_RUNS or self.cpu_s >= MAX_CPU_S or result.status.is_machine_fault
        self._continue(None if over else result.status is Status.PASSED)

    def _continue(self, passes: bool | None) -> None:
        try:
            self.text = self.steps.send(passes)
        except StopIteration as end:
            self.text, self.measured = None, end.value


def shorter_request(request: RequestT, **changes: object) -> RequestT:
    """Return the request of a shorter answer. What its bound of CPU time ends is no answer: it runs only once."""
    return cast("RequestT", request.model_copy(update={"confirms_cpu_limit": False, **changes}))


def reduce_answers(
    answers: Mapping[str, ReducedAnswer],
    request: Callable[[str, str], RequestT],
    submit: Callable[[Iterable[RequestT]], Iterable[ExecutionResult]],
) -> Iterator[tuple[str, Measurement]]:
    """Yield the scores of answers by key as their reductions end.

    Args:
        answers: Reductions by key.
        request: Returns the request that runs a text of the answer with a key.
        submit: Runs requests.
    """
    active = dict(answers)
    while active:
        for key in [key for key, answer in active.items() if answer.text is None]:
            if (measured := active.pop(key).measured) is not None:
                yield key, measured
        texts = {key: answer.text for key, answer in active.items() if answer.text is not None}
        requests = [shorter_request(request(key, text), id=key) for key, text in texts.items()]
        for result in submit(requests) if requests else ():
            active[result.id].tell(result)
