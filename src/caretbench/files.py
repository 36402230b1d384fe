"""Storage in files: append-only JSONL, atomic writes, hashes.

A stage appends rows and may be killed at any moment. A reader drops a torn last line; a writer repairs it before it
appends, so that every row is in the file exactly once.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import json
import lzma
import os
import re
import stat
import tempfile
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, Self, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError

from caretbench.errors import DataError as DataError
from caretbench.file_locks import lock_file

ANOTHER_CACHE: Final = "choose another cache (CARETBENCH_CACHE=/another/folder)"
"""Remedy where :func:`cache_folder` cannot be written."""

_PARTIAL: Final = ".partial-"
"""Start of the names of temporary files, beside the files that they replace."""

RowT = TypeVar("RowT", bound=BaseModel)
ValueT = TypeVar("ValueT")

# Half of a surrogate pair, escaped or in bytes: JSON may hold one, no file of text in UTF-8 can.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


def cache_folder() -> Path:
    """Return the folder of bundles, pulled data, verdicts and artefacts.

    ``$CARETBENCH_CACHE``, by default ``~/.cache/caretbench``. Root with a home closed to others gets
    ``/var/cache/caretbench``: only what every user may read can be bound into a sandbox that gives root up.
    """
    chosen = os.environ.get("CARETBENCH_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    home = Path.home()
    # Programs of root run as another user, who cannot pass a home such as /root with mode 0700.
    if hasattr(os, "geteuid") and os.geteuid() == 0 and not home.stat().st_mode & stat.S_IXOTH:
        return Path("/var/cache/caretbench")
    return home / ".cache" / "caretbench"


def read_packaged_toml(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))


def published_rows(suite: str) -> list[dict[str, str]]:
    """Return the rows of a suite's table of numbers that its paper prints (``reports/published``)."""
    text = resources.files("caretbench").joinpath("reports", "published", f"{suite}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def read_toml(path: Traversable | Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
        DataError: it cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: not TOML ({error})") from None


def sha256_text(*parts: str) -> str:
    """Return the SHA-256 of several texts, each preceded by its length, so that (ab, c) and (a, bc) differ."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def sha256_json(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON form (sorted keys, no blanks) of ``value``."""
    return sha256_text(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace ``path`` by ``content`` so that a reader sees the old file or the new one, never half of one.

    Lone surrogates of a text are escaped, as in JSON.
    """
    write_parts(path, [content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content])


def remove_partial_files(folder: Path, *below: str) -> None:
    """Remove the temporary files that writers killed within :func:`write_atomically` or :func:`write_rows` left.

    Only who holds the folder's exclusive lock may call it: another writer's file is removed as well.

    Args:
        folder: The folder; the folders in it are not searched.
        below: Patterns of folders in it that are searched too, ``*/`` for instance.
    """
    for pattern in ("", *below):
        for path in folder.glob(f"{pattern}{_PARTIAL}*"):
            path.unlink(missing_ok=True)


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """Replace ``path`` by the parts of an iterable, as :func:`write_atomically` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor, name = tempfile.mkstemp(prefix=_PARTIAL, dir=path.parent)
    # The error names the temporary file, which tells a user nothing: name the file that should be written.
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            # Without it, a crash of the machine may leave the new name with an empty file, on file systems that store
            # names before contents.
            os.fsync(stream.fileno())
        # mkstemp makes files for their owner alone; results are read by others, too, as other new files.
        Path(name).chmod(0o644)
        try:
            Path(name).replace(path)
        except OSError as error:  # names the temporary file
            raise OSError(error.errno, error.strerror, str(path)) from error
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_lines(
    path: Path, *, allow_partial_last_line: bool = False, keep_surrogates: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a JSONL file (``.gz`` too), each with its line number; blank lines are skipped.

    Args:
        path: The file.
        allow_partial_last_line: Skip an incomplete last line (of a killed writer) silently.
        keep_surrogates: Keep half a surrogate pair, which a model that is cut off in mid-character leaves, as it came;
            otherwise it becomes U+FFFD.

    Raises:
        DataError: a line is no JSON object, or the file cannot be read.
    """
    for number, raw in _raw_lines(path):
        try:
            yield number, _json_object(path, number, raw, keep_surrogates=keep_surrogates)
        except _NotJsonError:
            # A writer ends each row with a line feed, so only a line without one can be torn by a kill.
            if allow_partial_last_line and not raw.endswith(b"\n"):
                return
            raise


class _NotJsonError(DataError):
    """A line is no JSON at all."""


def _opened(path: Path) -> IO[bytes]:
    opened: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    stream: IO[bytes] = opened.get(path.suffix, Path.open)(path, "rb")
    return stream


def _raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, each with its number."""
    try:
        with _opened(path) as stream:
            yield from ((number, raw) for number, raw in enumerate(stream, start=1) if raw.strip())
    # The last three come from a compressed file that is cut or damaged.
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read ({reason})") from None


def _json_object(path: Path, number: int, raw: bytes, *, keep_surrogates: bool) -> dict[str, Any]:
    try:
        value = json.loads(raw)
        # Almost no line has one: the search of bytes spares the others a walk over all their texts.
        if _SURROGATE.search(raw):
            value = join_surrogates(value) if keep_surrogates else replace_surrogates(value)
    # No JSON; nested deeper than Python's stack; or a number of more than 4,300 digits, which Python refuses.
    except (ValueError, RecursionError) as error:
        remedy = "save the file as UTF-8" if isinstance(error, UnicodeError) else "repair or remove this line"
        raise _NotJsonError(f"{path}:{number}: not JSON ({error}); {remedy}") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}:{number}: expected a JSON object, found {type(value).__name__}")
    return value


def replace_surrogates(value: ValueT) -> ValueT:
    """Return the same text or JSON value with U+FFFD in the place of lone surrogates.

    Raises:
        ValueError: the value is nested too deep.
    """
    converted: ValueT = _convert_surrogates(value, "replace")
    return converted


def join_surrogates(value: ValueT) -> ValueT:
    """Return the same text or JSON value with pairs of surrogates joined to one character; lone ones stay.

    Raises:
        ValueError: the value is nested too deep.
    """
    converted: ValueT = _convert_surrogates(value, "surrogatepass")
    return converted


def _convert_surrogates(value: Any, errors: str) -> Any:
    def convert(part: Any) -> Any:
        if isinstance(part, str):
            return part if _is_encodable(part) else part.encode("utf-16", "surrogatepass").decode("utf-16", errors)
        if isinstance(part, list):
            return [convert(item) for item in part]
        if isinstance(part, dict):
            return {convert(key): convert(item) for key, item in part.items()}
        return part

    try:
        return convert(value)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def describe_validation_error(
    error: ValidationError, message_templates: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the first validation errors of a row as one line, by field.

    Args:
        error: The validation errors.
        message_templates: Messages by kind of error, with fields ``{input}`` and those of pydantic's context.
    """
    faults = error.errors(include_url=False)
    # A list whose only entry is wrong is also called too short: that adds nothing.
    locations = [fault["loc"] for fault in faults]
    faults = [
        fault
        for fault in faults
        if fault["type"] != "too_short"
        or not any(location[: len(fault["loc"])] == fault["loc"] != location for location in locations)
    ]

    def message(fault: ErrorDetails) -> str:
        if fault["type"] not in message_templates:
            return fault["msg"].removeprefix("Value error, ")
        return message_templates[fault["type"]].format(input=repr(fault["input"])[:40], **fault.get("ctx", {}))

    shown = [f"{'.'.join(map(str, fault['loc'])) or 'row'}: {message(fault)}" for fault in faults[:3]]
    more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
    return "; ".join(shown) + more


def validated(model: type[RowT], value: object, source: object) -> RowT:
    """Return a value as ``model``.

    Raises:
        DataError: it does not fit; the message begins with its source, a file for instance.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise DataError(f"{source}: {describe_validation_error(error)}") from None


def read_document(path: Path, model: type[RowT]) -> RowT:
    """Return the content of a JSON file as ``model``.

    Raises:
        DataError: it cannot be read, or does not fit.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise DataError(f"{path}: {describe_validation_error(error)}") from None


def write_document(path: Path, value: BaseModel) -> None:
    """Write a value as a JSON file that people can read, atomically."""
    write_atomically(path, value.model_dump_json(indent=2) + "\n")


def read_appended(path: Path, model: type[RowT], *, keep_surrogates: bool = False) -> Iterator[RowT]:
    """Yield the rows of a file to which a stage appends: none before its first row, and none of a torn last line.

    Raises:
        DataError: with file and line, where a row does not fit ``model``.
    """
    if path.exists():
        yield from read_rows(path, model, allow_partial_last_line=True, keep_surrogates=keep_surrogates)


def read_rows(
    path: Path, model: type[RowT], *, allow_partial_last_line: bool = False, keep_surrogates: bool = False
) -> Iterator[RowT]:
    """Yield the rows of a JSONL file, validated; the options are those of :func:`read_lines`.

    Raises:
        DataError: with file and line, where a row does not fit ``model``.
    """
    yield from read_values(
        path, model, lambda _raw: None, lambda _raw, row: row,
        allow_partial_last_line=allow_partial_last_line, keep_surrogates=keep_surrogates,
    )  # fmt: skip


def read_values(
    path: Path,
    model: type[RowT],
    known: Callable[[bytes], ValueT | None],
    value_of: Callable[[bytes, RowT], ValueT],
    *,
    allow_partial_last_line: bool = False,
    keep_surrogates: bool = False,
) -> Iterator[ValueT]:
    """Yield a value for each row of a JSONL file: the known one of its line, or that of the validated row.

    Raises:
        DataError: with file and line, where a row does not fit ``model``.
    """
    for number, raw in _raw_lines(path):
        if (value := known(raw)) is not None:
            yield value
            continue
        try:
            # One step from bytes to the row takes 4 us, two take 16. It refuses lone surrogates: they take two.
            row = model.model_validate_json(raw)
        except ValidationError:
            try:
                row = model.model_validate(_json_object(path, number, raw, keep_surrogates=keep_surrogates))
            except _NotJsonError:
                if allow_partial_last_line and not raw.endswith(b"\n"):
                    return
                raise
            except ValidationError as error:
                raise DataError(f"{path}:{number}: {describe_validation_error(error)}") from None
        yield value_of(raw, row)


def row_to_json(row: BaseModel) -> bytes:
    """Return a row as one line of JSON in UTF-8; lone surrogates are escaped."""
    try:
        return row.model_dump_json().encode()
    except PydanticSerializationError:
        text = json.dumps(row.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="backslashreplace")


def write_rows(path: Path, rows: Iterable[BaseModel]) -> int:
    """Write all rows of an iterable to a file, atomically; return their number."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for row in rows:
            count += 1
            yield row_to_json(row) + b"\n"

    write_parts(path, lines())
    return count


class RowAppender:
    """Writer that appends rows to a JSONL file, one process at a time, and survives being killed.

    On opening it takes the file's lock, cuts off a torn last line, and then appends whole lines. A second process
    that opens the same file is refused.

    Raises:
        DataError: another process is writing the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            # Unbuffered: what `append` has written is in the file, also if the process is killed at once.
            self._stream = path.open("ab+", buffering=0)
            try:
                lock_file(self._stream, wait=False)
            except OSError:
                self._stream.close()
                raise DataError(f"{path}: another caretbench is writing this file; wait for it or stop it") from None
            if path.exists() and os.path.samestat(os.fstat(self._stream.fileno()), path.stat()):
                break
            # The file was replaced between opening and locking it: rows would go to a file without a name.
            self._stream.close()
        self._repair()

    def _repair(self) -> None:
        size = self._stream.seek(0, os.SEEK_END)
        position = size
        while position > 0:
            # A row may be longer than one step backwards: the search goes on until a line feed, or the beginning.
            start = max(0, position - 65536)
            self._stream.seek(start)
            newline = self._stream.read(position - start).rfind(b"\n")
            if newline >= 0:
                position = start + newline + 1
                break
            position = start
        if position != size:
            self._stream.truncate(position)

    def append(self, *rows: BaseModel) -> None:
        """Append rows with one write, as :meth:`append_lines` does."""
        self.append_lines([row_to_json(row) for row in rows])

    def append_lines(self, lines: Sequence[bytes]) -> None:
        """Append rows that are JSON already with one write, all of them or none.

        Raises:
            OSError: they cannot be written, the disk is full for instance; it names the file.
        """
        if lines:
            view = memoryview(b"\n".join([*lines, b""]))
            end = self._stream.seek(0, os.SEEK_END)
            try:
                while view:
                    # The system may take less than all at once, near the end of a disk or after a signal.
                    view = view[self._stream.write(view) or 0 :]
            except OSError as error:
                # On a full disk a part of the rows is there: cut off, so that the next run asks for them all and no key
                # is there twice.
                with contextlib.suppress(OSError):
                    self._stream.truncate(end)
                raise OSError(error.errno, error.strerror, str(self.path)) from error

    def close(self) -> None:
        """Make the written rows durable and release the lock."""
        with self._stream:
            os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        self.close()
