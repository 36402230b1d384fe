"""How models were asked, as the manifest tells, and in what two of them differ: a reader must know it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_LONGEST = 24


def settings_of(manifest: Mapping[str, Any], model: str, parameters: str) -> dict[str, str] | None:
    """The settings of a model that was asked in this run, flat (``sampling.temperature``); None for recorded ones."""
    for info in manifest.get("models") or ():
        if (
            info.get("model") == model
            and info.get("parameters") == parameters
            and info.get("source") == "model"
        ):
            return dict(_flattened(info.get("settings") or {}))
    return None


def context_titles(
    manifest: Mapping[str, Any], asked: Iterable[tuple[str, str]]
) -> Mapping[tuple[str, str], str]:
    """Titles of models that were asked several times, each time in another context: ``m (retrieval@2)``.

    Args:
        manifest: The run's.
        asked: Names of models with the hashes of their parameters.
    """
    by_model: dict[str, dict[str, str]] = {}
    for model, parameters in asked:
        settings = settings_of(manifest, model, parameters)
        if settings is not None:
            by_model.setdefault(model, {})[parameters] = settings.get("context", "as_is")
    return {
        (model, parameters): f"{model} ({context})"
        for model, contexts in by_model.items()
        if len(contexts) == len(set(contexts.values())) > 1
        for parameters, context in contexts.items()
    }


def differences(first: Mapping[str, str], second: Mapping[str, str], *, clients: bool) -> list[str]:
    """What differs, one text each; what the client says of itself (weights, address) only if ``clients``."""
    return [
        f"{name} {_short(first.get(name))} and {_short(second.get(name))}"
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name) and (clients or not name.startswith("client."))
    ]


def _flattened(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Nested names joined by dots, each with its value as text."""
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flattened(inner, f"{path}{name}.")
        else:
            yield f"{path}{name}", str(inner)


def _short(text: str | None, length: int = _LONGEST) -> str:
    if text is None:
        return "not set"
    return text if len(text) <= length else f"{text[:length]}…"
