"""Fill-in-the-middle formats and their rendering of a caret. The families are in ``fim_formats.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from caretbench.errors import UsageError
from caretbench.languages import language as language_named
from caretbench.problem import ContextFile
from caretbench.prompts.strategy import UnpromptableError

PrefixSuffixOrder = Literal["psm", "spm"]
"""Prefix or suffix first; the middle is what the model writes."""

Condition = Literal["files", "path", "repository"]

_TEXT_PIECES = frozenset({"prefix", "suffix", "files", "path", "language"})
_FILE_PIECES = frozenset({"path", "text", "newline"})
_CONDITIONAL_PIECES = frozenset({"path", "repository_name"})


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ConditionalText(_Entry):
    """Text of a prompt that is used ``when`` one of these conditions holds."""

    when: tuple[Condition, ...] = Field(min_length=1)
    text: str


class FamilyWithoutFim(_Entry):
    """Model family that cannot fill in the middle, with the reason."""

    name: str
    title: str
    models: tuple[str, ...] = Field(min_length=1)
    reason: str


class FimPrompt(NamedTuple):
    """A rendered FIM prompt, and the stop sequences of its answer."""

    text: str
    stop: tuple[str, ...]


class FimFormat(_Entry):
    """FIM prompt format of one model family; ``fim_formats.toml`` explains the fields at its top."""

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
    orders: Mapping[PrefixSuffixOrder, str] = Field(min_length=1)
    file: str | None = None
    pieces: Mapping[str, ConditionalText] = Field(default_factory=dict)
    source: str
    notes: str = ""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if clash := self.pieces.keys() & _TEXT_PIECES:
            raise ValueError(f"pieces of a family cannot be named {', '.join(clash)}")
        for name, piece in self.pieces.items():
            _check_names(f"piece {name}", piece.text, _CONDITIONAL_PIECES)
        if self.file is not None:
            _check_names("file", self.file, _FILE_PIECES)
        for order, template in self.orders.items():
            _check_names(order, template, _TEXT_PIECES | self.pieces.keys())
            # A family without a place for the suffix would be left-to-right under another name.
            if not all(template.count(f"{{{name}}}") == 1 for name in ("prefix", "suffix", "files")):
                raise ValueError(f"{order} has to hold prefix, suffix and files, each once")
            if (template.index("{prefix}") < template.index("{suffix}")) != (order == "psm"):
                raise ValueError(f"{order} has its prefix and suffix in the other order")
            if self.file is None and "{files}{prefix}" not in template:
                raise ValueError(f"{order} has to hold {{files}}{{prefix}}: its files become comments")
        return self

    @property
    def order(self) -> PrefixSuffixOrder:
        """Default order of prefix and suffix: the first of ``orders``."""
        return next(iter(self.orders))

    @property
    def sentinels(self) -> tuple[str, ...]:
        """All sentinels of this family, longest first; shown texts must not contain any."""
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
        order: PrefixSuffixOrder | None = None,
    ) -> FimPrompt:
        """Return the prompt for a caret between ``prefix`` and ``suffix``.

        Other files are written in the family's own form for several files. Where it has none, they are shown as
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
            UsageError: The family does not have this order.
        """
        template = self.orders.get(order or self.order)
        if template is None:
            raise ValueError(f"{self.name} has no order {order}; it has {', '.join(self.orders)}")
        # The tokenizer reads a sentinel in the text as the real one: the model would fill in at another place.
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
        return FimPrompt(_fill(template, values), self.stop)

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


_NAME = re.compile(r"\{(\w+)\}")


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Return ``template`` with its names replaced, in one pass: values are not searched again."""
    # In one pass: a program may hold {prefix} itself, and must not be filled in.
    return _NAME.sub(lambda match: values[match[1]], template)


def _check_names(where: str, template: str, allowed: frozenset[str]) -> None:
    if unknown := set(_NAME.findall(template)) - allowed:
        raise ValueError(f"{where} holds {{{unknown.pop()}}}; it may hold {', '.join(sorted(allowed))}")


def _title(language: str) -> str:
    try:
        return language_named(language).title
    except UsageError:
        return ""


def _as_comment(file: ContextFile, language: str) -> str:
    try:
        mark = language_named(language).line_comment
    except UsageError:
        raise UnpromptableError(
            f"other files would be shown as comments, and those of {language} are not known"
        ) from None
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in (f"Path: {file.path}", *file.text.splitlines()))
