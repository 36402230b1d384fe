"""The libraries that check the formulas are for development only; one of them is under the GPL."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
ORACLES = {"krippendorff", "sklearn", "statsmodels"}


def test_no_module_of_the_package_imports_them() -> None:
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text("utf-8")
        if "⟦" in text:  # a starter program with a marked place
            continue
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {name.partition(".")[0] for name in names}
    assert not found & ORACLES
    assert "numpy" in found


def test_no_installation_brings_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    for line in (*project["dependencies"], *extras):
        assert not line.startswith(("krippendorff", "scikit-learn", "statsmodels"))
