"""Lines, tokens and cyclomatic complexity of problems, computed as for DevBench's Table 4 (``paper`` profile).

Kept from the released script, to give its numbers: a final line break adds a line; an empty completion has no
lines and no tokens; complexity is that of the *prefix* alone, by counting words also in comments and strings, so that
``else if`` counts twice and ``return`` once. :mod:`caretbench.metrics.code_statistics` measures the same things as they
should be.

The script counts tokens with Python's ``tokenize`` whatever the language is, and with a regular expression where that
fails. Up to Python 3.11 the module was a lenient line scanner; since 3.12 it is the compiler's own strict one and gives
other counts. So the lenient rules are implemented here. Only the *number* of tokens matters, so no token is built.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterable
from typing import NamedTuple

from caretbench.syntax.parser import python_module


class UntokenizableError(ValueError):
    """Error of the lenient scanner: an open bracket or string at the end, or a dedent to no known column."""


# Python moves a tab to the next multiple of 8 columns (language reference, 2.1.8).
_TAB = 8

_STRING_PREFIX = r"(?:[bB][rR]?|[rR][bBfF]?|[fF][rR]?|[uU])?"
_POINT_FLOAT = r"(?:[0-9](?:_?[0-9])*\.(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)(?:[eE][-+]?[0-9](?:_?[0-9])*)?"
_EXPONENT_FLOAT = r"[0-9](?:_?[0-9])*[eE][-+]?[0-9](?:_?[0-9])*"
_NUMBER = "|".join(
    (
        r"[0-9](?:_?[0-9])*[jJ]",
        rf"(?:{_POINT_FLOAT}|{_EXPONENT_FLOAT})[jJ]",
        _POINT_FLOAT,
        _EXPONENT_FLOAT,
        r"0[xX](?:_?[0-9a-fA-F])+",
        r"0[bB](?:_?[01])+",
        r"0[oO](?:_?[0-7])+",
        r"0(?:_?0)*",  # a leading zero ends the number: 0123 is two tokens
        r"[1-9](?:_?[0-9])*",
    )
)
_OPERATORS = (
    r"\*\*=?|//=?|>>=?|<<=?|\.\.\.|->|!=|[-+*/%&|^@=<>:]=",  # before their own first characters
    r"[-+*/%&|^@=<>:()\[\]{},.;~]",
)

# One token after blanks. Alternatives are tried in this order, and the first hit counts, not the longest.
_TOKEN = re.compile(
    r"[ \f\t]*(?:"
    r"(?P<continuation>\\\r?\n)"
    r"|(?P<end>\Z)"
    r"|(?P<comment>\#[^\r\n]*)"
    rf"|(?P<triple>{_STRING_PREFIX}(?:'''|\"\"\"))"
    rf"|(?P<number>{_NUMBER})"
    r"|(?P<newline>\r?\n)"
    rf"|(?P<operator>{'|'.join(_OPERATORS)})"
    rf"|(?P<string>{_STRING_PREFIX}"
    r"(?:'[^\n'\\]*(?:\\.[^\n'\\]*)*(?:'|\\\r?\n)"
    r'|"[^\n"\\]*(?:\\.[^\n"\\]*)*(?:"|\\\r?\n)))'
    r"|(?P<name>\w+)"
    r")"
)

_STRING_END = {
    "'": re.compile(r"[^'\\]*(?:\\.[^'\\]*)*'"),
    '"': re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"'),
    "'''": re.compile(r"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"),
    '"""': re.compile(r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'),
}
_FIRST_QUOTE = re.compile(r"['\"]")

_FALLBACK = re.compile(r"[a-zA-Z_]\w*|[(){}\[\]<>]=?|[-+*/%=]|\"[^\"]*\"|'[^']*'|\S+")


class _Scanner:
    """Scanner state across lines: columns of open blocks, open brackets, an open string."""

    def __init__(self) -> None:
        self.count = 0
        self.columns = [0]
        self.brackets = 0
        self.continued = False
        self.string_end: re.Pattern[str] | None = None
        # Stays set after a broken single-quoted string, also for triple-quoted strings that follow: a quirk
        # of the rules that changes counts, so it is kept.
        self.string_needs_backslash = False

    def run(self, lines: Iterable[str]) -> int:
        """Return the number of tokens of all lines; blocks closed at the end and the end marker count too."""
        for line in lines:
            if not self._line(line):
                break
        else:
            if self.string_end is not None or self.brackets or self.continued:
                raise UntokenizableError("the text ends inside a string or a statement")
        return self.count + len(self.columns) - 1 + 1

    def _line(self, line: str) -> bool:
        """Count the tokens of one line; return False at the end of the text."""
        position = 0
        if self.string_end is not None:
            match = self.string_end.match(line)
            if match is None:
                if self.string_needs_backslash and not line.endswith(("\\\n", "\\\r\n")):
                    self.count += 1  # one error token for the whole broken string
                    self.string_end = None
                return True
            position = match.end()
            self.count += 1
            self.string_end = None
            self.string_needs_backslash = False
        elif self.brackets == 0 and not self.continued:
            column, position = _indentation(line)
            if position == len(line):
                return False  # only the last line can lack its line break
            if line[position] in "#\r\n":
                return True
            self._indent(column)
        else:
            self.continued = False
        self._tokens(line, position)
        return True

    def _indent(self, column: int) -> None:
        if column > self.columns[-1]:
            self.columns.append(column)
            self.count += 1
        while column < self.columns[-1]:
            if column not in self.columns:
                raise UntokenizableError("a line is dedented to a column that no block has")
            self.columns.pop()
            self.count += 1

    def _tokens(self, line: str, position: int) -> None:
        while position < len(line):
            match = _TOKEN.match(line, position)
            if match is None:  # one error token for one character, blanks before it included
                self.count += 1
                position += 1
                continue
            position = match.end()
            kind = match.lastgroup
            if kind in ("end", "comment", "newline"):
                continue
            if kind == "continuation":
                self.continued = True
                continue
            if kind == "operator":
                self.brackets += _BRACKETS.get(match["operator"], 0)
            elif kind == "triple":
                end = _STRING_END[match["triple"][-3:]]
                closing = end.match(line, position)
                if closing is None:
                    self.string_end = end
                    return
                position = closing.end()
            elif kind == "string" and match["string"].endswith("\n"):
                quote = _FIRST_QUOTE.search(match["string"])
                assert quote is not None  # noqa: S101 - the pattern begins with a quote after its prefix
                self.string_end = _STRING_END[quote.group()]
                self.string_needs_backslash = True
                return
            self.count += 1


_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def _indentation(line: str) -> tuple[int, int]:
    """Return column and position of the first character that is no blank; a form feed starts the column anew."""
    column = 0
    for position, character in enumerate(line):
        if character == " ":
            column += 1
        elif character == "\t":
            column = (column // _TAB + 1) * _TAB
        elif character == "\f":
            column = 0
        else:
            return column, position
    return column, len(line)


def lenient_token_count(text: str) -> int:
    """Return the number of tokens by the rules of Python 3.11's ``tokenize``, without comments and line breaks.

    Indents, dedents, error tokens and the end marker count.

    Raises:
        UntokenizableError: those rules give up on the text.
    """
    # The tokenizer of 3.12 is another one: by it Table 4's 92.6 and 21.8 tokens of Python would be 96.6 and 23.1.
    return _Scanner().run(io.StringIO(text, newline="\n"))


def paper_token_count(text: str) -> int:
    """Return the number of tokens as DevBench's Table 4 counts them, for text of any language.

    Source: the rules above; where they give up, the number of hits of the released script's regular
    expression.
    """
    try:
        return lenient_token_count(text)
    except UntokenizableError:
        return sum(1 for _ in _FALLBACK.finditer(text))


_WORDS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bif\b", r"\belse\s+if\b|\belif\b", r"\bfor\b", r"\bwhile\b", r"\bcase\b", r"\bcatch\b",
        r"\?", r"&&|\|\|", r"\bbreak\b", r"\bcontinue\b", r"\breturn\b",
    )
)  # fmt: skip

_PYTHON_BRANCHES = (ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.ExceptHandler)


class ProblemStatistics(NamedTuple):
    """Size of one problem, in lines and tokens, and its cyclomatic complexity."""

    prefix_lines: int
    completion_lines: int
    total_lines: int
    prefix_tokens: int
    completion_tokens: int
    total_tokens: int
    cyclomatic: int


def _lines(text: str) -> int:
    return text.count("\n") + 1


def paper_cyclomatic(text: str, language: str) -> int:
    """Return the cyclomatic complexity as the released script counts it, 1 for straight code.

    Python that parses is counted on its syntax tree; all else by searching for words.
    """
    module = python_module(text) if language == "python" else None
    if module is None:
        return 1 + sum(len(word.findall(text)) for word in _WORDS)
    count = 1
    for node in ast.walk(module):
        if isinstance(node, _PYTHON_BRANCHES):
            count += 1
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
    return count


def paper_statistics(prefix: str, completion: str, suffix: str, assertions: str, language: str) -> ProblemStatistics:
    """Return the statistics of one problem that DevBench's Table 4 averages.

    Args:
        prefix: Text before the caret.
        completion: The reference completion.
        suffix: Text after the caret.
        assertions: Hidden assertions; they count in the totals and are joined without a line break.
        language: Name of the language, as the table of languages has it.
    """
    program = prefix + completion + suffix + assertions
    return ProblemStatistics(
        prefix_lines=_lines(prefix),
        completion_lines=_lines(completion) if completion else 0,
        total_lines=_lines(program),
        prefix_tokens=paper_token_count(prefix),
        completion_tokens=paper_token_count(completion) if completion else 0,
        total_tokens=paper_token_count(program),
        cyclomatic=paper_cyclomatic(prefix, language),
    )
