"""References of a file: every use of a name with its binding, origin and reaching definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from caretbench.syntax.analysis_types import FUNCTION_SCOPES, Binding, Span, SpanIndex
from caretbench.syntax.blocks import Block
from caretbench.syntax.names.file_symbols import FileSymbols
from caretbench.syntax.names.project_names import ProjectNames, ResolvedName
from caretbench.syntax.names.symbols import DefinitionSite, NameUse, Variable

Origin = Literal[
    "same_block", "same_function", "same_class", "same_file", "same_project", "stdlib", "third_party", "builtin",
    "unknown",
]  # fmt: skip


class Definition(NamedTuple):
    """Definition of a name: its declaration, or an assignment; ``span`` is the span of the name."""

    path: str
    name: str
    binding: Binding
    span: Span
    line: int


class Reference(NamedTuple):
    """Use of a name.

    ``reaching`` are the definitions whose value can reach the use (all definitions for names of an enclosing function,
    fields and other files, for which the flow is not computed). ``library`` is the full name in a library
    (``os.path.join``). ``is_member``: the name is after a dot. ``files_crossed`` is the number of imports between use
    and declaration.
    """

    path: str
    name: str
    span: Span
    line: int
    binding: Binding
    origin: Origin
    declaration: Definition | None = None
    reaching: tuple[Definition, ...] = ()
    library: str | None = None
    is_member: bool = False
    is_call: bool = False
    files_crossed: int = 0

    @property
    def declaration_lines(self) -> int | None:
        """Number of lines between use and declaration; None for other files, libraries and unknown names."""
        target = self.declaration
        return abs(self.line - target.line) if target and target.path == self.path and not self.library else None

    @property
    def reaching_lines(self) -> int | None:
        """Number of lines between the use and the nearest reaching definition; None as for the declaration."""
        if self.library:
            return None
        same_file = [site for site in self.reaching if site.path == self.path]
        # `r += 1` defines what it uses: its own definition would be at distance 0.
        others = [site for site in same_file if site.span != self.span] or same_file
        return min((abs(self.line - site.line) for site in others), default=None)


_BODIES: Final = frozenset({
    "function_body", "if_body", "elif_body", "else_body", "switch_case", "loop_body", "try_body", "handler",
    "finally_body", "with_body",
})  # fmt: skip


class DefinitionTable:
    """Cache of the definitions of a project's files, so that each object exists once."""

    def __init__(self) -> None:
        self._made: dict[DefinitionSite, Definition] = {}
        self._all: dict[Variable, tuple[Definition, ...]] = {}

    def at(self, file: FileSymbols, site: DefinitionSite) -> Definition:
        """Return the definition at a site."""
        made = self._made.get(site)
        if made is None:
            span = Span(site.start, site.end)
            made = Definition(file.source.path, site.name, site.binding, span, site.row + 1)
            self._made[site] = made
        return made

    def of_variable(self, file: FileSymbols, variable: Variable) -> tuple[Definition, ...]:
        """Return all definitions of a variable, in text order."""
        made = self._all.get(variable)
        if made is None:
            made = self._all[variable] = self.at_sites(file, variable.sites)
        return made

    def at_sites(self, file: FileSymbols, sites: Sequence[DefinitionSite]) -> tuple[Definition, ...]:
        """Return the definitions at some sites, in text order."""
        return tuple(self.at(file, site) for site in sorted(sites, key=lambda site: site.start))


def _is_standard_library(file: FileSymbols, library: str) -> bool:
    """Return whether a library's name belongs to the language's standard library."""
    parts = library.removeprefix("node:").replace("::", ".").replace("/", ".").split(".")
    return any(".".join(parts[:count]) in file.rules.stdlib for count in range(1, len(parts) + 1))


def _library_binding(use: NameUse) -> Binding:
    target = use.variable.target if use.variable is not None and not use.path else None
    if target is not None and target.symbol is None:
        return "module"
    if use.name[:1].isupper():
        return "class"
    return ("method" if use.path else "function") if use.is_call else "global"


def _origin(use: NameUse, site: DefinitionSite, bodies: SpanIndex) -> Origin:
    """Return the origin of a definition in the same file: same block, function, class or file."""
    body = bodies.innermost(use.start, use.end)
    functions = [scope for scope in use.scope.outwards() if scope.kind in FUNCTION_SCOPES]
    if body is not None and Span(*bodies.spans[body]).contains((site.start, site.end)):
        return "same_block"
    # Nested functions belong to the outermost one.
    if functions and functions[-1].start <= site.start and site.end <= functions[-1].end:
        return "same_function"
    around = use.scope.enclosing_class()
    if around is not None and around.start <= site.start and site.end <= around.end:
        return "same_class"
    return "same_file"


def find_references(
    file: FileSymbols, project: ProjectNames, definitions: DefinitionTable, blocks: tuple[Block, ...]
) -> tuple[Reference, ...]:
    """Return the references of one file, in text order."""
    bodies = SpanIndex([block.span for block in blocks if block.kind in _BODIES])
    references = []
    for use in sorted(file.uses, key=lambda use: (use.start, use.end)):
        if not use.path and use.name in file.rules.self_names and use.scope.enclosing_class():
            # The object itself is no reference, as `this` is none.
            continue
        references.append(_reference(file, project, definitions, use, bodies))
    return tuple(references)


def _reference(
    file: FileSymbols, project: ProjectNames, definitions: DefinitionTable, use: NameUse, bodies: SpanIndex
) -> Reference:
    target = project.resolve_use(file, use)
    bare = Reference(
        path=file.source.path,
        name=use.name,
        span=Span(use.start, use.end),
        line=use.row + 1,
        binding="unresolved",
        origin="unknown",
        is_member=bool(use.path),
        is_call=use.is_call,
    )
    if target is None:
        is_builtin = not use.path and use.name in file.rules.builtins
        return bare._replace(binding="builtin", origin="builtin") if is_builtin else bare
    if target.file is None:
        return _to_library(bare, file, definitions, use, target)
    if target.variable is None:
        head = Definition(target.file.source.path, use.name, "module", Span(0, 0), 1)
        return bare._replace(
            binding="module",
            origin="same_file" if target.file is file else "same_project",
            declaration=head,
            reaching=(head,),
            files_crossed=target.files_crossed,
        )
    if target.file is not file:
        return bare._replace(
            binding=target.variable.binding,
            origin="same_project",
            declaration=definitions.at(target.file, target.variable.sites[0]),
            reaching=definitions.of_variable(target.file, target.variable),
            files_crossed=max(target.files_crossed, 1),
        )
    sites = list(use.reaching) or target.variable.sites
    # `r += 1` defines what it uses.
    others = [site for site in sites if site.start != use.start] or sites
    # Of two at one distance the earlier: the order of a set must not decide.
    nearest = min(others, key=lambda site: (abs(site.row - use.row), site.start))
    return bare._replace(
        binding=nearest.binding if use.reaching else target.variable.binding,
        origin=_origin(use, nearest, bodies),
        declaration=definitions.at(target.file, target.variable.sites[0]),
        reaching=definitions.at_sites(file, use.reaching)
        if use.reaching
        else definitions.of_variable(file, target.variable),
    )


def _to_library(
    bare: Reference, file: FileSymbols, definitions: DefinitionTable, use: NameUse, target: ResolvedName
) -> Reference:
    """Return the reference to a library, or to a folder of the project (with empty ``library``)."""
    sites = use.variable.sites if use.variable is not None and not use.path else []
    is_folder = target.files_crossed < 0
    library = target.library or ""
    origin: Origin = "stdlib" if _is_standard_library(file, library) else "third_party"
    return bare._replace(
        binding=_library_binding(use),
        origin="same_project" if is_folder else origin,
        declaration=definitions.at(file, min(sites, key=lambda site: site.start)) if sites else None,
        reaching=tuple(definitions.at(file, site) for site in use.reaching or sites),
        library=None if is_folder else library,
    )
