"""From uses to references: what is bound, where it comes from, what reaches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from caretbench.syntax.names.project import Place, Project
from caretbench.syntax.names.symbols import Names, Site, Use, Variable
from caretbench.syntax.names.walker import Walk
from caretbench.syntax.types import (
    CLASSES,
    FUNCTIONS,
    Binding,
    Block,
    Definition,
    Nesting,
    Origin,
    Reference,
    Span,
)

_BODIES: Final = frozenset({
    "function_body", "if_body", "elif_body", "else_body", "switch_case", "loop_body", "try_body", "handler",
    "finally_body", "with_body",
})  # fmt: skip


class Definitions:
    """The definitions of a project's files, each made once."""

    def __init__(self, walks: Mapping[str, Walk]) -> None:
        self._walks = walks
        self._made: dict[Site, Definition] = {}
        self._all: dict[Variable, tuple[Definition, ...]] = {}

    def of(self, walk: Walk, site: Site) -> Definition:
        """Return the definition at a site."""
        made = self._made.get(site)
        if made is None:
            span = Span(site.start, site.end)
            made = Definition(walk.source.path, site.name, site.binding, span, site.row + 1)
            self._made[site] = made
        return made

    def all_of(self, walk: Walk, variable: Variable) -> tuple[Definition, ...]:
        """Return all definitions of a variable, in the order of the text."""
        made = self._all.get(variable)
        if made is None:
            made = self._all[variable] = self.each(walk, variable.sites)
        return made

    def each(self, walk: Walk, sites: Sequence[Site]) -> tuple[Definition, ...]:
        """Return the definitions at some sites, in the order of the text."""
        return tuple(self.of(walk, site) for site in sorted(sites, key=lambda site: site.start))


def _library_binding(use: Use) -> Binding:
    target = use.variable.target if use.variable is not None and not use.path else None
    if target is not None and target.symbol is None:
        return "module"
    if use.name[:1].isupper():
        return "class"
    return ("method" if use.path else "function") if use.is_call else "global"


def _outermost_function(scope: Names | None) -> Names | None:
    found = None
    while scope is not None:
        if scope.kind in FUNCTIONS:
            found = scope
        scope = scope.parent
    return found


def _origin(use: Use, site: Site, bodies: Nesting, body_spans: list[Span]) -> Origin:
    """Return how near the definition of the same file is."""
    body = bodies.innermost(use.start, use.end)
    function = _outermost_function(use.scope)
    if body is not None and body_spans[body].holds((site.start, site.end)):
        return "same_block"
    if function is not None and function.start <= site.start and site.end <= function.end:
        return "same_function"
    around = use.scope.around(CLASSES)
    if around is not None and around.start <= site.start and site.end <= around.end:
        return "same_class"
    return "same_file"


def references_of(
    walk: Walk, project: Project, definitions: Definitions, blocks: tuple[Block, ...]
) -> tuple[Reference, ...]:
    """Return the references of one file, in the order of the text."""
    body_spans = [block.span for block in blocks if block.kind in _BODIES]
    bodies = Nesting(body_spans)
    found = []
    for use in sorted(walk.uses, key=lambda use: (use.start, use.end)):
        if not use.path and use.name in walk.traits.self_names and use.scope.around(CLASSES):
            continue  # the object itself is no reference, as `this` is none
        found.append(_reference(walk, project, definitions, use, bodies, body_spans))
    return tuple(found)


def _reference(
    walk: Walk, project: Project, definitions: Definitions, use: Use, bodies: Nesting, body_spans: list[Span]
) -> Reference:
    place = project.meaning(walk, use)
    bare = Reference(
        path=walk.source.path,
        name=use.name,
        span=Span(use.start, use.end),
        line=use.row + 1,
        binding="unresolved",
        origin="unknown",
        is_member=bool(use.path),
        is_call=use.is_call,
    )
    if place is None:
        is_builtin = not use.path and use.name in walk.traits.builtins
        return bare._replace(binding="builtin", origin="builtin") if is_builtin else bare
    if place.walk is None:
        return _to_library(bare, walk, project, definitions, use, place)
    if place.variable is None:
        head = Definition(place.walk.source.path, use.name, "module", Span(0, 0), 1)
        return bare._replace(
            binding="module",
            origin="same_file" if place.walk is walk else "same_project",
            declaration=head,
            reaching=(head,),
            files_crossed=place.files,
        )
    if place.walk is not walk:
        return bare._replace(
            binding=place.variable.binding,
            origin="same_project",
            declaration=definitions.of(place.walk, place.variable.sites[0]),
            reaching=definitions.all_of(place.walk, place.variable),
            files_crossed=max(place.files, 1),
        )
    sites = list(use.reaching) or place.variable.sites
    others = [site for site in sites if site.start != use.start] or sites  # `r += 1` defines what it uses
    nearest = min(others, key=lambda site: (abs(site.row - use.row), site.start))
    return bare._replace(
        binding=nearest.binding if use.reaching else place.variable.binding,
        origin=_origin(use, nearest, bodies, body_spans),
        declaration=definitions.of(place.walk, place.variable.sites[0]),
        reaching=definitions.each(walk, use.reaching)
        if use.reaching
        else definitions.all_of(walk, place.variable),
    )


def _to_library(
    bare: Reference, walk: Walk, project: Project, definitions: Definitions, use: Use, place: Place
) -> Reference:
    """Return a library's name, or a package of the project that is only a folder (then ``library`` stays empty)."""
    own = use.variable.sites if use.variable is not None and not use.path else []
    is_folder = place.files < 0
    library = place.library or ""
    origin: Origin = "stdlib" if project.is_standard(walk, library) else "third_party"
    return bare._replace(
        binding=_library_binding(use),
        origin="same_project" if is_folder else origin,
        declaration=definitions.of(walk, min(own, key=lambda site: site.start)) if own else None,
        reaching=tuple(definitions.of(walk, site) for site in use.reaching or own),
        library=None if is_folder else library,
    )
