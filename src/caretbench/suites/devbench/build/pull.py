"""Download of the released data, at a pinned revision with a hash for each file, into the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.errors import UsageError
from caretbench.suites.devbench.released_problems import COMPLETIONS, REVISION, released_files, released_path

BASE_URL = f"https://raw.githubusercontent.com/microsoft/devbench/{REVISION}"


def pinned_files(models: Sequence[str] = ()) -> list[PinnedFile]:
    """Return the pinned files of the benchmark and of the recorded completions of some models.

    Raises:
        UsageError: the hashes of a model's completions are not known here.
    """
    files = [PinnedFile(path, entry["size"], entry["sha256"]) for path, entry in released_files().items()]
    chosen = [file for file in files if not file.path.startswith(COMPLETIONS)]
    for model in models:
        recorded = [file for file in files if file.path.endswith(f"-{model}.jsonl")]
        # Without a hash nothing is fetched: a file on a branch that has moved would be scored as the release.
        if not recorded:
            raise UsageError(
                f"no pinned completions of {model!r}; score a copy of your own with --completions DIR instead"
            )
        chosen += recorded
    return chosen


def pull(
    *,
    source: Path | None = None,
    models: Sequence[str] = (),
    base_url: str = BASE_URL,
    progress: Callable[[int, int], None] = lambda _added, _total: None,
) -> Path:
    """Fetch the released data, and recorded completions of some models, into the cache and return their folder.

    The files come from ``source``, a local copy of the release, or else from the network. Files that are in the cache
    are not fetched again. ``progress`` is called with the number of newly fetched files and the total.

    Raises:
        DataError: a file cannot be fetched, or differs from its pinned hash.
    """
    folder = released_path()
    files = pinned_files(models)
    progress(0, len(files))
    for file in files:
        # A run that was stopped during the download goes on with the files that are missing or differ from their hash.
        if not is_complete(file, folder):
            if source is not None:
                copy_file(file, source, folder)
            else:
                download_file(file, base_url, folder)
        progress(1, len(files))
    return folder
