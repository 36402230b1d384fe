"""Start of a build: options where its folder has a say, and the installed toolchains."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from caretbench.errors import DataError
from caretbench.execution.toolchains import load_runtime
from caretbench.suites.devbench.build.construction.build_folder import BuildFolder
from caretbench.suites.devbench.build.construction.build_rows import ConstructionManifest
from caretbench.suites.devbench.build.construction.cell_counts import Cell, counts_to_restore, instances_per_cell
from caretbench.suites.devbench.build.construction.options import GENERATOR_ROLE, ConstructionOptions
from caretbench.suites.devbench.build.construction.people_changes import rejected_instances


class BuildStart(NamedTuple):
    """Options of a build, completed by those of its folder; the instances of each cell, and the new manifest."""

    options: ConstructionOptions
    counts: Mapping[Cell, int]
    manifest: ConstructionManifest


def start_of_build(options: ConstructionOptions, folder: BuildFolder, *, has_generator: bool) -> BuildStart:
    """Return the options of a build; those that are not set are the folder's.

    Raises:
        ValueError: no generator is named, or the seed is not the folder's.
        DataError: a file is malformed, or there is nothing that a review could have rejected.
    """
    if not has_generator:
        raise ValueError(_without_generator(folder))
    known = folder.manifest()
    if known is None:
        seed = options.scenario_seed if options.scenario_seed is not None else secrets.randbelow(1 << 31)
        known = ConstructionManifest(seed=seed, canary=f"caretbench canary {secrets.token_hex(16)}")
    elif options.scenario_seed not in {None, known.seed}:
        raise ValueError(
            f"--scenario-seed {options.scenario_seed}: the scenarios of {folder.path} have the seed {known.seed}; "
            "leave the option out, or choose another folder with -o"
        )
    restores = options.again is not None and not (options.per_cell or options.languages or options.categories)
    # What a folder was begun with holds for what is added.
    kept = {
        name: known.options.get(name) for name in ("per_cell", "licence") if getattr(options, name) is None
    }  # fmt: skip
    options = options.model_copy(update=kept)
    if restores and options.weights is None:
        counts = counts_to_restore(known, folder.instances(), every_generator=options.every_generator)
        _check_review(options.again, folder, counts)
    else:
        counts = instances_per_cell(options)
    manifest = known.model_copy(update={"options": options.model_dump(mode="json")})
    return BuildStart(options, counts, manifest)


def installed_toolchains(languages: Iterable[str]) -> dict[str, str]:
    """Return the version of the installed toolchain of each language that has one."""
    found = {name: load_runtime(name).toolchain() for name in languages}
    return {name: toolchain.version for name, toolchain in found.items() if toolchain.available}


def _without_generator(folder: BuildFolder) -> str:
    """Return the complaint about a build without a generator; it names those of the folder's earlier builds."""
    known = folder.manifest()
    names = list(known.models) if known is not None else []
    names = names or sorted({request.generator for request in folder.requests()})
    option = f"-m {GENERATOR_ROLE}=PROVIDER/MODEL"
    if not names:
        return f"build devbench needs a generator: {option}"
    return (
        f"{folder.path}: its generators are {', '.join(names)}; name them again ({option}): a folder may come from "
        "somebody else, so that it starts no program, opens no file of weights and sends nothing to an address"
    )


def _check_review(review: Path | None, folder: BuildFolder, counts: Mapping[Cell, int]) -> None:
    """Raise an error if the folder has no instances that a review could have rejected."""
    if review is None or any(counts.values()):
        return
    rejected_instances(review, {}, {})  # a missing file is the first fault
    raise DataError(
        f"--again {review}: {folder.path} has no instances; -o names the folder whose instances were reviewed"
    )
