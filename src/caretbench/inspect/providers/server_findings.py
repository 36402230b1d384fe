"""Findings about a server of one's own: its model, the kinds of prompt that it answers, its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import JsonValue

from caretbench.errors import MachineError
from caretbench.inspect.client.provider_errors import one_line
from caretbench.inspect.providers.endpoint_shapes import endpoint_shape
from caretbench.local.server_spec import ServerSpec
from caretbench.models import PromptKind

_LISTED = 8
"""Maximum number of models that a message names."""


@dataclass(frozen=True)
class ServerFindings:
    """Findings of the probe of a server.

    ``chat`` and ``text`` are names of shapes, None where the server does not answer such a request; ``fill`` is the
    shape of its endpoint for prefix and suffix. ``special_tokens`` are the sentinels that its tokenizer reads as one
    token each, None where it tells none. ``unsent`` are settings that it refuses at their neutral value.
    """

    model: str
    chat: str | None = None
    text: str | None = None
    fill: str | None = None
    stream: bool = True
    context_tokens: int | None = None
    special_tokens: frozenset[str] | None = None
    unsent: tuple[str, ...] = ()
    note: str = ""
    """Reason for which the server was not probed."""

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt that the server answers."""
        kinds: dict[PromptKind, str | None] = {"chat": self.chat, "text": self.text, "fill": self.fill}
        return frozenset(kind for kind, shape in kinds.items() if shape)

    def identity(self) -> dict[str, JsonValue]:
        """Return what decides the answers: the model that the server serves, its FIM endpoint, what is not sent."""
        found: dict[str, JsonValue] = {"served": self.model}
        found |= {"fill": self.fill_path} if self.fill else {}
        found |= {"unsent": list(self.unsent)} if self.unsent else {}
        return found

    @property
    def fill_path(self) -> str | None:
        """Path of the endpoint for prefix and suffix."""
        if self.fill is None:
            return None
        path = endpoint_shape(self.fill).fill.path
        return f"/v1{path}" if self.fill == "openai" else path

    def describe(self) -> str:
        """Return the findings in one line."""
        if self.note:
            return f"{self.note}; taken for a server with chat and completions"
        fill = f"FIM by {self.fill_path}" if self.fill else None
        ways = [way for way in (self.chat and "chat", self.text and "completions", fill) if way]
        lacks = [
            name
            for name, shape in (("chat", self.chat), ("completions", self.text), ("FIM", self.fill))
            if not shape
        ]  # fmt: skip
        parts = [f"{one_line(self.model, 80)} has {_join(ways)}" + (f", not {' or '.join(lacks)}" if lacks else "")]
        parts += [f"context {self.context_tokens:,} tokens"] if self.context_tokens else []
        parts += [f"{', '.join(self.unsent)} not sent"] if self.unsent else []
        parts += [] if self.stream else ["answers in one piece"]
        return "; ".join(parts)


def _join(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def chosen_model(spec: ServerSpec, listed: Sequence[str]) -> str:
    """Return the server's name of the model that is meant.

    A model of another spelling is meant where its name ends the server's: Ollama adds ``:latest``, others list the path
    of a file.

    Raises:
        MachineError: the server has no such model, or several and none is named.
    """
    if not spec.model:
        if len(listed) == 1:
            return listed[0]
        if not listed:
            raise MachineError(f"{spec.root} lists no model at /v1/models; name it: server/MODEL@{spec.root}")
        raise MachineError(f"{spec.root} serves several models; name one: server/MODEL@{spec.root} {_listing(listed)}")
    if not listed or spec.model in listed:
        return spec.model
    same = [name for name in listed if spec.model in _spellings(name)]
    if len(same) == 1:
        return same[0]
    raise MachineError(f"{spec.root} has no model {spec.model!r} {_listing(listed)}")


def _listing(listed: Sequence[str]) -> str:
    rest = f", and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return f"(it lists {', '.join(one_line(name, 120) for name in listed[:_LISTED])}{rest})"


def _spellings(name: str) -> set[str]:
    last = PurePosixPath(name).name
    return {name.removesuffix(":latest"), last, last.removesuffix(".gguf")}
