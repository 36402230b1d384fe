"""Criteria: what a judge is asked, on which scales, and how its answer is read. The texts stand in ``templates/``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import Literal, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from caretbench.files import DataError, describe, sha256_json
from caretbench.models import Sampling
from caretbench.problem import Profile, Row

_PLACES = frozenset({"language", "prefix", "completion", "suffix", "mark"})
_SHOWN = frozenset({"prefix", "completion", "suffix"})

Form = Literal["scores", "final-sum"]
"""``scores``: a JSON object with every score, read strictly. ``final-sum``: as DevBench's released code reads."""


class Scale(Row):
    """One score, from 0 to ``maximum``."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    maximum: float = Field(gt=0, allow_inf_nan=False)
    about: str = ""


class PromptText(Row):
    """What is sent; ``$prefix``, ``$completion``, ``$suffix``, ``$language`` and ``$mark`` are filled in."""

    system: str | None = None
    user: str

    @model_validator(mode="after")
    def _places_are_known(self) -> Self:
        template = Template(self.user)
        if not template.is_valid():
            raise ValueError("a dollar sign that names no place is written $$")
        found = set(template.get_identifiers())
        if found - _PLACES:
            raise ValueError(f"unknown places: {', '.join(sorted(found - _PLACES))}")
        if _SHOWN - found:
            raise ValueError(f"the prompt shows no {', '.join(sorted(_SHOWN - found))}")
        return self


class Criterion(Row):
    """What a judge is asked. The sum of its scores is the judge's score of a text."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    version: int = Field(ge=1)
    about: str = ""
    form: Form
    tries: int = Field(default=3, ge=1, le=10)
    """How often an answer that cannot be read is asked for again, the first time included."""
    sampling: Sampling = Sampling(max_tokens=8192, temperature=None, top_p=None)
    scores: tuple[Scale, ...] = Field(min_length=1)
    prompt: PromptText

    @model_validator(mode="after")
    def _scores_are_distinct(self) -> Self:
        names = [scale.name for scale in self.scores]
        if len(set(names)) < len(names) or "reasoning" in names:
            raise ValueError("the names of the scores are distinct, and none is 'reasoning'")
        if self.form == "final-sum" and len(names) > 1:
            raise ValueError("the form final-sum has one score, the total")
        return self

    @property
    def key(self) -> str:
        """Name and version, ``devbench-quality@1``."""
        return f"{self.name}@{self.version}"

    @property
    def maximum(self) -> float:
        """The best sum."""
        return sum(scale.maximum for scale in self.scores)

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the answers: part of the parameters of every judgement."""
        return sha256_json(self.model_dump(mode="json", exclude={"about", "sampling"}))

    @property
    def json_schema(self) -> Mapping[str, JsonValue] | None:
        """The form of the answer for providers that can enforce one; None where the answer is free text."""
        if self.form != "scores":
            return None
        properties: dict[str, JsonValue] = {"reasoning": {"type": "string"}}
        for scale in self.scores:
            properties[scale.name] = {
                "type": "number", "minimum": 0, "maximum": scale.maximum, "description": scale.about,
            }  # fmt: skip
        required: list[JsonValue] = list(properties)
        return {
            "type": "object", "properties": properties, "required": required, "additionalProperties": False,
        }  # fmt: skip


BY_PROFILE: Mapping[Profile, str] = {"default": "devbench-quality", "paper": "devbench-paper"}
"""The criterion that a profile judges by where no other is named."""


@cache
def criteria() -> Mapping[str, Criterion]:
    """The criteria of the house by name."""
    folder = resources.files("caretbench.judging").joinpath("templates")
    found = [
        _parse(entry.read_text("utf-8"), entry.name)
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    ]
    return {entry.name: entry for entry in sorted(found, key=lambda entry: entry.name)}


def criterion(name: str) -> Criterion:
    """The criterion with this name, this key (``devbench-quality@1``), or in this TOML file.

    Raises:
        KeyError: no such criterion, or not in this version; the message lists the known ones.
        DataError: the file cannot be read or is no criterion.
    """
    if name.endswith(".toml"):
        return load_criterion(Path(name))
    found = criteria().get(name.partition("@")[0])
    if found is None or name not in {found.name, found.key}:
        known = ", ".join(entry.key for entry in criteria().values())
        raise KeyError(f"unknown criterion {name!r}; known: {known}, or a path that ends in .toml")
    return found


def load_criterion(path: Path) -> Criterion:
    """A criterion of one's own from a TOML file in the form of those in ``templates/``.

    Raises:
        DataError: the file cannot be read, is no criterion, or takes a name of the house's.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 ({error})") from None
    own = _parse(text, str(path))
    if own.name in criteria():
        raise DataError(f"{path}: {own.name!r} is the name of a criterion of CaretBench's; choose another")
    return own


def _parse(text: str, where: str) -> Criterion:
    try:
        value = tomllib.loads(text)
        if isinstance(value.get("sampling"), dict):  # what is not said is not sent
            value["sampling"] = {"temperature": None, "top_p": None} | value["sampling"]
        return Criterion.model_validate(value)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{where}: not TOML ({error})") from None
    except ValidationError as error:
        raise DataError(f"{where}: {describe(error)}") from None
