"""Version of Python that a project requires, compared with the sandbox's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from caretbench.build.projects.setup.project_tables import read_ini, read_text, read_toml, sub_table
from caretbench.build.projects.setup.python.literal_values import keyword_texts
from caretbench.execution.bundles.pip import sandbox_release
from caretbench.execution.workspaces.snapshot_store import Snapshot

_CLAUSE: Final = re.compile(r"\s*(?P<sign>>=|<=|==|!=|~=|>|<)\s*(?P<version>\d+(?:\.\d+)*)(?P<any>\.\*)?\s*")
_FIELD: Final = re.compile(r"^Requires-Python: *(.+)$", re.MULTILINE)
_PARTS: Final = 4


def required_python(snapshot: Snapshot) -> str:
    """Return the versions of Python that a project's metadata requires, as a specifier; "" if it requires none."""
    return next((text.strip() for text in _stated(snapshot) if text.strip()), "")


def python_fault(snapshot: Snapshot) -> str:
    """Return the message that the sandbox's Python is not one that a project requires; "" if it is."""
    required, release = required_python(snapshot), sandbox_release()
    if not required or not release or all(_holds(clause, release) for clause in required.split(",")):
        return ""
    here = ".".join(map(str, release))
    return f"the project requires Python {required}, and the sandbox has {here}: take a release of it for this Python"


def _stated(snapshot: Snapshot) -> Iterator[str]:
    stated = sub_table(read_toml(snapshot, "pyproject.toml"), "project").get("requires-python")
    yield stated if isinstance(stated, str) else ""
    yield read_ini(snapshot, "setup.cfg").get("options", "python_requires", fallback="") or ""
    yield from (
        text for _, texts in keyword_texts(read_text(snapshot, "setup.py"), {"python_requires"}) for text in texts
    )
    head = (read_text(snapshot, "PKG-INFO") or "").partition("\n\n")[0]
    found = _FIELD.search(head)
    yield found[1] if found else ""


def _holds(clause: str, release: tuple[int, ...]) -> bool:
    """Return whether a clause accepts a release; one that cannot be read accepts all."""
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        return True
    version = tuple(int(part) for part in found["version"].split("."))
    begins = release[: len(version)] == version
    wanted, here = (one + (0,) * (_PARTS - len(one)) for one in (version, release))
    if found["any"]:
        return begins if found["sign"] == "==" else not begins
    if found["sign"] == "~=":
        return here >= wanted and release[: len(version) - 1] == version[:-1]
    return {
        ">=": here >= wanted, "<=": here <= wanted, ">": here > wanted, "<": here < wanted,
        "==": here == wanted, "!=": here != wanted,
    }[found["sign"]]  # fmt: skip
