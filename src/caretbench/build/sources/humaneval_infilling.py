"""HumanEval-Infilling: the release of functions with tests, pinned by commit and hash (MIT)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.files import DataError, cache_folder
from caretbench.problem import Provenance

HUMANEVAL_INFILLING: Final = "humaneval-infilling"
"""Name of the source in builds, and of the data for ``caretbench pull``."""

# Pinned, since a repository's branch may change under a build that must be repeatable.
_REVISION: Final = "88062ff9859c875d04db115b698ed4b0f0395170"
_URL: Final = f"https://raw.githubusercontent.com/openai/human-eval-infilling/{_REVISION}"
_DATA: Final = PinnedFile(
    "data/HumanEval-MultiLineInfilling.jsonl.gz",
    170082,
    "2f341612eee1d35da1357a4f365e0c0b3ba6e2b62eb491e88aaefa4855af0349",
)
_LICENCE: Final = PinnedFile("LICENSE", 1083, "bcba3de214851cce46ed5af42d6698044616eeace887c3231bc7a20474ab639e")
_FILES: Final = (_DATA, _LICENCE)


def humaneval_folder() -> Path:
    """Return the folder of the release in the cache; its files may be missing."""
    return cache_folder() / "data" / f"{HUMANEVAL_INFILLING}-{_REVISION}"


def multi_line_file() -> Path:
    """Return the file of multi-line problems: each of the 164 functions occurs in it.

    Raises:
        DataError: it is missing.
    """
    path = humaneval_folder() / _DATA.path
    if not path.is_file():
        raise DataError(f"{HUMANEVAL_INFILLING}: its data are missing; run: caretbench pull {HUMANEVAL_INFILLING}")
    return path


def humaneval_provenance() -> Provenance:
    """Return the origin of the functions."""
    return Provenance(source="openai/human-eval-infilling", revision=_REVISION, licence="MIT", date="2022-07-28")


def pull_humaneval(source: Path | None, progress: Callable[[int, int], None], url: str = _URL) -> Path:
    """Fetch the release into the cache and return its folder; files that are there are not fetched again.

    Args:
        source: Clone of the repository, or a folder with its files; None: the network.
        progress: Called with the number of newly fetched files and the total.
        url: Address of the files.

    Raises:
        DataError: a file cannot be fetched, or differs from its pinned hash.
    """
    folder = humaneval_folder()
    progress(0, len(_FILES))
    for pinned in _FILES:
        if not is_complete(pinned, folder):
            if source is None:
                download_file(pinned, url, folder)
            else:
                _copy(pinned, source, folder)
        progress(1, len(_FILES))
    return folder


def _copy(pinned: PinnedFile, source: Path, folder: Path) -> None:
    """Copy a file from a clone, or from a folder that has the files without their folders."""
    name = Path(pinned.path).name
    if (source / pinned.path).is_file() or not (source / name).is_file():
        copy_file(pinned, source, folder)
        return
    # Downloads by hand lie next to each other.
    flat = pinned._replace(path=name)
    copy_file(flat, source, folder)
    target = folder / pinned.path
    if target != folder / name:
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / name).replace(target)
