"""Ages of functions: new, changed or the same since an earlier release of a project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.projects.project import analyse_project, project_languages, store_project
from caretbench.suites.codevbench.similar_functions import enclosing_function
from caretbench.syntax import ProjectAnalysis, Span
from caretbench.syntax.analysis_types import CLASS_SCOPES, NAMED_FUNCTION_SCOPES

FunctionAge = Literal["new", "changed", "same"]
_NAMED_SCOPES = CLASS_SCOPES | NAMED_FUNCTION_SCOPES


class _Function(NamedTuple):
    name: str
    """Names of classes and functions around it and its own, with dots."""
    span: Span
    text: bytes


def _functions(analysis: ProjectAnalysis, path: str) -> Iterator[_Function]:
    file = analysis[path]
    for scope in file.named_functions:
        around = [one.name for one in file.enclosing_scopes(scope.span) if one.kind in _NAMED_SCOPES]
        data = file.source.data[scope.span.start : scope.span.end]
        yield _Function(".".join(around), scope.span, b" ".join(data.split()))


class EarlierRelease:
    """Functions of an earlier release; layout and place of a function do not count."""

    def __init__(self, analysis: ProjectAnalysis) -> None:
        found = [one for path in analysis.files for one in _functions(analysis, path)]
        self._names = {one.name for one in found}
        self._texts = {one.text for one in found}

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

        A function whose text the earlier release has is the same, wherever it is; one whose name it has is changed.
        """
        own = enclosing_function(analysis, path, span)
        function = self._by_span(analysis, path).get(own)
        if function is None:
            return None
        if function.text in self._texts:
            return "same"
        return "changed" if function.name in self._names else "new"

    @staticmethod
    def _by_span(analysis: ProjectAnalysis, path: str) -> Mapping[Span, _Function]:
        return {one.span: one for one in _functions(analysis, path)}
