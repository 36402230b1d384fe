"""From names to variables within one file: where a name is declared, by the scope rules of its language."""

from __future__ import annotations

from typing import Final

from caretbench.syntax.names.flow import solve
from caretbench.syntax.names.symbols import Flow, ImportTarget, Names, Site, Use, Variable
from caretbench.syntax.names.walker import Walk
from caretbench.syntax.types import CLASSES, FUNCTIONS, Binding

_LANDED: Final[dict[str, Binding]] = {
    "file": "global",
    "namespace": "global",
    "class": "field",
    "interface": "field",
}


def _declaring_scope(walk: Walk, site: Site, scope: Names, part: str) -> Names | None:
    """Return the scope that a definition belongs to; None where it writes to a name that is declared nowhere."""
    traits = walk.traits
    if site.name in scope.globals:
        return walk.file
    if part.startswith("declare."):
        return scope
    if part in {"target.write", "target.update", "target.loop_write", "target.hoisted"}:
        through = traits.through_on_hoist if part == "target.hoisted" else traits.through_on_write
        home = scope.hoisted(through=through)
        if site.name in home.globals:
            return walk.file
        if site.name in home.nonlocals or (
            traits.writing_declares != "function" and part != "target.hoisted"
        ):
            found = lookup(walk, site.key, home.parent or home if site.name in home.nonlocals else scope)
            if found is not None:
                return found.scope
            return walk.file if traits.writing_declares == "file" else None
        return home
    if part == "target.local":
        return scope.hoisted(through=traits.through_on_local)
    return scope


def lookup(walk: Walk, name: str, scope: Names) -> Variable | None:
    """Return the variable that a name means where it is used, or None."""
    if name in scope.hoisted(through=walk.traits.through_on_write).globals:
        return walk.file.symbols.get(name)
    current: Names | None = scope
    crossed = False
    while current is not None:
        found = current.symbols.get(name)
        is_hidden = crossed and current.kind in CLASSES and not walk.traits.class_scope_visible
        if found is not None and (not is_hidden or (found.binding == "class" and walk.traits.block_scopes)):
            return found  # the parameters of a generic class are visible everywhere in it
        crossed = crossed or current.kind in FUNCTIONS
        current = current.parent
    return None


def _declare(scope: Names, site: Site, target: ImportTarget | None, types: tuple[str, ...]) -> Variable:
    variable = scope.symbols.get(site.key)
    if variable is None:
        variable = scope.symbols[site.key] = Variable(site.name, site.binding, scope)
        variable.flow = site.flow
    elif variable.binding == "field" and site.binding == "method":
        variable.binding = "method"
    variable.sites.append(site)
    site.variable = variable
    variable.target = variable.target or target
    variable.types += [name for name in types if name not in variable.types]
    return variable


def resolve(walk: Walk) -> None:
    """Give every site and use of the file its variable, and every use what reaches it.

    Declarations come before what merely writes, so that a variable's first site is its declaration.
    """
    late = []
    for site, scope, part, types, target in walk.written:
        if (
            part in {"target.write", "target.update"}
            and walk.traits.writing_declares != "function"
            and target is None
        ):
            late.append((site, scope, part, types))
            continue
        _land(walk, site, scope, part, types, target)
    for site, scope, part, types in late:
        _land(walk, site, scope, part, types, None)
    for site, scope, types in walk.members:
        around = scope.around(CLASSES)
        if around is not None:
            _declare(around, site, None, types).flow = None
    for use in walk.uses:
        if not use.path:
            use.variable = _variable(walk, use)
    for kill in walk.kills:
        kill.variable = kill.use.variable
    for flow in walk.flows:
        solve(flow)
    _add_other_flows(walk)


def _variable(walk: Walk, use: Use) -> Variable | None:
    """Return the variable of a use that is no member."""
    found = lookup(walk, use.key, use.scope)
    if found is None and use.key != use.name:  # a method that was imported by its name
        imported = lookup(walk, use.name, use.scope)
        return imported if imported is not None and imported.target is not None else None
    return found


def _add_other_flows(walk: Walk) -> None:
    """Let what a function inside writes, at a time unknown, reach the uses outside of it."""
    elsewhere: dict[tuple[Variable, Flow], tuple[Site, ...]] = {}
    for use in walk.uses:
        if use.reaching and use.variable is not None:
            key = use.variable, use.flow
            if key not in elsewhere:
                elsewhere[key] = tuple(site for site in use.variable.sites if site.flow is not use.flow)
            use.reaching += elsewhere[key]


def _land(
    walk: Walk, site: Site, scope: Names, part: str, types: tuple[str, ...], target: ImportTarget | None
) -> None:
    home = _declaring_scope(walk, site, scope, part)
    if home is None or (home.kind in CLASSES and site.key == home.name):
        return  # a constructor has the name of its class, which is found around it
    if part.startswith("target.") and target is None and site.binding == "local":
        site.binding = _LANDED.get(home.kind, "local")
    elif site.binding == "function" and home.kind in CLASSES:
        site.binding = "method"
    variable = _declare(home, site, target, types)
    if part.startswith("declare.") and variable.inside is None:
        variable.inside = walk.opened.get(site.start)
