"""Write the hashes of pytest's releases, and of the packages that it imports, to ``pytest_releases.toml``.

Usage: python scripts/pytest_releases.py VERSIONS…    (``pytest==9.2.0 pluggy==1.7.0``; known ones are kept)

Wheels are downloaded by pip and only read. A hash is one of all files of a module or package in the wheel.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from caretbench.execution.workspaces.warm.warm_python import MODULES, TABLE, content_hash


def main() -> None:
    """Add the releases that the command line names."""
    place = Path(__file__).parents[1] / "src/caretbench/execution/workspaces/warm" / TABLE
    known: dict[str, dict[str, str]] = tomllib.loads(place.read_text("utf-8")) if place.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        command = ["pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", folder]
        for wanted in sys.argv[1:]:
            subprocess.run([*command, wanted], check=True)
        for wheel in sorted(Path(folder).glob("*.whl")):
            name, version = wheel.name.split("-")[:2]
            with zipfile.ZipFile(wheel) as archive:
                files = {
                    path: hashlib.sha256(archive.read(path)).hexdigest()
                    for path in archive.namelist()
                    if not path.endswith("/")
                }
            for module in MODULES.get(name, ()):
                found = content_hash(files, module)
                if found is not None:
                    known.setdefault(module, {})[version] = found
    lines = [
        "# Hashes of the files of pytest and of what it imports, by module and version (scripts/pytest_releases.py)."
    ]
    for module, versions in sorted(known.items()):
        ordered = sorted(versions.items(), key=lambda pair: [int(part) for part in pair[0].split(".")])
        lines += ["", f"[{module}]", *(f'"{version}" = "{found}"' for version, found in ordered)]
    place.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
