"""Interpreters of Python on this machine, by version."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def find_interpreter(minor: int) -> str | None:
    """Return a Python 3 of this minor version that starts: this one, one of PATH, or one installed next to this one."""
    if sys.version_info[:2] == (3, minor):
        return sys.executable
    installed = map(str, sorted(Path(sys.base_prefix).parent.glob(f"*/bin/python3.{minor}")))
    for program in (shutil.which(f"python3.{minor}"), *installed):
        if program and subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0:
            return program
    return None
