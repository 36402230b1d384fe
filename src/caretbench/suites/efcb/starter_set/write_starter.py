"""The command that writes the starter set's repository.

``python -m caretbench.suites.efcb.starter_set.write_starter FOLDER``
"""

from __future__ import annotations

import sys
from pathlib import Path

from caretbench.errors import DataError, MachineError
from caretbench.suites.efcb.starter_set.repository import NAME, write_repository


def main(arguments: list[str]) -> int:
    """The command: writes the repository into the folder that is named."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m caretbench.suites.efcb.starter_set.write_starter FOLDER\n")
        return 2
    try:
        head = write_repository(Path(arguments[0]))
    except (DataError, MachineError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{arguments[0]}: {NAME}, at {head}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
