"""Release of a built set: a public folder, and next to it the hold-out."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import JsonValue

from caretbench.build.sources.licences import RedistributionError, redistribution_terms
from caretbench.build.validation.private_texts import private_texts
from caretbench.build.validation.reviewed import reviewed_problems
from caretbench.errors import DataError, UsageError, check_folder_is_writable
from caretbench.grouping import grouped
from caretbench.people.releases.built_set import PROBLEMS_FILE, BuiltSet, earlier_parts, first_ids
from caretbench.people.releases.datasheet import (
    Datasheet,
    Part,
    ReviewFigures,
    generation_figures,
    part_figures,
    review_figures,
    unknown_facts,
)
from caretbench.people.releases.difference import set_difference
from caretbench.people.releases.holdout import SetParts, split_set
from caretbench.people.releases.release_files import write_description, write_problems
from caretbench.problem import Caret, InlineSplice, Problem
from caretbench.suites.devbench.build.instance_rules.instance_checks import PASSED
from caretbench.suites.devbench.built_instances import INSTANCES_FILE, BuiltInstance
from caretbench.suites.devbench.starter import CLOSING, OPENING
from caretbench.suites.validity import UNSEEN
from caretbench.text_tables import counted
from caretbench.versions import versions


class PrivateFind(NamedTuple):
    """One private text of a problem: its place with the line, and the kind of text in words. It is not quoted."""

    place: str
    description: str
    is_secret: bool


def private_finds(built: BuiltSet, problems: Sequence[Problem]) -> dict[str, list[PrivateFind]]:
    """Return the private texts of problems by id; problems without one are not listed."""
    private = {problem.id: list(_finds(built, problem)) for problem in problems}
    return {name: finds for name, finds in private.items() if finds}


def _finds(built: BuiltSet, problem: Problem) -> Iterator[PrivateFind]:
    seen = set()
    for place, text in released_texts(built, problem):
        for private in private_texts(text):
            if private.text not in seen:  # a program's texts are in several fields
                seen.add(private.text)
                # The place and not the text: a message with the secret would carry it into logs.
                line = text.count("\n", 0, private.start) + 1
                yield PrivateFind(f"{place}:{line}", private.description, private.is_secret)


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
    holders = grouped((licence or own or "", identity) for identity, licence in licences.items())
    if unknown := holders.get(""):
        raise DataError(
            f"{place}: {first_ids(unknown)} without a licence; state that of texts of your own with --licence MIT"
        )
    terms = {}
    for expression, ids in sorted(holders.items()):
        try:
            terms[expression] = redistribution_terms(expression)
        except RedistributionError as error:
            raise DataError(f"{place}: {first_ids(ids)} may not be passed on: {error}; remove them") from None
    # AND binds stronger than OR in SPDX, so `MIT OR GPL` and `Apache` without brackets would allow MIT alone.
    names = [f"({name})" if " OR " in name and len(terms) > 1 else name for name in terms]
    unstated = tuple(identity for identity, licence in licences.items() if licence is None)
    return SetLicence(" AND ".join(names), {name: len(holders[name]) for name in terms}, terms, unstated)


NOT_RUN: Final = "reference_not_run"
"""Beginning of the gate's result for an instance that ``build --unverified`` keeps: this machine cannot run it."""
_SHOWN: Final = 5


def check_source(built: BuiltSet, *, publish_holdout: bool) -> None:
    """Raise DataError if a folder is a hold-out that was not asked for in words, or a run and no set."""
    # A folder with completions has the layout of a set as well, and a run of an editor's events holds code of its
    # users.
    if (built.root / "completions.jsonl").exists():
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
    rows = [row for problem in built.problems if (row := built.row(problem)) is not None]
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
    faults = (f"{name}: {result}" for name, result in row.checks.items() if result not in (PASSED, UNSEEN))
    # `build --unverified` keeps what this machine cannot run; the datasheet says how many those are.
    return "; ".join(fault for fault in faults if not fault.startswith(f"gate: {NOT_RUN}"))


def check_secrets(built: BuiltSet, finds: Mapping[str, Sequence[PrivateFind]]) -> None:
    """Raise DataError if a problem has a text in the shape of a secret; the message has places and kinds."""
    secrets = [find for texts in finds.values() for find in texts if find.is_secret]
    places = [f"{secret.place}: {secret.description}" for secret in secrets]
    if places:
        more = f", and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        raise DataError(
            f"{built.root}: {'; '.join(places[:_SHOWN])}{more}: a release would pass it on; replace it by a "
            "placeholder (your-key), and run the build again"
        )


# Groups and whole cells make some difference always; five points are more than that explains.
_SHARE_NOTED: Final = 0.05
"""Difference of the held-out share from the requested one that is said."""
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class ReleaseOptions(NamedTuple):
    """Options of a release.

    Args:
        version: Version in three numbers, 1.0.0.
        holdout: Share of the problems that is held out.
        seed: Random seed of the hold-out.
        licence: Licence of the problems whose rows state none.
        url: Address at which the set will be found.
        review: Folder that ``caretbench review export`` wrote; rejected problems are not released.
        previous: Earlier release of the set, whose problems stay in their part.
        publish_holdout: Release a folder that is the hold-out of a release.
    """

    version: str = "1.0.0"
    holdout: float = 0.0
    seed: int = 0
    licence: str | None = None
    url: str | None = None
    review: Path | None = None
    previous: Path | None = None
    publish_holdout: bool = False


class ReleaseResult(NamedTuple):
    """Datasheets and folders of a release; ``lines`` say what was done, ``notes`` what to look at."""

    folder: Path
    public: Datasheet
    holdout: Datasheet | None
    lines: Sequence[str]
    notes: Sequence[str]


def holdout_folder(folder: Path) -> Path:
    """Return the folder of a release's hold-out, which is next to it."""
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}-holdout")


def version_key(text: str) -> tuple[int, ...]:
    """Return a version as numbers.

    Raises:
        UsageError: it does not have three numbers.
    """
    # Three numbers compare as tuples; `1.10.0` is above `1.9.0`, which texts get wrong.
    match = _VERSION.fullmatch(text)
    if match is None:
        raise UsageError(f"--set-version {text!r}: expected three numbers, 1.0.0")
    return tuple(int(number) for number in match.groups())


def release_set(root: Path, output: Path, options: ReleaseOptions) -> ReleaseResult:
    """Write a release of a built set, the whole or nothing; the same input gives the same bytes.

    Raises:
        UsageError: an option is wrong.
        DataError: the folder cannot be released, a licence forbids it, or the output exists.
    """
    version_key(options.version)
    _check_places(root, output)
    built, review, lines = _reviewed(root, options.review)
    # All of these refuse before anything is written.
    check_source(built, publish_holdout=options.publish_holdout)
    licence = part_licence(built, built.problems, options.licence)
    check_rows(built)
    private = private_finds(built, built.problems)
    check_secrets(built, private)
    earlier = _earlier(options)
    # One canary for all versions of a set: a crawler filters by the string that it knows.
    canary = built.stated_canary or (earlier[0].canary if earlier else built.canary)
    # Before the split: what was public cannot become secret again.
    fixed = earlier_parts(built.problems, earlier)
    fixed.check(str(root))
    parts = split_set(built, options.holdout, options.seed, public=fixed.public, held=fixed.held)
    writer = _Writer(built, parts, review, canary, options, earlier, private)
    public, hidden = writer.write_parts(output.resolve())
    if options.licence is not None:
        applied = first_ids(licence.unstated) if licence.unstated else "no problem: all state theirs"
        lines.append(f"--licence {options.licence} holds for {applied}")
    cells = counted(len(public.figures.cells), "cell")
    lines.append(f"{output}: {counted(len(parts.public), 'problem')} in {cells}, {licence.expression}")
    if hidden is not None:
        held = f"{counted(len(parts.holdout), 'problem')} ({hidden.holdout_share:.1%})"
        lines.append(f"{holdout_folder(output)}: {held}; keep this folder to yourself")
        if abs(hidden.holdout_share - options.holdout) > _SHARE_NOTED:
            lines.append(
                f"--holdout {options.holdout:g}: the share is another one, since problems that belong together stay "
                "together and every cell keeps public ones"
            )
    return ReleaseResult(output, public, hidden, lines, [*_notes(public, private)])


def _notes(public: Datasheet, private: Mapping[str, Sequence[PrivateFind]]) -> Iterator[str]:
    yield from (f"unknown: {line}" for line in public.unknown)
    if private:
        first = next(iter(private.values()))[0]
        yield f"{first_ids([*private])} with a name or an address of a person ({first.place}: {first.description})"


def part_licence(built: BuiltSet, problems: Sequence[Problem], own: str | None) -> SetLicence:
    """Return the licence of some problems; ``own`` is that of those that state none.

    Raises:
        DataError: a problem has none, or one under which it may not be passed on.
    """
    return set_licence({problem.id: built.licence_of(problem) for problem in problems}, own, str(built.root))


class _Writer(NamedTuple):
    """Writer of the two parts of a release."""

    built: BuiltSet
    parts: SetParts
    review: ReviewFigures | None
    canary: str
    options: ReleaseOptions
    earlier: Sequence[BuiltSet]
    private: Mapping[str, Sequence[PrivateFind]]

    def write_parts(self, output: Path) -> tuple[Datasheet, Datasheet | None]:
        """Write both folders or none, and return the datasheets."""
        held = holdout_folder(output)
        # Both parts are written under names with a dot and renamed at the end, so that a failure leaves no half
        # release.
        partial = [path.with_name(f".{path.name}.partial") for path in (output, held)]
        try:
            for path in partial:
                shutil.rmtree(path, ignore_errors=True)
            public = self.write("public", partial[0])
            hidden = self.write("holdout", partial[1]) if self.parts.holdout else None
            if hidden is not None:
                # The hold-out first: a public part without its hold-out would look complete.
                partial[1].rename(held)
            partial[0].rename(output)
        finally:
            for path in partial:
                shutil.rmtree(path, ignore_errors=True)
        return public, hidden

    def write(self, part: Part, folder: Path) -> Datasheet:
        """Write one part and return its datasheet."""
        problems = self.parts.public if part == "public" else self.parts.holdout
        marked = write_problems(self.built, problems, folder, self.canary, self.options.licence)
        licence = part_licence(self.built, problems, self.options.licence)
        stated, generation = self.built.manifest.get("versions"), generation_figures(self.built)
        sheet = Datasheet.model_validate(
            {
                "name": self.built.name,
                "version": self.options.version,
                "part": part,
                "suite": self.built.suite,
                "licence": licence.expression,
                "licences": licence.problems,
                "terms": licence.terms,
                "canary": self.canary,
                "url": self.options.url,
                "holdout_problems": len(self.parts.holdout),
                "holdout_share": len(self.parts.holdout) / sum(map(len, self.parts)),
                "figures": part_figures(self.built, problems, marked, self.private),
                "generation": generation,
                "review": self.review,
                "changes": self._changes(folder) if part == "public" and self.earlier else None,
                "versions": {**(stated if isinstance(stated, dict) else {}), "release": versions()["caretbench"]},
                "unknown": unknown_facts(self.built, generation, self.review),
            }
        )
        write_description(sheet, folder)
        return sheet

    def _changes(self, folder: Path) -> dict[str, int]:
        difference = set_difference(self.earlier[0], BuiltSet(folder, canary=self.canary))
        return {name: len(getattr(difference, name)) for name in ("added", "removed", "changed")}


def _check_places(root: Path, output: Path) -> None:
    whole, target, held = root.resolve(), output.resolve(), holdout_folder(output)
    if not target.name:
        raise DataError(f"{output}: choose another folder with -o")
    for path in (target, held):
        if path.exists():
            raise DataError(f"{path}: exists already; a release is written once: choose another folder with -o")
        # A release within the set would be read as a part of it the next time.
        if path.is_relative_to(whole):
            raise DataError(f"{path}: is inside of the built set; choose another folder with -o")
    check_folder_is_writable(target)


def _reviewed(root: Path, review: Path | None) -> tuple[BuiltSet, ReviewFigures | None, list[str]]:
    """Return the set without what people rejected, the statistics of the review, and lines about it."""
    built = BuiltSet(root)
    if review is None:
        return built, None, []
    figures = review_figures(review)
    reviewed = reviewed_problems(review, built.problems)
    if reviewed.dropped:
        built = BuiltSet(root, frozenset(reviewed.dropped))
    return built, figures, list(reviewed.lines)


def _earlier(options: ReleaseOptions) -> list[BuiltSet]:
    """Return the earlier release and its hold-out, as far as they are there.

    Raises:
        DataError: its version is not lower.
    """
    if options.previous is None:
        return []
    releases = [BuiltSet(options.previous)]
    stated = str(releases[0].datasheet.get("version", "0.0.0"))
    # Two releases with one version cannot be told apart by those who cite them.
    if version_key(stated) >= version_key(options.version):
        raise DataError(f"{options.previous}: has version {stated}; choose a higher one with --set-version")
    held = holdout_folder(options.previous)
    return [*releases, BuiltSet(held)] if held.is_dir() else releases
