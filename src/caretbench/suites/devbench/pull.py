"""The released data: a pinned revision, every file by its hash, in the cache."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.files import DataError, cache_folder
from caretbench.suites.devbench.released import REVISION

BASE_URL = f"https://raw.githubusercontent.com/microsoft/devbench/{REVISION}"


def pinned_files(models: Sequence[str] = ()) -> list[PinnedFile]:
    """Return the benchmark's files, and the recorded completions of the named models.

    Raises:
        ValueError: the hashes of a model's completions are not known here.
    """
    text = resources.files("caretbench.suites.devbench").joinpath("released_files.json").read_text("utf-8")
    files = [PinnedFile(path, entry["size"], entry["sha256"]) for path, entry in json.loads(text).items()]
    chosen = [file for file in files if not file.path.startswith("completions/")]
    for model in models:
        recorded = [file for file in files if file.path.endswith(f"-{model}.jsonl")]
        if not recorded:
            raise ValueError(
                f"no pinned completions of {model!r}; score a copy of your own with --completions DIR instead"
            )
        chosen += recorded
    return chosen


def released_path() -> Path:
    """Where the released data lie in the cache."""
    return cache_folder() / "data" / f"devbench-{REVISION}"


def released_folder() -> Path:
    """Return the released data in the cache.

    Raises:
        DataError: they were not pulled yet, or not wholly.
    """
    folder = released_path()
    missing = sum(not (folder / file.path).is_file() for file in pinned_files())
    if missing:
        raise DataError(
            f"the released data are not here ({missing} files missing); get them: caretbench pull devbench"
        )
    return folder


def pull(
    *,
    source: Path | None = None,
    models: Sequence[str] = (),
    base_url: str = BASE_URL,
    progress: Callable[[int, int], None] = lambda _added, _total: None,
) -> Path:
    """Bring the released data, and recorded completions of some models, into the cache; what broke off goes on.

    The files come from ``source``, a local copy of the release, or else from the network. ``progress`` is called with
    the files added and their total.

    Raises:
        DataError: a file cannot be had, or is not the pinned one.
    """
    folder = released_path()
    files = pinned_files(models)
    progress(0, len(files))
    for file in files:
        if not is_complete(file, folder):
            if source is not None:
                copy_file(file, source, folder)
            else:
                download_file(file, base_url, folder)
        progress(1, len(files))
    return folder
