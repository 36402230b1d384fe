"""Evaluation from Python, with the options under which Inspect has the least overhead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.log import EvalLog
    from inspect_ai.model import Model


def evaluate(tasks: str | Task, model: str | Model, **options: Any) -> EvalLog:
    """Evaluate one task on one model by ``inspect_ai.eval``, by default without Inspect's realtime log.

    The realtime log is a second copy of every event, for a viewer that looks on while the evaluation runs. A task
    cannot switch it off; on Inspect's command line it is ``--no-log-realtime``.

    Args:
        tasks: A task, or its name: ``caretbench/devbench``.
        model: A model, or its name.
        options: Further arguments of ``inspect_ai.eval``.
    """
    from inspect_ai import eval as inspect_eval

    import caretbench.inspect.registry  # noqa: F401 - registers our providers

    (log,) = inspect_eval(tasks, model, **({"log_realtime": False} | options))
    return log
