"""Size limit of the cache, which is kept automatically: the longest unused entries are removed first.

It bounds verdicts, compiled programs and snapshots together. Bundles, tools, data and models are only removed on
request. Nothing is removed that was used in the last hour, or that is locked by a running build or run.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.cache.stored_kinds import RECENT_S, Freed, StoredFiles
from caretbench.files import cache_folder

LIMIT_VARIABLE: Final = "CARETBENCH_CACHE_GB"
"""Environment variable with the limit in gigabytes; 0: no limit."""
DEFAULT_LIMIT_GB: Final = 20.0
_CHECKED: Final = ".limit-checked"
_INTERVAL_S: Final = 3600.0


def cache_limit_bytes() -> int | None:
    """Return the limit in bytes; None if there is none.

    Raises:
        ValueError: the environment variable is no number.
    """
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    try:
        value = float(text) if text else DEFAULT_LIMIT_GB
        if not 0 <= value < float("inf"):
            raise ValueError  # noqa: TRY301  one message for both
    except ValueError:
        raise ValueError(f"{LIMIT_VARIABLE}={text!r}: expected a number of gigabytes, or 0 for no limit") from None
    return int(value * 1e9) if value else None


def keep_cache_limit(folder: Path | None = None) -> Freed | None:
    """Remove the longest unused entries beyond the limit; at most once an hour, else return None.

    Errors of the file system are ignored: the next call tries again.
    """
    limit = cache_limit_bytes()
    root = folder or cache_folder()
    mark = root / _CHECKED
    with contextlib.suppress(OSError):
        if limit is None or not root.is_dir() or abs(time.time() - mark.stat().st_mtime) < _INTERVAL_S:
            return None
    with contextlib.suppress(OSError):
        mark.touch()
        cache = ResultCache(root)
        try:
            return StoredFiles(cache).free(keep_bytes=limit, spare_s=RECENT_S)
        finally:
            cache.close()
    return None
