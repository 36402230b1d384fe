"""Settings that must be equal in compared runs, and the settings of their models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from caretbench.files import DataError
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.model_variants import DEFAULT_SETTINGS, INSTRUCTION

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
    known = [(run.name, chosen) for run in runs if (chosen := run.manifest.get("selections"))]
    if any(chosen != known[0][1] for _, chosen in known):
        texts = (f"{name}: {' and '.join(map(_options, chosen))}" for name, chosen in known)
        yield f"The runs chose their problems differently. {'; '.join(texts)}. Only common problems are compared."


def _options(chosen: Mapping[str, Any]) -> str:
    names = {"select": "--select", "limit": "--limit", "per_cell": "--per-cell"}
    names |= {"seed": "--sample-seed"} if chosen.get("limit") else {}
    options = (f"{flag} {chosen[name]}" for name, flag in names.items() if chosen.get(name) is not None)
    return " ".join(options) or "all"


def check_comparable(runs: Sequence[LoadedRun], align: Collection[Alignable]) -> list[str]:
    """Return the differences between runs that ``align`` allows.

    Raises:
        IncomparableError: there are other differences.
    """
    first = identity_of(runs[0])
    refused: list[str] = []
    aligned: list[str] = []
    for run in runs[1:]:
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
