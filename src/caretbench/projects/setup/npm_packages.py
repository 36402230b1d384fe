"""Installation of the packages in ``package.json`` with npm, and npm's own message if that fails."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from typing import Final

from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.setup.package_scripts import DEPENDENCY_FIELDS, PACKAGE_JSON, listed_texts, read_package_json
from caretbench.projects.setup.script_runners import script_rules

_FETCH: Final = "npm install --no-save --ignore-scripts --no-audit --no-fund --legacy-peer-deps"
_ERROR: Final = re.compile(r"^npm (?:error|ERR!) ?(.*)$")
_NOISE: Final = re.compile(
    r"^(?:code \w+|\w+|A complete log of this run .*|Note that you can also .*|tarball, folder, http url.*"
    r"|In most cases you or one of your .*|a package version that .*)?$"
)
"""Lines of npm that say nothing about the cause."""
_TAG: Final = re.compile(r"^(?:\d{3}|notarget|notsup|network|syscall|errno|enoent|\w*resolve)\s+", re.IGNORECASE)
_MISSING: Final = re.compile(
    r"'(?P<unknown>@?[^'@\s]+)@[^']*' is not in this registry"
    r"|No matching version found for (?P<version>@?[^@\s]+)@"
    r"|Unsupported URL Type \"(?P<kind>[^\"]+)\""
)
_MOST_LINES: Final = 3


def install_command(snapshot: Snapshot, excluded: Collection[str] = ()) -> str | None:
    """Return the command that installs the packages of a project's tests without ``excluded``; None if there are none.

    Packages that no test needs would take most of the space: they are removed from ``package.json`` for the
    installation, and the file is restored afterwards.
    """
    package = read_package_json(snapshot)
    named = [(field, name, version) for field in DEPENDENCY_FIELDS for name, version in listed_texts(package, field)]
    left_out = [
        f"{field}[{name}]" for field, name, version in named if name in excluded or _is_unneeded(field, name, version)
    ]
    if len(left_out) == len(named):
        return None
    if not left_out:
        return _FETCH
    return f"cp {PACKAGE_JSON} /tmp/ && npm pkg delete {shlex.join(left_out)} && {_FETCH} && cp /tmp/{PACKAGE_JSON} ."


def _is_unneeded(field: str, name: str, version: str) -> bool:
    """Return whether tests run without a package, or it is in the same repository and cannot be installed."""
    if version.startswith(("workspace:", "link:", "portal:")):
        return True
    patterns = script_rules().unneeded_packages if field == "devDependencies" else ()
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def npm_failure(output: str, snapshot: Snapshot) -> str:
    """Return npm's message from the output of a set-up, with a remedy if a package is missing; "" if npm printed none.

    A package that the index lacks may be one that no test needs, so the remedy installs the others.
    """
    said = [match[1].strip() for match in map(_ERROR.match, output.splitlines()) if match]
    lines = [_TAG.sub("", line) for line in said]
    told = list(dict.fromkeys(line for line in lines if not _NOISE.match(line)))
    if not told:
        return ""
    text = " / ".join(told[:_MOST_LINES])
    missing = [
        name for line in told for match in _MISSING.finditer(line) if (name := match["unknown"] or match["version"])
    ]
    own = {name for field in DEPENDENCY_FIELDS for name, _ in listed_texts(read_package_json(snapshot), field)}
    command = install_command(snapshot, missing) if own & {*missing} else None
    if command is None:
        return text
    return f"{text}; where no test needs {', '.join(sorted(own & {*missing}))}: --setup {shlex.quote(command)}"
