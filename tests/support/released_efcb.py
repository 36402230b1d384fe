"""Questions in EFCB's released layout, written for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SYSTEM = {
    "mcq": "Say which of the 4 choices is best. Answer with a letter.",
    "mpr": "Fill in the masked lines and write the whole diff.",
    "reverse": "Write a title and a body.",
}
NAMES = ("area", "border", "colour", "depth", "edge", "frame", "grid", "height")


def patch(name: str, width: int = 1) -> str:
    """A rendered patch about ``name``, in Go."""
    lines = "".join(f"+\t{name} := measure({number})\n" for number in range(width))
    return f"shapes/{name}.go\n@@ -1,2 +1,{2 + width} @@ func {name}() {{\n start()\n{lines} stop()\n---\n"


def row(system: str, user: str, ideal: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": SYSTEM[system]}, {"role": "user", "content": user}]
    return {"input": messages, "ideal": ideal, **more}


def choice_row(description: str, patches: list[str], letter: str, **more: Any) -> dict[str, Any]:
    """A row of ``mcq_easy`` or ``mcq_hard``."""
    choices = "".join(f"Choice {name}:\n{text}\n\n---\n\n" for name, text in zip("ABCD", patches, strict=True))
    return row("mcq", f"Task Description:\n{description}\n\n---\n\n{choices}", letter, **more)


def masked_row(name: str, width: int = 8) -> dict[str, Any]:
    """A row of ``mpr_gen`` with five masked lines."""
    lines = patch(name, width).split("\n")
    shown = "\n".join((*lines[:3], "[[MASK]]", *lines[8:]))
    user = f"Title: {name}: measure\n\nDescription: Measures the {name}.\n\n\nCode Diff:\n{shown}\n"
    return row("mpr", user, patch(name, width))


def reverse_row(name: str, width: int = 8) -> dict[str, Any]:
    """A row of ``reverse_qa``."""
    return row("reverse", patch(name, width), f"Title: {name}: measure\n\nBody: Measures the {name}.\n")


def repository_rows(names: tuple[str, ...] = NAMES, width: int = 8) -> dict[str, list[dict[str, Any]]]:
    """Rows of all kinds about the changes ``names`` of a repository."""
    easy, hard = [], []
    for place, name in enumerate(names):
        others = [patch(other, width) for other in names if other != name][:3]
        letter = "ABCD"[place % 4]
        at = place % 4
        easy.append(choice_row(f"Measures the {name}.", [*others[:at], patch(name, width), *others[at:]], letter))
        edits = [patch(name, width).replace(f"measure({number})", "weigh(9)") for number in range(3)]
        hard.append(choice_row(f"Measures the {name}.", [*edits[:at], patch(name, width), *edits[at:]], letter))
    return {
        "mcq_easy": easy,
        "mcq_hard": hard,
        "mpr_gen": [masked_row(name, width) for name in names[:-1]],
        "reverse_qa": [reverse_row(name, width) for name in names],
    }


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in rows), encoding="utf-8")
    return path


def write_release(root: Path, **repositories: dict[str, list[dict[str, Any]]]) -> Path:
    """Write repositories below ``root/data/v0.3/tasks``; file names have a prefix of their own."""
    for repository, kinds in repositories.items():
        for kind, rows in kinds.items():
            write_rows(root / "data" / "v0.3" / "tasks" / repository / f"the_{repository}_{kind}.jsonl", rows)
    return root
