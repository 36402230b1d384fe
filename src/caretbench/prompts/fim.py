"""Fill-in-the-middle formats: how each family of models writes a caret.

The families stand in ``fim_formats.toml``; nothing here knows one of them. A format is found by the special tokens
of the model's tokenizer, by the model's name, or by both; never by default.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib import resources
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from caretbench.languages import language as language_named
from caretbench.problem import ContextFile
from caretbench.prompts.strategy import UnpromptableError

Order = Literal["psm", "spm"]
"""Prefix or suffix first; the middle is what the model writes."""

Condition = Literal["files", "path", "repository"]

_TEXT_PIECES = frozenset({"prefix", "suffix", "files", "path", "language"})
_FILE_PIECES = frozenset({"path", "text", "newline"})
_CONDITIONAL_PIECES = frozenset({"path", "repository_name"})


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Piece(_Entry):
    """A text that stands in a prompt only under a condition: ``when`` one of these holds."""

    when: tuple[Condition, ...] = Field(min_length=1)
    text: str


class NoFim(_Entry):
    """A family that cannot fill in, and why not."""

    name: str
    title: str
    models: tuple[str, ...] = Field(min_length=1)
    reason: str


class FimText(NamedTuple):
    """What is sent, and the texts at which the answer ends."""

    text: str
    stop: tuple[str, ...]


class FimFormat(_Entry):
    """How one family writes a caret; the head of ``fim_formats.toml`` explains the fields."""

    name: str
    version: int = 1
    title: str
    models: tuple[str, ...] = Field(min_length=1)
    identified_by: tuple[str, ...] = Field(min_length=2)
    detected_as: str | None = None
    stop: tuple[str, ...] = Field(min_length=1)
    reserved: tuple[str, ...] = ()
    bos: str | None = None
    system: str | None = None
    orders: Mapping[Order, str] = Field(min_length=1)
    file: str | None = None
    pieces: Mapping[str, Piece] = Field(default_factory=dict)
    source: str
    notes: str = ""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if any(pattern != _plain(pattern) for pattern in self.models):
            raise ValueError("patterns of models are in lower case, with - for _")
        if clash := self.pieces.keys() & _TEXT_PIECES:
            raise ValueError(f"pieces of a family cannot be named {', '.join(clash)}")
        for name, piece in self.pieces.items():
            _check_names(f"piece {name}", piece.text, _CONDITIONAL_PIECES)
        if self.file is not None:
            _check_names("file", self.file, _FILE_PIECES)
        for order, template in self.orders.items():
            _check_names(order, template, _TEXT_PIECES | self.pieces.keys())
            if not all(template.count(f"{{{name}}}") == 1 for name in ("prefix", "suffix", "files")):
                raise ValueError(f"{order} has to hold prefix, suffix and files, each once")
            if (template.index("{prefix}") < template.index("{suffix}")) != (order == "psm"):
                raise ValueError(f"{order} has its prefix and suffix in the other order")
            if self.file is None and "{files}{prefix}" not in template:
                raise ValueError(f"{order} has to hold {{files}}{{prefix}}: its files become comments")
        return self

    @property
    def order(self) -> Order:
        """The order that is used where none is asked for."""
        return next(iter(self.orders))

    @property
    def sentinels(self) -> tuple[str, ...]:
        """All texts that are no text to this family, the longest first: none may stand in what is shown."""
        texts = {*self.identified_by, *self.stop, *self.reserved, *((self.bos,) if self.bos else ())}
        return tuple(sorted(texts, key=lambda text: (-len(text), text)))

    @cached_property
    def _any_sentinel(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.sentinels)))

    def render(
        self,
        prefix: str,
        suffix: str,
        *,
        language: str,
        path: str | None = None,
        repository: str | None = None,
        files: Sequence[ContextFile] = (),
        order: Order | None = None,
    ) -> FimText:
        """The prompt for a caret between ``prefix`` and ``suffix``.

        Other files are written in the family's own form for several files. Where it has none, they stand as
        comments, in the language of the problem, above the prefix. A path or a language that is not known is left
        blank.

        Args:
            prefix: The text before the caret.
            suffix: The text after it.
            language: Name or alias of the language.
            path: Path of the file with the caret.
            repository: Name of its repository; families that write one do so where files are shown.
            files: Other files, the nearest last.
            order: Prefix or suffix first; None: the family's default.

        Raises:
            UnpromptableError: A text holds a sentinel of the family, or the language's comments are not known.
            ValueError: The family does not have this order.
        """
        template = self.orders.get(order or self.order)
        if template is None:
            raise ValueError(f"{self.name} has no order {order}; it has {', '.join(self.orders)}")
        self._refuse_sentinels(prefix, suffix, path, repository, files)
        known = {"path": path or "", "repository_name": repository or ""}
        holds = {"files": bool(files), "path": bool(path), "repository": bool(files and repository)}
        values = {
            name: _fill(piece.text, known) if any(holds[condition] for condition in piece.when) else ""
            for name, piece in self.pieces.items()
        }
        values |= known | {
            "prefix": prefix,
            "suffix": suffix,
            "language": _title(language),
            "files": "".join(self._file(file, language) for file in files),
        }
        return FimText(_fill(template, values), self.stop)

    def _file(self, file: ContextFile, language: str) -> str:
        if self.file is None:
            return _as_comment(file, language)
        newline = "" if file.text.endswith("\n") else "\n"
        return _fill(self.file, {"path": file.path, "text": file.text, "newline": newline})

    def _refuse_sentinels(
        self, prefix: str, suffix: str, path: str | None, repository: str | None, files: Sequence[ContextFile]
    ) -> None:
        shown = [
            ("the text before the caret", prefix),
            ("the text after the caret", suffix),
            ("the path", path or ""),
            ("the repository's name", repository or ""),
            *((f"the path of {file.path}", file.path) for file in files),
            *((f"the file {file.path}", file.text) for file in files),
        ]
        for where, text in shown:
            if found := self._any_sentinel.search(text):
                raise UnpromptableError(f"{where} holds {found[0]!r}, a sentinel of {self.title}")


# --- which format a model has -----------------------------------------------------------------------------------


class _Table(_Entry):
    formats: Mapping[str, FimFormat]
    none: Mapping[str, NoFim]


@cache
def _table() -> _Table:
    entries = tomllib.loads(
        resources.files("caretbench.prompts").joinpath("fim_formats.toml").read_text("utf-8")
    )
    return _Table.model_validate(
        {part: {name: {"name": name, **entry} for name, entry in entries[part].items()} for part in entries}
    )


def formats() -> Mapping[str, FimFormat]:
    """All formats by name, in the order of the table."""
    return _table().formats


def families_without() -> Mapping[str, NoFim]:
    """The families that are known not to fill in."""
    return _table().none


def detect(special_tokens: frozenset[str]) -> FimFormat | None:
    """The format that these special tokens tell, or None.

    All tokens that identify a family must be there; the family with the most of them is meant. Families that share
    their tokens are told as the one whose form is common to them. Tokens tell a format, not a skill: many models have
    the tokens of their relatives without the training, which only a probe or the name can tell.
    """
    tokens = _spellings(special_tokens)
    found = [
        entry
        for entry in formats().values()
        if not entry.detected_as and tokens.issuperset(entry.identified_by)
    ]
    return max(found, key=lambda entry: len(entry.identified_by), default=None)


def by_model_name(name: str) -> FimFormat | None:
    """The format of the family that a model's name tells, or None (also for a family that cannot fill in).

    What counts is the end of the name after the last slash, whatever its case, with ``-`` for ``_``.
    """
    entry = _named(name)
    return entry if isinstance(entry, FimFormat) else None


def for_model(name: str, special_tokens: frozenset[str] | None) -> FimFormat:
    """The format of a model, by its tokenizer first and its name second.

    The name decides between families that the tokens cannot tell apart, and alone where no tokens are known.

    Raises:
        ValueError: There is no such format, or none is known; the message says why and what helps.
    """
    entry = _named(name)
    if isinstance(entry, NoFim):
        raise ValueError(f"{name} cannot fill in the middle ({entry.title}): {entry.reason}")  # noqa: TRY004
    if special_tokens is None:
        if entry is None:
            raise ValueError(
                f"no fill-in-the-middle format is known for {name}: its special tokens are not known, and its name "
                f"tells no family of {', '.join(formats())}; name one (fim/FAMILY) or ask in another way"
            )
        return entry
    if entry is not None and _spellings(special_tokens).issuperset(entry.identified_by):
        return entry
    if (found := detect(special_tokens)) is not None:
        return found
    missing = "" if entry is None else f" (not those of {entry.title}, though it is named so)"
    raise ValueError(
        f"{name} cannot fill in the middle: its tokenizer has the tokens of no known family{missing}; "
        "name a family (fim/FAMILY) if it has one nevertheless, or ask in another way"
    )


def split_sentinels(entry: FimFormat, encode: Callable[[str], Sequence[int]]) -> tuple[str, ...]:
    """The tokens that identify ``entry`` and that a tokenizer does not keep whole; empty where all is well.

    Args:
        entry: A format.
        encode: Text to token numbers, special tokens read as such and none added.
    """
    return tuple(token for token in entry.identified_by if len(encode(token)) != 1)


def known_sentinels() -> frozenset[str]:
    """All tokens that identify some family."""
    return frozenset(token for entry in formats().values() for token in entry.identified_by)


def _named(name: str) -> FimFormat | NoFim | None:
    end = _plain(re.split(r"[/\\]", name.rstrip("/\\"))[-1])
    entries: list[FimFormat | NoFim] = [*formats().values(), *families_without().values()]
    fitting = [
        (len(pattern), pattern, entry)
        for entry in entries
        for pattern in entry.models
        if fnmatchcase(end, pattern)
    ]
    return max(fitting, key=lambda item: item[:2])[2] if fitting else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _spellings(tokens: frozenset[str]) -> frozenset[str]:
    """Tokens with and without the mark (U+2581) by which some vocabularies spell the blank before them."""
    return tokens | {token.removeprefix("\u2581") for token in tokens}


# --- the small language of templates ----------------------------------------------------------------------------

_NAME = re.compile(r"\{(\w+)\}")


def _fill(template: str, values: Mapping[str, str]) -> str:
    """``template`` with its names replaced, in one pass: what a value holds is not looked at again."""
    return _NAME.sub(lambda match: values[match[1]], template)


def _check_names(where: str, template: str, allowed: frozenset[str]) -> None:
    if unknown := set(_NAME.findall(template)) - allowed:
        raise ValueError(f"{where} holds {{{unknown.pop()}}}; it may hold {', '.join(sorted(allowed))}")


def _title(language: str) -> str:
    try:
        return language_named(language).title
    except KeyError:
        return ""


def _as_comment(file: ContextFile, language: str) -> str:
    try:
        mark = language_named(language).line_comment
    except KeyError:
        raise UnpromptableError(
            f"other files would be shown as comments, and those of {language} are not known"
        ) from None
    return "".join(
        f"{mark} {line}".rstrip() + "\n" for line in (f"Path: {file.path}", *file.text.splitlines())
    )
