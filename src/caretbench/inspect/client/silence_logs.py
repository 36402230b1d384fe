"""Silencing of the logs and prints of Inspect and its providers' libraries.

What they say goes, redacted and without tracebacks, to the logger ``caretbench.inspect`` at level DEBUG; warnings are
kept besides, so that a client can show them.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable

from caretbench.inspect.client.provider_errors import one_line
from caretbench.redaction import redact

_TALKATIVE = ("inspect_ai", "openai", "anthropic", "google_genai", "mistralai", "groq", "httpx", "httpx2", "httpcore")
_OURS = logging.getLogger("caretbench.inspect")

Listener = Callable[[str], None]


class _Quiet(logging.Handler):
    """Log handler that forwards messages as one redacted line."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Listener] = []

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = one_line(redact(record.getMessage()))
        except (TypeError, ValueError):  # arguments that do not fit their format are the library's mistake
            return
        _OURS.debug("%s: %s", record.name, text)
        if record.levelno >= logging.WARNING:
            for listener in list(self.listeners):
                listener(text)


_handler = _Quiet()
_lock = threading.Lock()
_saved: dict[str, bool] = {}


def silence_logs(listener: Listener) -> None:
    """Silence the libraries until as many calls of :func:`restore_logs`; ``listener`` receives their warnings."""
    with _lock:
        # What a provider sends in the wrong types is looked at all the same; pydantic would print parts of it.
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
        if not _handler.listeners:
            for name in _TALKATIVE:
                logger = logging.getLogger(name)
                _saved[name] = logger.propagate
                logger.propagate = False
                logger.addHandler(_handler)
        _handler.listeners.append(listener)


def restore_logs(listener: Listener) -> None:
    """Undo one call of :func:`silence_logs` with this listener."""
    with _lock:
        if listener not in _handler.listeners:
            return
        _handler.listeners.remove(listener)
        if not _handler.listeners:
            for name, propagate in _saved.items():
                logger = logging.getLogger(name)
                logger.removeHandler(_handler)
                logger.propagate = propagate
            _saved.clear()
