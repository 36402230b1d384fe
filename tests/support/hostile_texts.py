"""Hostile texts by seed: repeated, nested and random pieces that make parsers slow."""

from __future__ import annotations

import random
from typing import Final

GRAMMARS: Final = ("python", "java", "javascript", "typescript", "tsx", "cpp", "csharp", "go", "rust", "ruby")
_PIECES: Final = (
    "/*", "*/", "//", "#", '"', "'", "`", '"""', "'''", "${", "#{", "{", "}", "(", ")", "[", "]", "<", ">", "=>", "->",
    "::", ":", ";", ",", ".", "...", "?", "??", "?.", "=", "==", "+", "-", "*", "**", "/", "%", "&", "&&", "|", "!",
    "~", "@", "$", "\\", "<<", "<<A", "R\"(", "b'", "r#", "f'{", "0x", "1", "1e", "a", "a b", "a<", "x=>", "(a)",
    "if", "if (", "if a:", "for", "for (", "else", "while", "do", "case", "switch", "class", "class A", "def f(", "fn",
    "func", "function", "lambda", "lambda:", "async", "await", "yield", "new", "return", "import", "from", "in", "not",
    "template<", "operator", "#if", "#if x\n", "#endif\n", "#define", "%w(", "begin", "end", "|a|", "<a>", "</a>", "\t",
    "\n", "\n ", "\r", "\0", "é", "\u2028", "\ufeff", "\ud800", " ",
)  # fmt: skip


def hostile_text(seed: int, most: int = 200_000) -> tuple[str, str]:
    """Return a grammar and a text of at most ``most`` bytes that make a parser work."""
    chance = random.Random(seed)  # noqa: S311  no secrets
    grammar = GRAMMARS[seed % len(GRAMMARS)]
    length = int(most ** chance.uniform(0.6, 1))
    unit = chance.choice(("", " ", "\n")).join(chance.choices(_PIECES, k=chance.randint(1, 4)))
    unit += chance.choice(("", " ", "\n"))
    repeats = max(1, length // max(1, len(unit.encode("utf-8", "surrogatepass"))))
    shape = chance.randrange(5)
    if shape == 0:
        text = unit * repeats
    elif shape == 1:
        names = ("".join(chance.choices("abcdefgh", k=5)) for _ in range(1 + length // (5 + 4 * len(unit))))
        text = "".join(name + unit for name in names)
    elif shape == 2:
        text = "".join(chance.choice(_PIECES) + chance.choice(("", " ", "\n")) for _ in range(length // 6))
    elif shape == 3:
        text = unit * (repeats // 2) + "a" + unit[::-1] * (repeats // 2)
    else:
        depth = min(repeats, 400)
        text = "".join(" " * (row % depth) + unit + "\n" for row in range(1 + length // (depth // 2 + len(unit) + 1)))
    return grammar, text.encode("utf-8", "surrogatepass")[:most].decode("utf-8", "ignore")
