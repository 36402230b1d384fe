"""Target of the entry point ``inspect_ai``: its import registers our providers and tasks."""

from __future__ import annotations

from typing import Any

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelAPI, modelapi

from caretbench.inspect.tasks.scorer import caret, numbers
from caretbench.inspect.tasks.solver import ask
from caretbench.inspect.tasks.suite_tasks import inspect_task
from caretbench.suites import suite_names

__all__ = ["TASKS", "ask", "caret", "checkpoint", "command", "evaluate", "fim", "gguf", "numbers", "server"]


TASKS = {name: inspect_task(name) for name in suite_names()}
"""A task for each suite, those of installed packages included: ``caretbench/NAME``."""


@modelapi(name="fim")
def fim() -> type[ModelAPI]:
    """Return ``fim/SHAPE/MODEL``: endpoints that take the text before and after the caret."""
    from caretbench.inspect.providers.endpoint_api import FimEndpointAPI

    return FimEndpointAPI


@modelapi(name="gguf")
def gguf() -> type[ModelAPI]:
    """Return ``gguf/PATH`` or ``gguf/NAME``: a model on this machine."""
    from caretbench.inspect.providers.gguf import GgufAPI

    return GgufAPI


@modelapi(name="command")
def command() -> type[ModelAPI]:
    """Return ``command/COMMANDLINE``: a program of one's own, JSON in and JSON out."""
    from caretbench.inspect.providers.command import CommandAPI

    return CommandAPI


@modelapi(name="server")
def server() -> type[ModelAPI]:
    """Return ``server/MODEL@URL``: a server of one's own."""
    from caretbench.inspect.providers.endpoint_api import OwnServerAPI

    return OwnServerAPI


@modelapi(name="checkpoint")
def checkpoint() -> type[ModelAPI]:
    """Return ``checkpoint/ENGINE/PATH``, which our client asks in place of Inspect's ``hf/PATH`` and ``vllm/PATH``."""
    from caretbench.inspect.providers.checkpoint import CheckpointAPI

    return CheckpointAPI


def evaluate(tasks: str | Task, model: str | Model, **options: Any) -> EvalLog:
    """Evaluate one task on one model by ``inspect_ai.eval``, by default without Inspect's realtime log.

    The realtime log is a second copy of every event, for a viewer that looks on while the evaluation runs. A task
    cannot switch it off; on Inspect's command line it is ``--no-log-realtime``.

    Args:
        tasks: A task, or its name: ``caretbench/devbench``.
        model: A model, or its name.
        options: Further arguments of ``inspect_ai.eval``.
    """
    (log,) = inspect_eval(tasks, model, **({"log_realtime": False} | options))
    return log
