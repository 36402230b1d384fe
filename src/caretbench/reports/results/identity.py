"""The identity of a run: what must agree between runs that are compared."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from caretbench.files import DataError
from caretbench.reports.frame import Run

Alignable = Literal["data", "policy", "profile", "variants", "isolation"]
ALIGNABLE: tuple[Alignable, ...] = ("data", "policy", "profile", "variants", "isolation")
"""What must agree between runs, and may be aligned by request."""


class IncomparableError(DataError):
    """The runs differ in what makes their numbers what they are; the message names it."""


def identity_of(run: Run) -> dict[str, str]:
    """What must agree, as texts to show."""
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


def selection_notes(runs: Sequence[Run]) -> Iterator[str]:
    """Yield how the problems of the runs were chosen, where that differs and is known."""
    known = [(run.name, chosen) for run in runs if (chosen := run.manifest.get("selections"))]
    if any(chosen != known[0][1] for _, chosen in known):
        said = (f"{name}: {' and '.join(map(_options, chosen))}" for name, chosen in known)
        yield f"The runs chose their problems differently. {'; '.join(said)}. Only common problems are compared."


def _options(chosen: Mapping[str, Any]) -> str:
    names = {"select": "--select", "limit": "--limit", "per_cell": "--per-cell"}
    names |= {"seed": "--sample-seed"} if chosen.get("limit") else {}
    given = (f"{flag} {chosen[name]}" for name, flag in names.items() if chosen.get(name) is not None)
    return " ".join(given) or "all"


def check_identity(runs: Sequence[Run], align: Collection[Alignable]) -> list[str]:
    """Return the differences that ``align`` allows.

    Raises:
        IncomparableError: the runs differ in something else.
    """
    first = identity_of(runs[0])
    refused: list[str] = []
    aligned: list[str] = []
    for run in runs[1:]:
        for name, value in identity_of(run).items():
            if value != first[name]:
                difference = f"{name}: {runs[0].name} has {first[name][:24]}, {run.name} has {value[:24]}"
                (aligned if name in align else refused).append(difference)
    if refused:
        options = " ".join(dict.fromkeys(f"--align {line.partition(':')[0]}" for line in refused))
        raise IncomparableError(
            f"these runs are not comparable; {'; '.join(refused)}. Run one of them again, or compare in spite of it "
            f"with {options}"
        )
    return aligned
