"""Accesses that no problem's reference may make: files outside of the temporary folder, connections, its own source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from caretbench.languages import language_of_grammar
from caretbench.suites.validity import UNSEEN

_SOURCE = "its own source"


def forbidden_access(text: str, language: str, accesses: Sequence[str] | None) -> str:
    """Return the first forbidden access of a watched run; empty if there is none, ``unseen`` if nothing was seen.

    Runtimes read files of the system, too: an opened file counts where the text names its folder, and of a read the
    file. The text of a program is read again for tracebacks: it counts where the program names it.
    """
    if accesses is None:
        return UNSEEN
    for access in accesses:
        verb, _, target = access.partition(" ")
        if verb == "starts":  # what it starts is watched, too
            continue
        folder, name = (re.escape(target.split("/")[index]) for index in (min(1, target.count("/")), -1))
        if target == _SOURCE:
            patterns = [language_of_grammar(language).own_source or r"\A\Z"]
        elif verb in ("reads", "writes"):
            patterns = [rf"[/\"'`]{folder}\b", *([rf"(?<!\w){name}(?!\w)"] if verb == "reads" else [])]
        else:
            patterns = []
        if all(re.search(pattern, text) for pattern in patterns):
            return access
    return ""
