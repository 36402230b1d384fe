"""Reasons for which a set is not released: a hold-out, a run, files that are not as they were checked, and secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from caretbench.errors import DataError
from caretbench.people.releases.built_set import BuiltSet, first_ids
from caretbench.people.releases.checks.private_finds import PrivateFind
from caretbench.suites.devbench.build.instance_rules.instance_checks import PASSED
from caretbench.suites.devbench.built_instances import BuiltInstance

NOT_RUN: Final = "reference_not_run"
"""Beginning of the gate's result for an instance that ``build --unverified`` keeps: this machine cannot run it."""
_RUN_FILE: Final = "completions.jsonl"
_SHOWN: Final = 5


def check_source(built: BuiltSet, *, publish_holdout: bool) -> None:
    """Raise DataError if a folder is a hold-out that was not asked for in words, or a run and no set."""
    if (built.root / _RUN_FILE).exists():
        raise DataError(
            f"{built.root}: it is a run, whose problems may be events of users; a release takes the folder of a build"
        )
    if built.datasheet.get("part") == "holdout" and not publish_holdout:
        raise DataError(
            f"{built.root}: it is the hold-out of a release: once it is published, its score says nothing of memory; "
            "release the public part, or add --publish-holdout"
        )


def check_rows(built: BuiltSet) -> None:
    """Raise DataError if a file was edited since its checks, or a check found a fault in it."""
    rows = [row for one in built.problems if (row := built.row(one)) is not None]
    again = f"run `caretbench build devbench -o {built.root}` again"
    if edited := [row.id for row in rows if built.is_edited(row)]:
        raise DataError(f"{built.root}: {first_ids(edited)} changed after the checks; {again}, which checks them")
    if faulty := {row.id: faults for row in rows if (faults := _faults(row))}:
        name, faults = next(iter(faulty.items()))
        raise DataError(
            f"{built.root}: {first_ids([*faulty])} with a fault that a check found ({name}: {faults}); "
            f"mend or delete the files, and {again}"
        )


def _faults(row: BuiltInstance) -> str:
    found = (f"{name}: {result}" for name, result in row.checks.items() if result != PASSED)
    return "; ".join(fault for fault in found if not fault.startswith(f"gate: {NOT_RUN}"))


def check_secrets(built: BuiltSet, finds: Mapping[str, Sequence[PrivateFind]]) -> None:
    """Raise DataError if a problem has a text in the shape of a secret; the message has places and kinds."""
    places = [f"{one.place}: {one.description}" for found in finds.values() for one in found if one.is_secret]
    if places:
        more = f", and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        raise DataError(
            f"{built.root}: {'; '.join(places[:_SHOWN])}{more}: a release would pass it on; replace it by a "
            "placeholder (your-key), and run the build again"
        )
