"""Isolation levels, and the accepted ones: by ``CARETBENCH_SANDBOX`` or an argument."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Literal, cast, get_args

from caretbench.errors import MachineError, UsageError

IsolationLevel = Literal["namespaces", "landlock"]
"""From the stronger to the weaker; :class:`caretbench.execution.execution_types.Isolation` records the one in force."""
LevelSetting = Literal["auto", "namespaces", "landlock"]
"""``auto``: namespaces, and Landlock where they are forbidden."""

SETTING = "CARETBENCH_SANDBOX"


class SandboxUnavailable(MachineError):  # noqa: N818 - a state of the machine
    """Error: no sandbox can be built here; the message contains the remedy."""


def accepted_levels(requested: str | None = None) -> tuple[IsolationLevel, ...]:
    """Return the levels to try, in this order, or raise UsageError where one is not known."""
    word = requested or os.environ.get(SETTING) or "auto"
    if word not in get_args(LevelSetting):
        raise UsageError(f"{SETTING}={word!r}: expected {', '.join(get_args(LevelSetting))}")
    return ("namespaces", "landlock") if word == "auto" else (cast("IsolationLevel", word),)


@cache
def warn_weaker_level(reason: str) -> None:
    """Warn once, on standard error, that the isolation is the weaker one, and why."""
    sys.stderr.write(f"caretbench: programs run at the weaker level landlock, without namespaces: {reason}\n")
