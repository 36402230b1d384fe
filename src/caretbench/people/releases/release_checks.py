"""Reasons for which a set is not released: a hold-out, a run, files that are not as they were checked, and secrets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from caretbench.build.sources.licences import RedistributionError, redistribution_terms
from caretbench.build.validation.private_texts import private_texts
from caretbench.errors import DataError
from caretbench.people.releases.built_set import PROBLEMS_FILE, BuiltSet, first_ids
from caretbench.problem import Caret, InlineSplice, Problem
from caretbench.suites.devbench.build.instance_rules.instance_checks import PASSED
from caretbench.suites.devbench.built_instances import INSTANCES_FILE, BuiltInstance
from caretbench.suites.devbench.starter import CLOSING, OPENING


class PrivateFind(NamedTuple):
    """One private text of a problem: its place with the line, and the kind of text in words. It is not quoted."""

    place: str
    description: str
    is_secret: bool


def private_finds(built: BuiltSet, problems: Sequence[Problem]) -> dict[str, list[PrivateFind]]:
    """Return the private texts of problems by id; problems without one are not listed."""
    found = {one.id: list(_finds(built, one)) for one in problems}
    return {name: finds for name, finds in found.items() if finds}


def _finds(built: BuiltSet, problem: Problem) -> Iterator[PrivateFind]:
    seen = set()
    for place, text in released_texts(built, problem):
        for one in private_texts(text):
            if one.text not in seen:  # a program's texts are in several fields
                seen.add(one.text)
                # The place and not the text: a message with the secret would carry it into logs.
                line = text.count("\n", 0, one.start) + 1
                yield PrivateFind(f"{place}:{line}", one.description, one.is_secret)


def released_texts(built: BuiltSet, problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield the texts of a problem that a release passes on, each with its place.

    These are its files without the marks, or the program and every field of its row; and every field of its row in
    ``instances.jsonl``, the justification among them.
    """
    for path in built.source_paths(problem):
        yield path, (built.root / path).read_text("utf-8-sig").replace(OPENING, "").replace(CLOSING, "")
    if built.as_rows:
        place = f"{PROBLEMS_FILE}, {problem.id}"
        yield f"{place}, program", _program(problem)
        yield from _strings(place, problem.model_dump(mode="json"))
    if (row := built.row(problem)) is not None:
        yield from _strings(f"{INSTANCES_FILE}, {problem.id}", row.model_dump(mode="json"))


def _program(problem: Problem) -> str:
    if isinstance(problem.splice, InlineSplice):
        return problem.splice.program(problem.reference)
    shown = problem.shown
    return f"{shown.prefix}{problem.reference}{shown.suffix}" if isinstance(shown, Caret) else shown.text


def _strings(place: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the texts within a value, each with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _strings(f"{place}, {name}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(place, inner)


class SetLicence(NamedTuple):
    """Licence of a set: one expression, the number of problems and the terms by licence.

    ``unstated`` are the ids of the problems that state none.
    """

    expression: str
    problems: Mapping[str, int]
    terms: Mapping[str, str]
    unstated: tuple[str, ...] = ()


def set_licence(licences: Mapping[str, str | None], own: str | None, place: str) -> SetLicence:
    """Return the licence of a set.

    Args:
        licences: Licence of each problem by id; None: its row states none.
        own: Licence of the problems without one; it is examined even if all problems state theirs.
        place: Name of the set, for messages.

    Raises:
        DataError: a problem has no licence, or it or ``own`` is one that does not allow passing on; the message has
            the first ids.
    """
    if own is not None:
        try:
            # Examined first, though no problem may need it: a wrong --licence is a slip that the user should see.
            redistribution_terms(own)
        except RedistributionError as error:
            raise DataError(f"{place}: --licence {own}: {error}; choose another") from None
    holders: dict[str, list[str]] = defaultdict(list)
    for identity, licence in licences.items():
        holders[licence or own or ""].append(identity)
    if unknown := holders.get(""):
        raise DataError(
            f"{place}: {first_ids(unknown)} without a licence; state that of texts of your own with --licence MIT"
        )
    terms = {}
    for expression, found in sorted(holders.items()):
        try:
            terms[expression] = redistribution_terms(expression)
        except RedistributionError as error:
            raise DataError(f"{place}: {first_ids(found)} may not be passed on: {error}; remove them") from None
    # AND binds stronger than OR in SPDX, so `MIT OR GPL` and `Apache` without brackets would allow MIT alone.
    names = [f"({name})" if " OR " in name and len(terms) > 1 else name for name in terms]
    unstated = tuple(identity for identity, licence in licences.items() if licence is None)
    return SetLicence(" AND ".join(names), {name: len(holders[name]) for name in terms}, terms, unstated)


NOT_RUN: Final = "reference_not_run"
"""Beginning of the gate's result for an instance that ``build --unverified`` keeps: this machine cannot run it."""
_RUN_FILE: Final = "completions.jsonl"
_SHOWN: Final = 5


def check_source(built: BuiltSet, *, publish_holdout: bool) -> None:
    """Raise DataError if a folder is a hold-out that was not asked for in words, or a run and no set."""
    # A folder with completions has the layout of a set as well, and a run of an editor's events holds code of its
    # users.
    if (built.root / _RUN_FILE).exists():
        raise DataError(
            f"{built.root}: it is a run, whose problems may be events of users; a release takes the folder of a build"
        )
    # A release cannot be taken back: one wrong path on the command line would publish the whole hold-out.
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
    # `build --unverified` keeps what this machine cannot run; the datasheet says how many those are.
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
