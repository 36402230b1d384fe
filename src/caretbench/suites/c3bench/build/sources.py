"""Sources of a build: files of rows, folders of source files, and released files from the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from caretbench.build.sources.licences import repository_licence
from caretbench.conventional.descriptions import HUMANEVAL_INFILLING, SAFIM, description, source_file
from caretbench.errors import DataError, UsageError
from caretbench.files import read_lines
from caretbench.languages import languages
from caretbench.problem import Provenance
from caretbench.suites.c3bench.build.build_folder import BuildMaterial, Reject
from caretbench.suites.c3bench.build.checked_functions import (
    CHECKS_PREFIX,
    LAYOUTS,
    CheckedFunction,
    SourceText,
    case_functions,
    checked_function,
    function_of_row,
    paired_functions,
    program_row,
    unpaired_functions,
)
from caretbench.syntax.parser import error_nodes, fault_count, parse, python_module
from caretbench.syntax.source import language_of

LANGUAGES: Final = ("python", "javascript", "typescript", "java")
"""Languages of source files."""

MAX_FILE_CHARACTERS: Final = 60_000
"""Maximum length of a source file."""

_SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "build", "dist", "target", "venv", "site-packages"})
_ROWS: Final = (".jsonl", ".jsonl.gz")
# Marks of DevBench's layout of one program per file.
_MARKS: Final = ("⟦", "⟧")
_HIDDEN_TESTS: Final = "\n⟦tests⟧\n"


def read_sources(sources: Sequence[str]) -> BuildMaterial:
    """Return the functions and files of all sources; what cannot be read is a reject, and the rest goes on.

    Raises:
        UsageError: there is no source.
        DataError: a source is not there, or contains nothing.
    """
    if not sources:
        raise UsageError(
            f"no source: give {HUMANEVAL_INFILLING}, {SAFIM}, a folder of source files, or a file of rows (JSONL)"
        )
    reader = _Reader()
    for source in dict.fromkeys(sources):
        reader.read(source)
    return BuildMaterial(tuple(reader.functions.values()), tuple(reader.files.values()), tuple(reader.rejects))


@dataclass
class _Reader:
    functions: dict[str, CheckedFunction] = field(default_factory=dict)
    files: dict[str, SourceText] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)

    def read(self, source: str) -> None:
        before = len(self.functions) + len(self.files) + len(self.rejects)
        path = Path(source)
        if source in (HUMANEVAL_INFILLING, SAFIM):
            self._rows(source_file(source), description(source).provenance)
        elif path.is_dir():
            self._folder(path)
        elif path.is_file() and source.endswith(_ROWS):
            self._rows(path, Provenance(source=path.name))
        else:
            raise DataError(
                f"{source}: no such source; expected {HUMANEVAL_INFILLING}, {SAFIM}, a folder of source files, or a "
                "file of rows (.jsonl, .jsonl.gz)"
            )
        # A mistyped folder would otherwise be a successful build with fewer problems.
        if before == len(self.functions) + len(self.files) + len(self.rejects):
            raise DataError(f"{source}: nothing to build from; expected source files in {', '.join(LANGUAGES)}")

    # --- rows -------------------------------------------------------------------------------------------------------

    def _rows(self, path: Path, provenance: Provenance, folder: str = "", language: str = "python") -> None:
        programs = set[str]()
        for number, row in read_lines(path):
            place = f"{path}:{number}"
            layout = next((name for name, fields in LAYOUTS.items() if fields <= row.keys()), None)
            if layout is None:
                self._reject(place, "malformed", f"its fields are of no known layout ({', '.join(LAYOUTS)})")
                continue
            try:
                if layout == "HumanEval-Infilling":
                    self._function(function_of_row(row, place, provenance), place)
                    continue
                program = program_row(row, layout, language, provenance)
            except ValueError as error:
                self._reject(place, "malformed", str(error).removeprefix(f"{place}: "))
                continue
            # SAFIM has a row for each hole: 8,781 blocks of 8,293 programs.
            if layout != "SAFIM" or program.text not in programs:
                programs.add(program.text)
                stem = f"{folder}{path.name.partition('.')[0]}"
                self._program(program._replace(id=f"{stem}/{program.id or number}"), place)

    def _program(self, program: SourceText, place: str) -> None:
        if program.language not in LANGUAGES:
            self._reject(place, "language", program.language)
            return
        function = checked_function(program) if program.tests else None
        if function is not None:
            self._function(function, place)
            return
        lead = "" if program.text.endswith("\n") or not program.tests else "\n"
        file = program._replace(tests=lead + program.tests)
        self._file(file, place)
        if self.files.get(program.id) is file:
            self.functions |= {case.id: case for case in case_functions(program)}

    def _function(self, function: CheckedFunction, place: str) -> None:
        # HumanEval-Infilling has a row for each middle of a function.
        if function.id not in self.functions:
            self.functions[function.id] = function
            self._file(
                SourceText(function.id, "python", function.text, function.provenance, function.hidden_tests), place
            )

    def _file(self, file: SourceText, place: str) -> None:
        fault = _fault(file)
        if fault:
            self._reject(place, *fault)
            # Its tests may run, but no middle can be found in a file that does not parse.
            self.functions.pop(file.id, None)
        elif self.files.setdefault(file.id, file) is not file:
            self._reject(place, "repeated_id", file.id)

    def _reject(self, place: str, reason: str, detail: str) -> None:
        self.rejects.append(Reject(stage="source", place=place, reason=reason, detail=detail))

    # --- folders ----------------------------------------------------------------------------------------------------

    def _folder(self, root: Path) -> None:
        name = root.resolve().name
        paths = list(_source_paths(root))
        licence = repository_licence({path.name: _text(path) or "" for path in root.iterdir() if path.is_file()})
        for path in paths:
            place, relative = str(path), path.relative_to(root)
            provenance = Provenance(source=f"{name}/{relative.as_posix()}", licence=licence)
            identity = f"{name}/{relative.as_posix()}"
            if path.name.endswith(_ROWS):
                language = next((part for part in relative.parts if part in LANGUAGES), "python")
                self._rows(path, provenance, identity.rpartition("/")[0] + "/", language)
                continue
            text = _text(path)
            if text is None:
                self._reject(place, "unreadable", f"not a text in UTF-8 of at most {MAX_FILE_CHARACTERS} characters")
            elif _checked_file(path).is_file():
                continue  # read with the file that it checks
            else:
                self._source_file(path, identity, text, provenance)

    def _source_file(self, path: Path, identity: str, text: str, provenance: Provenance) -> None:
        shown, hidden, tests = text.partition(_HIDDEN_TESTS)
        marked = bool(hidden) or all(mark in shown for mark in _MARKS)
        if marked:
            for mark in _MARKS:
                shown = shown.replace(mark, "", 1)
            shown += "\n" if hidden else ""
        language = str(language_of(path.name))
        if marked:
            self._program(SourceText(identity, language, shown, provenance, tests), str(path))
            return
        file = SourceText(identity, language, text, provenance)
        self._file(file, str(path))
        checks = path.with_name(CHECKS_PREFIX + path.name)
        if language == "python" and checks.is_file() and self.files.get(identity) is file:
            self._checked_functions(path, checks, file)

    def _checked_functions(self, path: Path, checks: Path, file: SourceText) -> None:
        """Add the tested functions of a file in the place of the file, if it has any."""
        checking = _text(checks) or ""
        if python_module(checking) is None:
            self._reject(str(checks), "syntax", "the file with the checks does not parse")
            return
        unchecked, unknown = unpaired_functions(file.text, checking)
        for name in unknown:
            self._reject(str(checks), "no_function", f"{name}: {path.name} has no such function")
        functions = list(paired_functions(file.id, file.text, checking, file.provenance))
        if not functions:
            return
        del self.files[file.id]  # its functions are sources of their own
        for function in functions:
            if function.id in self.functions:
                self._reject(str(path), "repeated_id", function.id)
            self._function(function, str(path))
        for name in unchecked:
            self._reject(str(path), "no_check", f"{name}: {checks.name} has no {CHECKS_PREFIX}{name}")


def _checked_file(path: Path) -> Path:
    """Return the file that a file of checks belongs to; a path that is no file if the name is not one of checks."""
    name = path.name.removeprefix(CHECKS_PREFIX)
    return path.with_name(name) if name != path.name and path.suffix == ".py" else path / name


def _source_paths(root: Path) -> Iterator[Path]:
    """Yield source files and files of rows below a folder, in order; hidden and generated folders are skipped."""
    entries = [languages()[name] for name in LANGUAGES]
    # Dialects such as TSX have grammars of their own, for which there is no table of statements.
    dialects = {suffix for entry in entries for dialect in entry.dialects.values() for suffix in dialect.suffixes}
    suffixes = {suffix for entry in entries for suffix in (entry.suffix, *entry.more_suffixes)} - dialects
    for path in sorted(root.rglob("*")):
        folders = path.relative_to(root).parts[:-1]
        # Packages of others have other licences, and build folders repeat the sources.
        if any(folder in _SKIPPED_FOLDERS or folder.startswith(".") for folder in folders):
            continue
        if path.name.endswith((*suffixes, *_ROWS)) and path.is_file():
            yield path


def _text(path: Path) -> str | None:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    # Generated files and data with a source's suffix: each of their thousands of middles would be tried against seven
    # answers.
    return text if len(text) <= MAX_FILE_CHARACTERS and "\0" not in text else None


def _fault(file: SourceText) -> tuple[str, str] | None:
    """Return the reason why a text is no source, with the line of the fault; None if it is one."""
    if not file.text.strip():
        return "empty", "no code"
    if file.language == "python":
        if python_module(file.text) is not None:
            return None
        return "syntax", _python_fault(file.text)
    tree = parse(file.text, file.language)
    if fault_count(tree, file.language) == 0:
        return None
    line = min((node.start_point.row + 1 for node in error_nodes(tree.root_node)), default=1)
    return "syntax", f"line {line}: the file does not parse"


def _python_fault(text: str) -> str:
    try:
        compile(text, "<source>", "exec", flags=0x400)  # the tree alone: nothing is compiled or run
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    # Null characters, and brackets nested deeper than the parser's stack.
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return "the file does not parse"
