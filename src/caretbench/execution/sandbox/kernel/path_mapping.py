"""Path mapping of a sandbox without mounts: a private folder with links to the bound paths.

With namespaces a program has its files in ``/tmp/work`` and the bound paths at fixed paths. Without namespaces these
paths are the host's. So they are replaced in arguments, environment and files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from caretbench.execution.sandbox.bubblewrap import HOME, WORK

_INSIDE = ".inside"
_TEMPORARY = "/tmp"  # noqa: S108  the sandbox's
_PATH = re.compile(r"(^-[A-Za-z]|^|[\s:;,=\"'@])(/[^\s:;,=\"']*)")


class PathMapping:
    """Path mapping of one program.

    Args:
        root: The private folder on the host, which is the sandbox's ``/tmp``.
        bound: Path inside -> path on the host, of all that is bound.

    Raises:
        ValueError: something is bound inside something else that is bound elsewhere; links cannot do that.
    """

    def __init__(self, root: str, bound: Mapping[str, str]) -> None:
        self.root = root
        self.folders = [self._under(WORK), self._under(HOME)]
        moved = {inside: outside for inside, outside in sorted(bound.items()) if inside != outside}
        for inside in moved:
            parent = next((other for other in moved if inside.startswith(f"{other}/")), None)
            if parent is not None:
                raise ValueError(f"{inside} lies inside {parent}, which needs namespaces")
        self.links = [(self._under(inside), outside) for inside, outside in moved.items()]
        self._kept = {inside for inside, outside in bound.items() if inside == outside}
        tops = {f"/{inside.split('/')[1]}" for inside in moved}
        absent = {top for top in tops if not os.path.lexists(top)}
        self._moved = {_TEMPORARY, *moved, *absent}

    def _under(self, inside: str) -> str:
        if inside == _TEMPORARY or inside.startswith(f"{_TEMPORARY}/"):
            return self.root + inside.removeprefix(_TEMPORARY)
        return f"{self.root}/{_INSIDE}{inside}"

    def map_path(self, inside: str) -> str:
        """Return the host's path for a path inside."""
        places = (inside[:end] for end in range(len(inside), 0, -1) if inside[end : end + 1] in ("", "/"))
        nearest = next((place for place in places if place in self._kept or place in self._moved), None)
        return self._under(inside) if nearest in self._moved else inside

    def map_text(self, text: str) -> str:
        """Return an argument or a variable with every path replaced: alone, in a list, or after an option."""
        return _PATH.sub(lambda found: found[1] + self.map_path(found[2]), text)
