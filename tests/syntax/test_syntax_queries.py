"""The query files say the words that the code knows, for every language that suites mine."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from caretbench.syntax.blocks import BlockKind
from caretbench.syntax.names.file_symbols import scoping_rules_of
from caretbench.syntax.names.node_roles import NODE_MARKS, PARENT_ROLES
from caretbench.syntax.parser import query_text
from caretbench.syntax.scopes import test_conventions as conventions_of

NODE_KINDS = frozenset({
    "identifier", "self", "super", "pattern", "member", "import",
    "branch", "loop", "try", "switch", "case", "return", "throw", "break", "continue",
    "global", "nonlocal", "skip",
    "scope.function", "scope.method", "scope.lambda", "scope.class", "scope.interface", "scope.namespace",
    "scope.comprehension", "scope.block",
})  # fmt: skip

MINED = ("python", "java", "javascript", "typescript", "cpp", "csharp", "rust")
_CAPTURE = re.compile(r"(?<![\w\"])@([\w.]+)")


def captured(language: str, name: str) -> set[str]:
    text = query_text(language, name)
    assert text is not None
    text = "\n".join(line for line in text.split("\n") if not line.startswith(";"))
    return set(_CAPTURE.findall(text))


@pytest.mark.parametrize("language", MINED)
def test_roles(language: str) -> None:
    words = captured(language, "roles")
    assert words <= {f"is.{word}" for word in NODE_KINDS} | {f"as.{word}" for word in PARENT_ROLES} | {
        f"mark.{word}" for word in NODE_MARKS
    }
    assert words >= {
        "is.identifier",
        "is.branch",
        "is.loop",
        *(() if language == "rust" else ("is.try",)),
        "is.switch",
        "is.case",
        "is.return",
        "is.member",
    }


@pytest.mark.parametrize("language", MINED)
def test_blocks(language: str) -> None:
    kinds = set(get_args(BlockKind))
    words = captured(language, "blocks")
    ends = {f"{kind}.{end}" for kind in kinds for end in ("first", "last", "open", "close")}
    assert words <= kinds | ends | {"statements", "not_statement", "elif", "_name"}


@pytest.mark.parametrize("language", MINED)
def test_imports_and_decisions(language: str) -> None:
    assert captured(language, "imports") <= {
        "name", "module", "symbol", "wildcard", "dotted", "package", "default", "_require",
    }  # fmt: skip
    assert captured(language, "decisions") == {"decision"}


@pytest.mark.parametrize("language", MINED)
def test_traits_and_conventions(language: str) -> None:
    assert scoping_rules_of(language).stdlib
    assert conventions_of(language).paths
