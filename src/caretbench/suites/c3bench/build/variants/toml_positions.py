"""Line numbers of arrays of tables in TOML, which the parser of the standard library does not keep."""

from __future__ import annotations

import re

_TEXTS = re.compile(r'"""(?:\\.|[^\\])*?"""|' r"'''.*?'''|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|" r"#[^\n]*", re.DOTALL)


def table_lines(text: str, name: str) -> list[int]:
    """Return the line of each header ``[[name]]``, from 1; headers inside of strings and comments do not count."""
    plain = _TEXTS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    parts = r"\s*\.\s*".join(re.escape(part) for part in name.split("."))
    return [plain.count("\n", 0, match.end()) + 1 for match in re.finditer(rf"(?m)^[ \t]*\[\[\s*{parts}\s*\]\]", plain)]
