"""Fill-in-the-middle families: their table, detection of a model's format, and the strategies ``fim/FAMILY``.

The families are in ``fim_formats.toml``; nothing here knows one of them. A format is found by the special tokens
of the model's tokenizer, by the model's name, or by both; never by default. A second order of a family is the
strategy ``fim/FAMILY:ORDER``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from caretbench.errors import DataError, UsageError
from caretbench.files import read_packaged_toml
from caretbench.languages import get_language
from caretbench.models import ChatPrompt, Message, Prompt, TextPrompt
from caretbench.problem import Caret, ContextFile, Row
from caretbench.prompts.strategy import (
    PromptBudget,
    PromptParts,
    PromptStrategy,
    UnpromptableError,
    render_within_budget,
)

PrefixSuffixOrder = Literal["psm", "spm"]
"""Prefix or suffix first; the middle is what the model writes."""

Condition = Literal["files", "path", "repository"]

_TEXT_PIECES = frozenset({"prefix", "suffix", "files", "path", "language"})
_FILE_PIECES = frozenset({"path", "text", "newline"})
_CONDITIONAL_PIECES = frozenset({"path", "repository_name"})


class ConditionalText(Row):
    """Text of a prompt that is used ``when`` one of these conditions holds."""

    when: tuple[Condition, ...] = Field(min_length=1)
    text: str


class FamilyWithoutFim(Row):
    """Model family that cannot fill in the middle, with the reason."""

    name: str
    title: str
    models: tuple[str, ...] = Field(min_length=1)
    reason: str


class FimPrompt(NamedTuple):
    """A rendered FIM prompt, and the stop sequences of its answer."""

    text: str
    stop: tuple[str, ...]


class FimFormat(Row):
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
        names = {"path": path or "", "repository_name": repository or ""}
        holds = {"files": bool(files), "path": bool(path), "repository": bool(files and repository)}
        values = {
            name: _fill(piece.text, names) if any(holds[condition] for condition in piece.when) else ""
            for name, piece in self.pieces.items()
        }
        values |= names | {
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
            if sentinel := self._any_sentinel.search(text):
                raise UnpromptableError(f"{where} holds {sentinel[0]!r}, a sentinel of {self.title}")


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
        return get_language(language).title
    except UsageError:
        return ""


def _as_comment(file: ContextFile, language: str) -> str:
    try:
        mark = get_language(language).line_comment
    except UsageError:
        raise UnpromptableError(
            f"other files would be shown as comments, and those of {language} are not known"
        ) from None
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in (f"Path: {file.path}", *file.text.splitlines()))


TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
_NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token", "additional_special_tokens")


class _Table(Row):
    formats: Mapping[str, FimFormat]
    none: Mapping[str, FamilyWithoutFim]


@cache
def _table() -> _Table:
    entries = read_packaged_toml("caretbench.prompts.fim", "fim_formats.toml")
    return _Table.model_validate(
        {kind: {name: {"name": name, **entry} for name, entry in entries[kind].items()} for kind in entries}
    )


def fim_formats() -> Mapping[str, FimFormat]:
    """Return all FIM formats by name, in the order of ``fim_formats.toml``."""
    return _table().formats


def families_without_fim() -> Mapping[str, FamilyWithoutFim]:
    """Return the model families that cannot fill in the middle, by name."""
    return _table().none


def detect_format(special_tokens: frozenset[str]) -> FimFormat | None:
    """Return the FIM format whose sentinels are among a tokenizer's special tokens, or None.

    All tokens that identify a family must be there; the family with the most of them is meant. Families that share
    their tokens are told as the one whose form is common to them. Tokens tell a format, not a skill: many models have
    the tokens of their relatives without the training, which only a probe or the name can tell.
    """
    tokens = _spellings(special_tokens)
    formats = [
        entry for entry in fim_formats().values() if not entry.detected_as and tokens.issuperset(entry.identified_by)
    ]
    # The tokens of one family may be among those of another: the one with the most of them is meant.
    return max(formats, key=lambda entry: len(entry.identified_by), default=None)


def format_for_model(name: str, special_tokens: frozenset[str] | None) -> FimFormat:
    """Return the FIM format of a model, identified by its special tokens, else by its name.

    The name decides between families that the tokens cannot tell apart, and alone where no tokens are known.

    Raises:
        UsageError: There is no such format, or none is known; the message contains reason and remedy.
    """
    entry = _family_in_name(name)
    # First, since such models have the tokens of their relatives without the training.
    if isinstance(entry, FamilyWithoutFim):
        raise UsageError(f"{name} cannot fill in the middle ({entry.title}): {entry.reason}")
    if special_tokens is None:
        if entry is None:
            raise UsageError(
                f"no fill-in-the-middle format is known for {name}: its special tokens are not known, and its name "
                f"tells no family of {', '.join(fim_formats())}; name one (fim/FAMILY) or ask in another way"
            )
        return entry
    if entry is not None and _spellings(special_tokens).issuperset(entry.identified_by):
        return entry
    if (detected := detect_format(special_tokens)) is not None:
        return detected
    missing = "" if entry is None else f" (not those of {entry.title}, though it is named so)"
    raise UsageError(
        f"{name} cannot fill in the middle: its tokenizer has the tokens of no known family{missing}; "
        "name a family (fim/FAMILY) if it has one nevertheless, or ask in another way"
    )


def sentinels_split_by_tokenizer(entry: FimFormat, encode: Callable[[str], Sequence[int]]) -> tuple[str, ...]:
    """Return the sentinels of a format that a tokenizer splits into several tokens; normally empty.

    Args:
        entry: A format.
        encode: Text to token numbers, special tokens read as such and none added.
    """
    return tuple(token for token in entry.identified_by if len(encode(token)) != 1)


def _family_in_name(name: str) -> FimFormat | FamilyWithoutFim | None:
    """Return the family in a model's name: the end after the last slash, whatever its case, ``-`` for ``_``."""
    # Only the end: a folder or an organisation may have the name of another family.
    end = re.split(r"[/\\]", name.rstrip("/\\"))[-1].lower().replace("_", "-")
    entries: list[FimFormat | FamilyWithoutFim] = [*fim_formats().values(), *families_without_fim().values()]
    fitting = [
        (len(pattern), pattern, entry) for entry in entries for pattern in entry.models if fnmatchcase(end, pattern)
    ]
    # The longest pattern is the most specific: the name of a relative may contain that of its family.
    return max(fitting, key=lambda item: item[:2])[2] if fitting else None


def _spellings(tokens: frozenset[str]) -> frozenset[str]:
    """Return the tokens with and without the mark (U+2581) by which some vocabularies spell the blank before them."""
    return tokens | {token.removeprefix("\u2581") for token in tokens}


def read_special_tokens(path: Path) -> frozenset[str]:
    """Return the special and added tokens of the tokenizer at ``path``.

    These are the added tokens, whether they are flagged special or not (both are read whole; Qwen does not flag its
    sentinels), and entries of the plain vocabulary that are a known sentinel (CodeLlama's).

    Args:
        path: A folder with one of ``TOKENIZER_FILES`` or both, or one of these files.

    Raises:
        DataError: There is no such file, or it does not hold a tokenizer.
    """
    files = [path / name for name in TOKENIZER_FILES if (path / name).is_file()] if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path}: no {' and no '.join(TOKENIZER_FILES)} in this folder")
    return frozenset(token for file in files for token in _read_tokens(file))


def _read_tokens(file: Path) -> Iterator[str]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{file}: cannot be read as a tokenizer: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{file}: does not hold a tokenizer: its top level is not an object")
    # tokenizer_config.json has the added tokens in this form, tokenizer.json as a list.
    decoder = content.get("added_tokens_decoder")
    yield from _texts(content.get("added_tokens"))
    yield from _texts(list(decoder.values()) if isinstance(decoder, dict) else None)
    for name in _NAMED_TOKENS:
        value = content.get(name)
        yield from _texts(value if isinstance(value, list) else [value])
    model = content.get("model")
    yield from _plain_sentinels(model.get("vocab") if isinstance(model, dict) else None)


def _texts(entries: JsonValue) -> Iterator[str]:
    """Yield the texts of a list of tokens, each a text or an object with ``content``."""
    for entry in entries if isinstance(entries, list) else ():
        text = entry.get("content") if isinstance(entry, dict) else entry
        if isinstance(text, str) and text:
            yield text


def _plain_sentinels(vocabulary: JsonValue) -> Iterator[str]:
    """Yield known sentinels of a vocabulary: an object of text to number, or a list of pairs of text and score."""
    texts: list[JsonValue] = []
    if isinstance(vocabulary, dict):
        texts = list(vocabulary)
    elif isinstance(vocabulary, list):
        texts = [entry[0] for entry in vocabulary if isinstance(entry, list) and entry]
    sentinels = {token for entry in fim_formats().values() for token in entry.identified_by}
    yield from (text for text in texts if isinstance(text, str) and text.removeprefix("\u2581") in sentinels)


class FimStrategy(PromptStrategy):
    """Fill-in-the-middle strategy in the format of a family.

    No format has a place for an instruction. The kind is ``text``, but ``chat`` for a family whose text is in a turn
    of a conversation that the endpoint writes. The version is that of the family's entry in the table.
    """

    takes_instructions = False

    def __init__(self, entry: FimFormat, order: PrefixSuffixOrder | None = None) -> None:
        self.format = entry
        self.order = order or entry.order
        self.name = f"fim/{entry.name}" + ("" if self.order == entry.order else f":{self.order}")
        self.version = entry.version
        self.kind = "text" if entry.system is None else "chat"

    def render(self, caret: Caret, budget: PromptBudget) -> Prompt:
        """Return the prompt for ``caret``; no format has a field for an instruction."""
        if caret.instruction:
            raise UnpromptableError(
                f"{self.name} has no place for the problem's instruction: --instruction none asks without it, and "
                "--instruction comment with it as a comment at the end of the prefix"
            )
        system = self.format.system or ""

        def text(parts: PromptParts) -> str:
            return self.format.render(
                parts.prefix, parts.suffix,
                language=caret.language, path=caret.path, repository=caret.repository, files=parts.files,
                order=self.order,
            ).text  # fmt: skip

        whole = render_within_budget(
            PromptParts(caret.prefix, caret.suffix, caret.context), budget, lambda parts: system + text(parts)
        )
        rendered, stop = whole[len(system) :], self.format.stop
        if self.format.system is None:
            return TextPrompt(text=rendered, stop=stop)
        return ChatPrompt(
            messages=(Message(role="system", text=system), Message(role="user", text=rendered)), stop=stop
        )


@cache
def fim_strategies() -> Mapping[str, FimStrategy]:
    """Return all FIM strategies by name: one per family, and one per additional order of prefix and suffix."""
    strategies = (FimStrategy(entry, order) for entry in fim_formats().values() for order in entry.orders)
    return {strategy.name: strategy for strategy in strategies}
