"""Titles of models that were asked in several ways: by context, mode of instruction, or prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from caretbench.files import sha256_json
from caretbench.reports.frame import model_titles

ModelKey = tuple[str, str]
"""Name of a model, and hash of its parameters."""

INSTRUCTION = "instruction"
"""Setting that names the placement of instructions; it is not there for the default."""

DEFAULT_SETTINGS = {"context": "as_is", INSTRUCTION: "shown"}
"""Settings that titles name, with the value of one that is not there; ``prompt`` is always there."""


class ModelVariant(NamedTuple):
    """Model with its settings, in one mode of instruction.

    ``title`` is the same for all modes of a model that was asked alike in all else; ``mode`` is ``shown``, ``none`` or
    ``comment``; ``prompt`` the key of the prompt strategy, ``fim/starcoder@1`` for example.
    """

    title: str
    mode: str
    prompt: str = ""


def variant_titles(manifest: Mapping[str, Any], models: Iterable[ModelKey]) -> dict[ModelKey, str]:
    """Return the titles of models: ``m``, and where it was asked in several ways ``m (retrieval@2)``.

    Where context, mode of instruction and prompt do not tell them apart, titles have the start of the hash.
    """
    keys = sorted(set(models))
    titles = model_titles(keys)
    by_model: dict[str, dict[ModelKey, tuple[str, ...]]] = defaultdict(dict)
    for key, settings in _settings(manifest, keys).items():
        by_model[key[0]][key] = _way(settings)
    for model, ways in by_model.items():
        alike = sum(key[0] == model for key in keys)
        if len(set(ways.values())) == alike > 1:
            places = [place for place, values in enumerate(zip(*ways.values(), strict=True)) if len(set(values)) > 1]
            titles |= {key: f"{model} ({', '.join(way[place] for place in places)})" for key, way in ways.items()}
    return titles


def model_variants(manifest: Mapping[str, Any], models: Iterable[ModelKey]) -> dict[ModelKey, ModelVariant]:
    """Return title, mode of instruction and prompt of the models that were asked in this run; others are omitted."""
    known = _settings(manifest, sorted(set(models)))
    alike = {
        key: (key[0], sha256_json({name: value for name, value in settings.items() if name != INSTRUCTION})[:16])
        for key, settings in known.items()
    }
    first = {alike[key]: settings for key, settings in known.items()}
    entries = [
        {"model": model, "parameters": parameters, "source": "model", "settings": dict(settings) | {INSTRUCTION: ""}}
        for (model, parameters), settings in first.items()
    ]
    titles = variant_titles({"models": entries}, first)
    return {
        key: ModelVariant(titles[alike[key]], _mode(settings), str(settings.get("prompt") or ""))
        for key, settings in known.items()
    }


def model_order(manifest: Mapping[str, Any], model: str, parameters: str) -> int:
    """Return the position of a model among the run's, in the order in which they were asked; unknown ones last."""
    keys = [(info.get("model"), info.get("parameters")) for info in manifest.get("models") or ()]
    return keys.index((model, parameters)) if (model, parameters) in keys else len(keys)


def _settings(manifest: Mapping[str, Any], keys: Iterable[ModelKey]) -> dict[ModelKey, Mapping[str, Any]]:
    stored = {
        (info.get("model"), info.get("parameters")): info.get("settings") or {}
        for info in manifest.get("models") or ()
        if info.get("source") == "model"
    }
    return {key: stored[key] for key in keys if key in stored}


def _way(settings: Mapping[str, Any]) -> tuple[str, ...]:
    context = str(settings.get("context", DEFAULT_SETTINGS["context"]))
    return (str(settings.get("prompt", "")), context, f"instruction {_mode(settings)}")


def _mode(settings: Mapping[str, Any]) -> str:
    return str(settings.get(INSTRUCTION, DEFAULT_SETTINGS[INSTRUCTION])).partition("@")[0]
