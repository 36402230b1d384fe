"""What Inspect finds by the entry point ``inspect_ai``: our providers, tasks, sandbox. Its import registers them."""

from __future__ import annotations

from inspect_ai.model import ModelAPI, modelapi
from inspect_ai.util import SandboxEnvironment, sandboxenv

from caretbench.inspect.efcb_task import efcb
from caretbench.inspect.metrics import numbers
from caretbench.inspect.scorer import caret
from caretbench.inspect.solver import ask
from caretbench.inspect.tasks import devbench, simcopilot

__all__ = [
    "ask",
    "caret",
    "caretbench",
    "command",
    "devbench",
    "efcb",
    "fim",
    "gguf",
    "numbers",
    "simcopilot",
]


@modelapi(name="fim")
def fim() -> type[ModelAPI]:
    """``fim/SHAPE/MODEL``: endpoints that take the text before and after the caret."""
    from caretbench.inspect.fim_endpoints import FimEndpointAPI

    return FimEndpointAPI


@modelapi(name="gguf")
def gguf() -> type[ModelAPI]:
    """``gguf/PATH`` or ``gguf/NAME``: a model on this machine."""
    from caretbench.inspect.gguf import GgufAPI

    return GgufAPI


@modelapi(name="command")
def command() -> type[ModelAPI]:
    """``command/COMMANDLINE``: a program of one's own, JSON in and JSON out."""
    from caretbench.inspect.command import CommandAPI

    return CommandAPI


@sandboxenv(name="caretbench")
def caretbench() -> type[SandboxEnvironment]:
    """``sandbox="caretbench"``: our walls for the tools of any task."""
    from caretbench.inspect.sandbox_provider import CaretbenchSandbox

    return CaretbenchSandbox
