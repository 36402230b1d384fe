from __future__ import annotations

import io
import sys
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.metrics.complexity import UntokenizableError, lenient_token_count, paper_token_count

# The lenient module is in the standard library up to 3.11: there it is the oracle, for all data and for odd texts.
lenient_stdlib = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="the standard library's tokenizer is the strict one here"
)
LEFT_OUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING}
PIECES = [
    *"'\"\\()[]{}#.$?!`;:,@~", "'''", '"""', "rb'", 'Rb"', "uR'", "f'''",
    "\\\n", "\\\r\n", "\r\n", "\r", "\n", "\n ", "\n  ", "\n\t", "\f", " ", "\x0b", "\u2028", "\x00",
    "0x1F", "0123", "1_0j", "1.e5", ".5", "1__0", "0b12", "name", "é", "²", "٣",
    "->", "**=", "//", "//=", "...", "!=", ":=", "<>", "<<=", ">>>", "=>", "&&", "||=", "++",
]  # fmt: skip


def stdlib_count(text: str) -> int | None:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError):
        return None
    return sum(token.type not in LEFT_OUT for token in tokens)


def own_count(text: str) -> int | None:
    try:
        return lenient_token_count(text)
    except UntokenizableError:
        return None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),  # the end marker
        ("a = 1\n", 4),
        ("# only a comment\n\n", 1),
        ("if a:\n    b\n", 7),  # if a : INDENT b DEDENT end
        ("x = 0123", 5),  # 0 and 123
        ("a ? b : c", 7),  # the blank before ? is an error token too
        ("// text's end", 6),  # // text ' s end, and the end marker: the quote is an error
        ("'a\\\nb' + c", 4),
        ("'''a\nb\n'''", 2),
        ("   ", 1),
    ],
)
def test_rules(text: str, count: int) -> None:
    assert lenient_token_count(text) == count


@pytest.mark.parametrize("text", ["(", "}", "'''a\n", "a \\\n", "if a:\n    b\n  c\n"])
def test_gives_up(text: str) -> None:
    with pytest.raises(UntokenizableError):
        lenient_token_count(text)


@pytest.mark.parametrize(("text", "count"), [("(a", 2), ("x >= [1]}", 4), ("(\"a b\", 'c'", 4), (") \u20ac$ }", 3)])
def test_falls_back_to_the_expression(text: str, count: int) -> None:
    assert own_count(text) is None
    assert paper_token_count(text) == count


@lenient_stdlib
@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_agrees_with_the_lenient_standard_library_on_odd_texts(text: str) -> None:
    assert own_count(text) == stdlib_count(text)


@lenient_stdlib
@pytest.mark.data
@pytest.mark.long
def test_agrees_with_the_lenient_standard_library_on_all_data(instances: list[dict[str, str]]) -> None:
    fields = ("prefix", "golden_completion", "suffix", "assertions")
    texts = {row[field] for row in instances for field in fields}
    texts |= {"".join(row[field] for field in fields) for row in instances}
    assert len(instances) == 1800
    counts = {text: own_count(text) for text in texts}
    assert [text for text, count in counts.items() if count != stdlib_count(text)] == []
    assert sum(count is None for count in counts.values()) > 1000  # the fallback is used a lot
