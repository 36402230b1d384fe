"""Text of TOML files: settings of projects, manifests of packages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from caretbench.projects.settings import ProjectSettings

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def toml_text(table: Mapping[str, object]) -> str:
    """Return a table as TOML, a line for each key; the tables in it are inline."""
    return "\n".join(f"{_toml_key(name)} = {_toml_value(value)}" for name, value in table.items())


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _toml_value(name)


def _toml_value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml_value(name)} = {_toml_value(each)}" for name, each in value.items()) + " }"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return '"' + _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", escaped) + '"'
    return str(value).lower()


def settings_toml(settings: ProjectSettings) -> str:
    """Return settings as TOML, without what has its default."""
    values = settings.model_dump(mode="json", exclude_defaults=True)
    checks = values.pop("checks", [])
    blocks = [toml_text(values), *(f"[[checks]]\n{toml_text(check)}" for check in checks)]
    return "\n\n".join(blocks) + "\n"
