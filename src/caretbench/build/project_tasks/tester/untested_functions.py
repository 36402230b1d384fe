"""Functions with blocks that no test reaches, in groups of one request, and the code that a request shows."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.build.project_tasks.block_miner import MinedBlock
from caretbench.projects.file_spans import visible_text
from caretbench.redaction import redact
from caretbench.syntax import Span
from caretbench.syntax.analysis import ProjectAnalysis
from caretbench.syntax.analysis_types import CLASS_SCOPES

MAX_FUNCTIONS: Final = 4
"""Maximum number of functions of one request."""
_MAX_CODE: Final = 16_000
_MAX_HEAD: Final = 3_000
_NAMED: Final = frozenset({"function", "method"})


class UntestedFunction(NamedTuple):
    """A function with blocks that no test reaches; ``outer`` is the span of the class or function at top level."""

    name: str
    line: int
    span: Span
    outer: Span


class FunctionGroup(NamedTuple):
    """Functions of one file for one request."""

    path: str
    functions: tuple[UntestedFunction, ...]


def function_groups(
    analysis: ProjectAnalysis,
    blocks: Mapping[str, Sequence[MinedBlock]],
    is_reached: Callable[[str, Span], bool],
    *,
    seed: int,
    limit: int,
) -> list[FunctionGroup]:
    """Return up to ``limit`` groups of functions of which a block is not reached, in an order that ``seed`` draws."""
    groups: list[FunctionGroup] = []
    for path, mined in sorted(blocks.items()):
        functions: dict[Span, UntestedFunction] = {}
        for block in mined:
            if not is_reached(path, block.span):
                function = _function(analysis, path, block.span)
                if function is not None:
                    functions.setdefault(function.span, function)
        ordered = sorted(functions.values(), key=lambda function: function.span)
        starts = range(0, len(ordered), MAX_FUNCTIONS)
        groups += [FunctionGroup(path, tuple(ordered[start : start + MAX_FUNCTIONS])) for start in starts]
    # By files in order, the first file of a project would use up all requests.
    random.Random(f"tester {seed}").shuffle(groups)  # noqa: S311  a sample, no secret
    return groups[:limit]


def _function(analysis: ProjectAnalysis, path: str, span: Span) -> UntestedFunction | None:
    """Return the outermost function around a span, with the names of the classes around it; None if there is none."""
    scopes = [scope for scope in analysis[path].enclosing_scopes(span) if scope.kind in _NAMED | CLASS_SCOPES]
    first = next((n for n, scope in enumerate(scopes) if scope.kind in _NAMED), None)
    if first is None:
        return None
    name = ".".join(scope.name for scope in scopes[: first + 1])
    whole = scopes[first].span
    return UntestedFunction(name, analysis[path].source.line_at(whole.start), whole, scopes[0].span)


def shown_code(analysis: ProjectAnalysis, group: FunctionGroup) -> str:
    """Return the file of a group; of a long one its beginning and the functions, with those of the same class cut."""
    data = analysis[group.path].source.data
    whole = visible_text(data)
    if len(whole) <= _MAX_CODE:
        return without_secrets(whole)
    # The head has the imports and constants, which tests need to know.
    parts = [f"{whole[:_MAX_HEAD]}\n# …"]
    room = (_MAX_CODE - _MAX_HEAD) // len(group.functions)
    for function in group.functions:
        head = visible_text(data[function.outer.start : function.span.start])[:_MAX_HEAD]
        text = visible_text(data[function.span.start : function.span.end])
        shown = text if len(text) <= room else f"{text[:room]}\n# …"
        parts.append(f"{head}\n    # …\n    {shown}" if head else shown)
    return without_secrets("\n\n".join(parts))


def without_secrets(code: str) -> str:
    """Return code without keys and passwords in its literals; ``key = f(x)`` is no secret, and stays."""
    lines = code.split("\n")
    return "\n".join(redact(line) if "'" in line or '"' in line else line for line in lines)


def import_path(path: str, folders: Sequence[str]) -> str:
    """Return the name of a module by which tests import it; ``folders`` are those on the import path."""
    around = (folder for folder in folders if folder != "." and path.startswith(f"{folder}/"))
    folder = max(around, key=len, default="")
    parts = path.removeprefix(f"{folder}/" if folder else "").removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
