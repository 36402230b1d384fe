"""Reasons why the tests of a project cannot check a span, found without running anything."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from caretbench.errors import DataError
from caretbench.execution.workspaces.project_tools import CLASSPATH_FIRST
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.problem import FileSplice, TestsCheck
from caretbench.syntax import FileAnalysis, Span, analyse
from caretbench.syntax.analysis import is_test_path
from caretbench.syntax.source import SourceFile, language_of

_TYPES = frozenset({"class", "interface"})


def span_faults(
    splice: FileSplice, content: bytes, check: TestsCheck, store: SnapshotStore | None = None
) -> Iterator[str]:
    """Yield the faults of a span as ``kind: explanation``: it is test code, or a jar has another version of its class.

    ``content`` is the unchanged file.

    Raises:
        DataError: a jar of the project is missing or damaged.
    """
    language = language_of(splice.path)
    if language is None:
        return
    if is_test_path(splice.path, language):
        yield f"in_test_code: {splice.path}"
        return
    analysis = _analysed(splice.path, content)
    span = Span(splice.start, splice.end)
    around = next((scope.name for scope in analysis.enclosing_scopes(span) if scope.kind in _TYPES), "")
    if analysis.is_test(span):
        yield f"in_test_code: {around or splice.path}"
    elif around and check.environment.get(CLASSPATH_FIRST):
        folder = (store or SnapshotStore()).folder
        jars = check.environment.get("CLASSPATH", "").split(":")
        found = next((jar for jar in jars if around in _classes(folder, splice.snapshot, jar)), None)
        if found is not None:
            yield f"shadowed: {found} contains {around}, and is before the project on the class path"


@lru_cache(maxsize=64)
def _analysed(path: str, content: bytes) -> FileAnalysis:
    return analyse([SourceFile(path, content)])[path]


@lru_cache(maxsize=64)
def _classes(folder: Path, snapshot: str, jar: str) -> frozenset[str]:
    """Return the classes without a package in a jar of a project."""
    place = SnapshotStore(folder).get(snapshot).tree / jar
    try:
        with zipfile.ZipFile(place) as archive:
            return frozenset(name.removesuffix(".class") for name in archive.namelist() if name.endswith(".class"))
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{jar}: no jar of the project ({error})") from None
