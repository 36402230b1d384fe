"""Functions of an earlier release, by which those of a later one are new, changed or the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import Indel

from caretbench.build.projects.language_tables import project_languages
from caretbench.build.projects.project_analysis import analyse_project
from caretbench.build.projects.project_storage import store_project
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.suites.codevbench.similar_functions import enclosing_function
from caretbench.syntax import Span
from caretbench.syntax.analysis import ProjectAnalysis
from caretbench.syntax.analysis_types import CLASS_SCOPES, NAMED_FUNCTION_SCOPES

FunctionAge = Literal["new", "changed", "same"]
_TOKEN: Final = re.compile(rb"\w+|[^\w\s]")
_LINE_TOKENS: Final = 4
"""Tokens of a line that says something: ``return x;`` and ``} else {`` are in every project."""
_ALIKE: Final = 0.6
"""Share of tokens or lines from which a function stems from an earlier one. From .7, 7 of 200 drawn ones still did."""
_NAMED_SCOPES = CLASS_SCOPES | NAMED_FUNCTION_SCOPES


class _Function(NamedTuple):
    name: str
    """Names of classes and functions around it and its own, with dots."""
    span: Span
    text: bytes


def _functions(analysis: ProjectAnalysis, path: str) -> Iterator[_Function]:
    file = analysis[path]
    for scope in file.named_functions:
        around = [outer.name for outer in file.enclosing_scopes(scope.span) if outer.kind in _NAMED_SCOPES]
        data = file.source.data[scope.span.start : scope.span.end]
        yield _Function(".".join(around), scope.span, b" ".join(data.split()))


def _lines(data: bytes) -> list[bytes]:
    """Return the lines that say something, without their indentation."""
    return [line.strip() for line in data.split(b"\n") if len(_TOKEN.findall(line)) >= _LINE_TOKENS]


class EarlierRelease:
    """Functions of an earlier release; layout and place of a function do not count."""

    def __init__(self, analysis: ProjectAnalysis) -> None:
        functions = [function for path in analysis.files for function in _functions(analysis, path)]
        self._names = {function.name for function in functions}
        self._texts = {function.text for function in functions}
        self._tokens = [_TOKEN.findall(text) for text in self._texts]
        self._lines = {line for path in analysis.files for line in _lines(analysis[path].source.data)}
        self._derived: dict[bytes, bool] = {}

    @classmethod
    def of_folder(cls, folder: Path, store: SnapshotStore) -> EarlierRelease:
        """Return the functions of a project's folder.

        Raises:
            DataError: the folder cannot be read as a project.
        """
        project = store_project(folder, store)
        return cls(analyse_project(project, project_languages(project)).analysis)

    def age(self, analysis: ProjectAnalysis, path: str, span: tuple[int, int]) -> FunctionAge | None:
        """Return the age of the innermost function around a span of the later release; None if it has no name.

        A function whose text the earlier release has is the same, wherever it is. One whose name it has is changed, and
        so is one that was renamed or cut out of another.
        """
        around = enclosing_function(analysis, path, span)
        function = next((function for function in _functions(analysis, path) if function.span == around), None)
        if function is None:
            return None
        if function.text in self._texts:
            return "same"
        if function.name in self._names or self._is_derived(analysis[path].source.data, function):
            return "changed"
        return "new"

    def _is_derived(self, data: bytes, function: _Function) -> bool:
        """Return whether most of a function is text of the earlier release, under another name or in another function.

        By names alone 217 of 645 new functions of three pairs of releases had such an origin.
        """
        derived = self._derived.get(function.text)
        if derived is None:
            lines = _lines(data[function.span.start : function.span.end])
            old = sum(line in self._lines for line in lines)
            tokens = _TOKEN.findall(function.text)
            alike = process.extractOne(tokens, self._tokens, scorer=Indel.normalized_similarity, score_cutoff=_ALIKE)
            derived = self._derived[function.text] = alike is not None or old >= _ALIKE * max(len(lines), 1)
        return derived
