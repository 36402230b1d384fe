"""Warm compilation of prepared Java projects: a compile server compiles the one file that an answer changes.

A warm compiler takes a tenth of the time of a fresh one. Its class files are added to the patch, so that the test
command (``project_tools``) has nothing left to compile. Unusual cases (several files, changes outside method
bodies, compile errors) are left to that command.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import tree_sitter

from caretbench.errors import DataError
from caretbench.execution.bundles.bundle_model import Bundle
from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.execution.sandbox.program_sandbox import Sandbox
from caretbench.execution.toolchains.compile_server import CompileJob, CompilerSettings, compile_programs
from caretbench.execution.toolchains.java import JavaRuntime
from caretbench.execution.workspaces.project_tools import has_default_compiler_options
from caretbench.execution.workspaces.snapshot_store import Snapshot
from caretbench.execution.workspaces.workspace_request import Patch, WorkspaceRequest
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.parser import fault_count, parse

PLACE: Final = ".caretbench-java"
_REST_S: Final = 300.0
_INSIDE: Final = "/caretbench/classes"
_OWN: Final = "/caretbench/jars"


class CompiledPatch(NamedTuple):
    """Files added to a patch, and the CPU seconds of compiling; empty if the command itself compiles."""

    patch: Patch = MappingProxyType({})
    cpu_s: float = 0.0


class WarmJavaCompiler:
    """Compiler of changed files of prepared projects, until the sandbox is closed. Threads may share it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._runtime = JavaRuntime(sandbox)
        self._rests_until = 0.0
        self._indices: dict[str, Mapping[str, tuple[str, ...]]] = {}

    def compile_patch(self, request: WorkspaceRequest, prepared: Snapshot, bundle: Bundle | None) -> CompiledPatch:
        """Return the compiled changed file; ``prepared`` is the output of ``/caretbench/java/test --prepare``."""
        plain = request.prepare and request.directory == "." and has_default_compiler_options(request.command)
        if not plain or len(request.patch) != 1 or time.monotonic() < self._rests_until:
            return CompiledPatch()
        [(path, content)] = request.patch.items()
        made = self._index(prepared).get(path)
        # A new file, or one that goes, changes what others see: the command compiles then.
        if made is None or content is None:
            return CompiledPatch()
        try:
            text = content if isinstance(content, str) else content.decode("utf-8")
            before = prepared.read(f"{PLACE}/sources/{path}").decode("utf-8")
        except UnicodeDecodeError:
            return CompiledPatch()
        declared = _declared(text)
        # Other files may use a changed signature or field, and would have to be compiled, too.
        if declared is None or declared != _declared(before):
            return CompiledPatch()
        jars = _own_jars(request.environment.get("CLASSPATH", ""), prepared)
        binds = {_INSIDE: str(prepared.tree / PLACE / "classes"), **jars, **(bundle.read_only if bundle else {})}
        compiler = self._runtime.compiler((_INSIDE, *jars, *(bundle.class_path if bundle else ())), binds)
        return self._compiled(compiler, path, text, made)

    def _compiled(self, compiler: CompilerSettings, path: str, text: str, made: tuple[str, ...]) -> CompiledPatch:
        """Return the compiled source; ``made`` are the classes that it became before."""
        request = ExecutionRequest(id=path, language="java", source=text)
        with tempfile.TemporaryDirectory() as folder:
            program = CompileJob(request, Path(folder), Path(path).stem)
            [result] = compile_programs(self._runtime.sandbox, lambda _request: compiler, [program])
            if result.status is Status.SANDBOX_ERROR:  # a machine too busy for a server to start
                self._rests_until = time.monotonic() + _REST_S
            if result.status is not None:
                return CompiledPatch(cpu_s=result.compile_s)
            classes = {
                f"{PLACE}/classes/{file.relative_to(folder).as_posix()}": file.read_bytes()
                for file in sorted(Path(folder).rglob("*.class"))
            }
        # A class that the source no longer makes must not be found from before.
        left = {name: None for name in made if name not in classes}
        return CompiledPatch({f"{PLACE}/sources/{path}": text.encode("utf-8"), **classes, **left}, result.compile_s)

    def _index(self, prepared: Snapshot) -> Mapping[str, tuple[str, ...]]:
        """Return the classes that each source became."""
        if prepared.id not in self._indices:
            try:
                lines = prepared.read(f"{PLACE}/index").decode("utf-8").splitlines()
            except (DataError, UnicodeDecodeError):
                lines = []
            rows = (line.split("\t") for line in lines)
            self._indices[prepared.id] = {source: tuple(made) for source, *made in rows}
        return self._indices[prepared.id]


def _own_jars(class_path: str, prepared: Snapshot) -> Mapping[str, str]:
    """Return the jars that a command names itself, in the project or in the system: path inside -> path on the host."""
    jars: dict[str, str] = {}
    for entry in filter(None, class_path.split(":")):
        root = Path("/usr") if entry.startswith("/") else prepared.tree
        for jar in _jars(root / entry):
            if jar.is_relative_to(root):
                jars[f"{_OWN}/{len(jars)}-{jar.name}"] = str(jar)
    return jars


def _jars(path: Path) -> list[Path]:
    """Return the jar, or those of the folder before a star, links followed."""
    named = sorted(path.parent.glob("*.jar")) if path.name == "*" else [path]
    return [jar.resolve() for jar in named if jar.suffix == ".jar" and jar.is_file()]


def _declared(text: str) -> str | None:
    """Return a file's text without the bodies of its methods; None if that is not certain.

    A Unicode escape may be a bracket to the compiler.
    """
    tree = parse(text, "java")
    if "\\u" in text or fault_count(tree, "java"):
        return None
    data = text.encode("utf-8")
    parts, done = [], 0
    for body in _bodies(tree.root_node):
        parts.append(data[done : body.start_byte])
        done = body.end_byte
    return b"{}".join([*parts, data[done:]]).decode("utf-8")


def _bodies(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the bodies of methods, in the order of the text; declarations within a body belong to it."""
    kinds = node_kinds("java")
    methods = kinds.functions - kinds.anonymous_functions
    for child in node.named_children:
        body = child.child_by_field_name("body") if child.type in methods else None
        if body is not None:
            yield body
        else:
            yield from _bodies(child)
