"""Settings of runs and their models: titles of models asked in several ways, and what compared runs must share."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from caretbench.files import DataError, sha256_json
from caretbench.prompts.instructions import mode_words
from caretbench.reports.frame import LoadedRun, baselines_in, model_titles

ModelKey = tuple[str, str]
"""Name of a model, and hash of its parameters."""

INSTRUCTION = "instruction"
"""Setting that names the placement of instructions; it is not there for the default."""

DEFAULT_SETTINGS = {"context": "as_is", INSTRUCTION: "shown"}
"""Settings that titles name, with the value of one that is not there; ``prompt`` is always there."""


class ModelVariant(NamedTuple):
    """Model with its settings, in one mode of instruction.

    ``title`` is the same for all modes of a model that was asked alike in all else; ``mode`` is ``shown``, ``none``,
    ``comment`` or ``blind``; ``prompt`` the key of the prompt strategy, ``fim/starcoder@1`` for example.
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
    for key, settings in _stored_settings(manifest, keys).items():
        by_model[key[0]][key] = _way(settings)
    for model, ways in by_model.items():
        alike = sum(key[0] == model for key in keys)
        if len(set(ways.values())) == alike > 1:
            places = [index for index, values in enumerate(zip(*ways.values(), strict=True)) if len(set(values)) > 1]
            titles |= {key: f"{model} ({', '.join(way[index] for index in places)})" for key, way in ways.items()}
    return titles


def model_variants(manifest: Mapping[str, Any], models: Iterable[ModelKey]) -> dict[ModelKey, ModelVariant]:
    """Return title, mode of instruction and prompt of the models that were asked in this run; others are omitted."""
    stored = _stored_settings(manifest, sorted(set(models)))
    alike = {
        key: (key[0], sha256_json({name: value for name, value in settings.items() if name != INSTRUCTION})[:16])
        for key, settings in stored.items()
    }
    first = {alike[key]: settings for key, settings in stored.items()}
    entries = [
        {"model": model, "parameters": parameters, "source": "model", "settings": dict(settings) | {INSTRUCTION: ""}}
        for (model, parameters), settings in first.items()
    ]
    titles = variant_titles({"models": entries}, first)
    return {
        key: ModelVariant(titles[alike[key]], _instruction_mode(settings), str(settings.get("prompt") or ""))
        for key, settings in stored.items()
    }


def model_order(manifest: Mapping[str, Any], model: str, parameters: str) -> int:
    """Return the position of a model among the run's, in the order in which they were asked; unknown ones last."""
    keys = [(info.get("model"), info.get("parameters")) for info in manifest.get("models") or ()]
    return keys.index((model, parameters)) if (model, parameters) in keys else len(keys)


def display_order(manifest: Mapping[str, Any], model: str, parameters: str) -> tuple[int, str, int, str]:
    """Return the sort key of a model: models before baselines, by name, in the order in which they were asked."""
    baselines = baselines_in(manifest)
    rank = baselines.index(model) + 1 if model in baselines else 0
    return (rank, model.lower(), model_order(manifest, model, parameters), parameters)


def _stored_settings(manifest: Mapping[str, Any], keys: Iterable[ModelKey]) -> dict[ModelKey, Mapping[str, Any]]:
    stored = {
        (info.get("model"), info.get("parameters")): info.get("settings") or {}
        for info in manifest.get("models") or ()
        if info.get("source") == "model"
    }
    return {key: stored[key] for key in keys if key in stored}


def _way(settings: Mapping[str, Any]) -> tuple[str, ...]:
    context = str(settings.get("context", DEFAULT_SETTINGS["context"]))
    return (str(settings.get("prompt", "")), context, mode_words(_instruction_mode(settings)))


def _instruction_mode(settings: Mapping[str, Any]) -> str:
    return str(settings.get(INSTRUCTION, DEFAULT_SETTINGS[INSTRUCTION])).partition("@")[0]


Alignable = Literal["data", "policy", "profile", "variants", "isolation"]
ALIGNABLE: tuple[Alignable, ...] = ("data", "policy", "profile", "variants", "isolation")
"""Settings that must be equal in compared runs, unless the difference is allowed with ``--align``."""


_LONGEST = 24
"""Maximum number of shown characters of a value."""


class IncomparableError(DataError):
    """Error: the runs differ in settings that decide their numbers; the message names them."""


def identity_of(run: LoadedRun) -> dict[str, str]:
    """Return the settings that must be equal in compared runs, as texts."""
    manifest = run.manifest
    data = manifest.get("data")
    isolation = manifest.get("isolation")
    variants: Mapping[str, Any] = manifest.get("variants") or {}
    return {
        "data": str(data.get("hash") if isinstance(data, Mapping) else data),
        "policy": str(manifest.get("policy")),
        "profile": str(manifest.get("profile")),
        "variants": ", ".join(f"{name}={build}" for name, build in sorted(variants.items())) or "none",
        "isolation": str(isolation.get("level") if isinstance(isolation, Mapping) else isolation),
    }


def selection_notes(runs: Sequence[LoadedRun]) -> Iterator[str]:
    """Yield a note if the runs chose their problems with different options."""
    selections = [(run.name, chosen) for run in runs if (chosen := run.manifest.get("selections"))]
    if any(chosen != selections[0][1] for _, chosen in selections):
        texts = (f"{name}: {' and '.join(map(selection_options, chosen))}" for name, chosen in selections)
        yield f"The runs chose their problems differently. {'; '.join(texts)}. Only common problems are compared."


def selection_options(chosen: Mapping[str, Any]) -> str:
    """Return a selection of a manifest as options of a command; ``all`` if there are none."""
    names = {"select": "--select", "limit": "--limit", "per_cell": "--per-cell"}
    names |= {"seed": "--sample-seed"} if chosen.get("limit") else {}
    options = (
        f"{flag} {shlex.quote(str(chosen[name]))}" for name, flag in names.items() if chosen.get(name) is not None
    )
    return " ".join(options) or "all"


def check_comparable(runs: Sequence[LoadedRun], align: Collection[Alignable]) -> list[str]:
    """Return the differences between runs that ``align`` allows.

    Raises:
        IncomparableError: there are other differences, or the runs are of different suites.
    """
    first = identity_of(runs[0])
    refused: list[str] = []
    aligned: list[str] = []
    for run in runs[1:]:
        suites = [str(compared.manifest.get("suite")) for compared in (runs[0], run)]
        if suites[0] != suites[1]:
            raise IncomparableError(
                f"{runs[0].name} is a run of {suites[0]}, {run.name} of {suites[1]}: they have no problem in common. "
                "`caretbench board` shows models on several suites"
            )
        for name, value in identity_of(run).items():
            if value != first[name]:
                difference = f"{name}: {runs[0].name} has {first[name][:_LONGEST]}, {run.name} has {value[:_LONGEST]}"
                (aligned if name in align else refused).append(difference)
    if refused:
        options = " ".join(dict.fromkeys(f"--align {line.partition(':')[0]}" for line in refused))
        raise IncomparableError(
            f"these runs are not comparable; {'; '.join(refused)}. Run one of them again, or allow the difference "
            f"with {options}"
        )
    return aligned


def settings_of(manifest: Mapping[str, Any], model: str, parameters: str) -> dict[str, str] | None:
    """Return the flattened settings (``sampling.temperature``) of a model of this run; None for recorded answers."""
    for info in manifest.get("models") or ():
        if (info.get("model"), info.get("parameters"), info.get("source")) == (model, parameters, "model"):
            return dict(_flattened(info.get("settings") or {}))
    return None


def differences(first: Mapping[str, str], second: Mapping[str, str], *, clients: bool) -> list[str]:
    """Return the differences between settings as texts; those of clients (weights, address) only with ``clients``."""
    return [
        f"{name} {_short(first, name)} and {_short(second, name)}"
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name) and (clients or not name.startswith("client."))
    ]


def _flattened(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested names joined by dots, each with its value as text."""
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flattened(inner, f"{path}{name}.")
        else:
            yield f"{path}{name}", str(inner)


def _short(settings: Mapping[str, str], name: str) -> str:
    """Return a setting for a line; the word for one that is not there is that of titles."""
    text = settings.get(name, DEFAULT_SETTINGS.get(name, "not set"))
    if name == INSTRUCTION:
        text = text.partition("@")[0]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
