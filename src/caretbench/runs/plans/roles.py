"""Roles of models: ``-m ROLE=SPEC`` names a reserved role, ``-m NAME=SPEC`` a model under test."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from caretbench.errors import UsageError
from caretbench.local.server_spec import is_local_server, is_loopback
from caretbench.redaction import redact
from caretbench.suites.baselines import BASELINE_NAMES

JUDGE_ROLE: Final = "judge"
"""The role of a model that judges answers."""

RESERVED_ROLES: Final = (
    JUDGE_ROLE, "generator", "checker", "agent", "tester", "instructor", "reviewer", "writer", "seeder"
)  # fmt: skip
"""Reserved names: a model in one of these roles is not measured."""

_NAMED = re.compile(r"(?P<name>[A-Za-z0-9][\w.@+-]*)=(?P<spec>.+)", re.DOTALL)

FUNCTION: Final = "function"
"""Provider of the models that are functions of a Python program, which only the Python API can ask."""

LOCAL_PROVIDERS: Final = ("gguf", "command", "mockllm", "hf", "vllm", "vllm-completions")
"""Providers whose models run on this machine by definition."""


class NamedModel(NamedTuple):
    """Model of an option ``-m``. ``name`` defaults to the spec; ``role`` is None for a model under test."""

    name: str
    spec: str
    role: str | None = None


def parse_model_option(option: str) -> NamedModel:
    """Return the model of ``-m SPEC``, ``-m NAME=SPEC``, ``-m ROLE=SPEC`` or ``-m ROLE=NAME=SPEC``.

    Raises:
        UsageError: there is no spec, or it is no model's name.
    """
    named = _NAMED.fullmatch(option)
    # A spec may contain `=` (an address with a query), so only known names before it are roles or names.
    if named and named["name"] in RESERVED_ROLES:
        model = parse_model_option(named["spec"])
        if model.role is not None:
            raise UsageError(f"-m {option!r}: a model has one role, {named['name']} or {model.role}")
        return model._replace(role=named["name"])
    name, spec = (named["name"], named["spec"]) if named else (redact(option), option)
    # A baseline has no provider to ask; the message says how baselines run.
    if spec in BASELINE_NAMES:
        raise UsageError(f"-m {option!r}: a baseline runs next to a model: -m PROVIDER/MODEL --baseline {spec}")
    if "/" not in spec.strip("/"):
        raise UsageError(f"-m {option!r}: expected PROVIDER/MODEL, openai/gpt-4o-mini or gguf/model.gguf for example")
    return NamedModel(name, spec)


def is_local(spec: str) -> bool:
    """Return whether a model runs on this machine, by its name and the address of a vLLM server that is set."""
    # The provider reads this variable itself: the spec looks local, and the server may be anywhere.
    address = os.environ.get("VLLM_BASE_URL")
    if spec.startswith("vllm") and address and not is_loopback(address):
        return False
    return spec.partition("/")[0] in (FUNCTION, *LOCAL_PROVIDERS) or is_local_server(spec)


def refuse_remote(specs: Iterable[str], addresses: Iterable[str | None] = ()) -> None:
    """Refuse every model that is not on this machine.

    Raises:
        UsageError: a model is remote, or its address is.
    """
    for spec in specs:
        if not is_local(spec):
            raise UsageError(
                f"--local-only: {redact(spec)} is asked over the network; models on this machine: "
                + ", ".join(f"{name}/…" for name in LOCAL_PROVIDERS)
                + ", server/…@http://127.0.0.1:PORT"
            )
    for address in addresses:
        if address is not None and not is_loopback(address):
            raise UsageError(f"--local-only: {redact(address)} is not on this machine")
