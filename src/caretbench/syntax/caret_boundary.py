"""Boundary of a caret: the kind of text directly before it."""

from __future__ import annotations

import re
from typing import Final

from caretbench.syntax.analysis_types import CaretBoundary

_WORD_CHARACTER: Final = re.compile(r"\w")
_OPERATOR: Final = re.compile(r"(?:[-+*/%=<>&|^~!?.:]|\b(?:and|or|not|in|is|instanceof|as|new|return|await|yield))\Z")
_HEADER: Final = re.compile(
    r"(?:^|\s)(?:def|class|func|function|fn|interface|struct|enum|impl|trait|record|namespace|module|"
    r"public|private|protected|internal|static|void)\b"
    r"|\)\s*(?:const|noexcept|override|final|throws\s[\w., ]+|->[^;{]*|:[^;{]*)?\s*(?:=>)?\s*[{:]?\Z"
)
_CONTROL: Final = re.compile(
    r"^\W*(?:if|elif|else|for|foreach|while|do|switch|match|case|try|catch|except|finally|with|using|lock|return)\b"
)


def caret_boundary(prefix: str, text: str, suffix: str) -> CaretBoundary:
    """Return the boundary of a caret between prefix and suffix; ``text`` is what is inserted or was due there."""
    line = prefix.rpartition("\n")[2]
    if not line.strip():
        above = next((above for above in reversed(prefix.splitlines()) if above.strip()), "")
        return "declaration" if is_header(above) else "new_line"
    if _in_word(prefix, text, suffix):
        return "word"
    before = line.rstrip()
    if before.endswith(("(", ",")):
        return "call"
    if before.endswith("{") or (before.endswith(":") and is_header(before)):
        return "declaration" if is_header(before) else "line"
    return "operator" if _OPERATOR.search(before) else "line"


def is_header(line: str) -> bool:
    """Return whether a line ends the header of a function or class, whose body follows."""
    line = line.strip()
    if not line.endswith((":", "{", "=>", ")")) or _CONTROL.match(line):
        return False
    if line.endswith(")") and not re.search(r"(?:^|\s)(?:def|func|function|fn|public|private|protected)\b", line):
        # `f(a)` and `if (a)` end as a header does; without a keyword of a declaration it is a call.
        return False
    return _HEADER.search(line) is not None


def _in_word(prefix: str, text: str, suffix: str) -> bool:
    """Return whether the caret divides a word: letters before it, and letters of the text or the suffix after it."""
    following = (text or suffix)[:1]
    return bool(_WORD_CHARACTER.match(prefix[-1:]) and _WORD_CHARACTER.match(following))
