"""Files with changed names: locals, parameters that nothing passes by name, and private members used in one file.

``node`` becomes ``the_node`` or ``theNode``: a reader understands the program as before, and who remembers it word for
word writes a name that is not there. Public names, comments and texts stay.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from caretbench.build.projects.project_analysis import analyse_project
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.projects.project import StoredProject
from caretbench.syntax import Span
from caretbench.syntax.analysis import FileAnalysis

LANGUAGES: Final = frozenset({"python", "javascript", "typescript", "java", "cpp", "go"})
"""Languages whose names are changed. In C# an argument may be named by any caller."""
_LOCALS: Final = frozenset({"local", "parameter", "loop_variable", "comprehension"})
_MEMBERS: Final = frozenset({"function", "method", "field"})
_WORD: Final = re.compile(rb"(?<![\w$])[A-Za-z_]\w*(?![\w$])")
# Names in these texts are not tokens that can be seen: a function with one of them keeps its names.
_REFLECTION: Final = re.compile(rb"\b(?:locals|vars|eval|exec|arguments|globals)\b")
_KEPT: Final = frozenset({b"self", b"cls", b"this", b"_", b"err", b"args", b"kwargs", b"mcs"})
_MAX_FILE_BYTES: Final = 1 << 20


class RenamedFile(NamedTuple):
    """A file with changed names, and where the bytes of the original went."""

    data: bytes
    starts: tuple[int, ...]
    """Starts of the changed names in the original, ascending."""
    shifts: tuple[int, ...]
    """Bytes by which what follows each of them moved."""

    def moved(self, position: int) -> int:
        """Return where a byte of the original is, which is in no changed name."""
        index = bisect.bisect_left(self.starts, position)
        return position + (self.shifts[index - 1] if index else 0)

    def changed(self, start: int, end: int) -> int:
        """Return the number of changed names between two bytes of the original."""
        return bisect.bisect_left(self.starts, end) - bisect.bisect_left(self.starts, start)


def renamed_files(project: StoredProject, language: str, paths: Collection[str]) -> dict[str, RenamedFile]:
    """Return the files with changed names, without those that have no name to change."""
    analysis = analyse_project(project, (language,)).analysis
    others = _words_by_file(project.snapshot)
    renamed = {}
    for path in sorted(paths):
        if path in analysis.files and (edits := _edits(analysis[path], language, others)):
            renamed[path] = _edited(analysis[path].source.data, edits)
    return renamed


def _words_by_file(snapshot: Snapshot) -> dict[bytes, set[str]]:
    """Return the files in which each word is that a project's files have, packages included."""
    files: dict[bytes, set[str]] = defaultdict(set)
    for path, entry in snapshot.entries.items():
        if entry.kind == "file" and entry.size <= _MAX_FILE_BYTES:
            data = snapshot.read(path)
            for word in set(_WORD.findall(data)):
                files[word].add(path)
            for word in re.findall(rb"[(,]\s*(\w+)\s*=(?!=)", data):
                files[b"=" + word].add(path)
    return files


def _edits(file: FileAnalysis, language: str, words: Mapping[bytes, Collection[str]]) -> dict[Span, bytes]:
    """Return the new names by the spans of the old ones."""
    data = file.source.data
    edits: dict[Span, bytes] = {}
    present = set(_WORD.findall(data))
    for function in _outermost(file):
        if _REFLECTION.search(data, function.start, function.end):
            continue
        for name, spans in sorted(_local_names(file, function).items()):
            new = _new_name(name, language)
            passed = language == "python" and words.get(b"=" + name)
            if name in _KEPT or new in present or passed or not name.strip(b"_") or name.isupper():
                continue
            if _tokens(file, function, name, language) == spans:
                edits |= dict.fromkeys(spans, new)
    whole = Span(0, len(data))
    for name in sorted(_private_names(file)):
        new = _new_name(name, language)
        if words[name] == {file.source.path} and new not in present:
            edits |= dict.fromkeys(_tokens(file, whole, name, language) or (), new)
    return edits


def _outermost(file: FileAnalysis) -> Iterator[Span]:
    """Yield the functions that are in no other function."""
    end = -1
    for scope in sorted(file.named_functions, key=lambda scope: (scope.span.start, -scope.span.end)):
        if scope.span.start >= end:
            yield scope.span
            end = scope.span.end


def _local_names(file: FileAnalysis, function: Span) -> dict[bytes, set[Span]]:
    """Return the spans of the names whose every use in a function is that of a variable of it."""
    spans_by_name: dict[bytes, set[Span]] = defaultdict(set)
    other: set[bytes] = set()
    for use in file.references_in(function):
        name = use.name.encode()
        declared = use.declaration
        is_local = declared is not None and declared.path == file.source.path and function.contains(declared.span)
        if use.binding in _LOCALS and is_local and not use.is_member:
            spans_by_name[name].add(use.span)
            sites = (*use.reaching, *([declared] if declared else ()))
            spans_by_name[name].update(site.span for site in sites if site.path == file.source.path)
        else:
            other.add(name)
    return {name: spans for name, spans in spans_by_name.items() if name not in other}


def _private_names(file: FileAnalysis) -> set[bytes]:
    """Return the names of functions and members that the file defines for itself."""
    data, lines = file.source.data, file.source.line_starts
    names = set()
    for use in file.references:
        declared = use.declaration
        if use.binding not in _MEMBERS or declared is None or declared.path != file.source.path:
            continue
        line = data[lines[declared.line - 1] : declared.span.end]
        if (use.name.startswith("_") and not use.name.endswith("__")) or re.search(rb"\bprivate\b", line):
            names.add(use.name.encode())
    return names


def _tokens(file: FileAnalysis, within: Span, name: bytes, language: str) -> set[Span] | None:
    """Return the spans of a word outside comments; None where its meaning is not plain: a text, a key of an object."""
    data = file.source.data
    spans = set()
    for match in re.finditer(rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])", data[within.start : within.end]):
        span = Span(within.start + match.start(), within.start + match.end())
        if any(comment.start <= span.start < comment.end for comment in file.comments):
            continue
        before, after = data[: span.start].rstrip()[-1:], data[span.end :].lstrip()[:1]
        if language in ("javascript", "typescript") and before in (b"{", b",") and after in (b",", b"}"):
            return None  # `{ name }` is a key as well
        if before + after in (b"''", b'""'):
            return None
        spans.add(span)
    return spans


def _new_name(name: bytes, language: str) -> bytes:
    """Return a name in the same style."""
    bare = name.lstrip(b"_")
    lead = name[: len(name) - len(bare)]
    if language == "python" or b"_" in bare:
        return lead + b"the_" + bare
    return lead + b"the" + bare[:1].upper() + bare[1:]


def _edited(data: bytes, edits: Mapping[Span, bytes]) -> RenamedFile:
    parts, starts, shifts = [], [], []
    end = shift = 0
    for span, new in sorted(edits.items()):
        parts += [data[end : span.start], new]
        end = span.end
        shift += len(new) - (span.end - span.start)
        starts.append(span.start)
        shifts.append(shift)
    return RenamedFile(b"".join((*parts, data[end:])), tuple(starts), tuple(shifts))
