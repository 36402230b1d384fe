"""Name resolution within one file: from uses to variables, by the scope rules of the language."""

from __future__ import annotations

from collections import deque
from typing import Final

from caretbench.syntax.analysis_types import CLASS_SCOPES, FUNCTION_SCOPES, Binding
from caretbench.syntax.names.file_symbols import FileSymbols
from caretbench.syntax.names.symbols import (
    DefinitionSite,
    FlowEvent,
    FlowGraph,
    ImportTarget,
    NameScope,
    NameUse,
    Variable,
    WrittenName,
)

# A flow with more bits than this in all its states together is not solved: every definition then counts as
# reaching. It takes generated functions of tens of thousands of lines to get there.
MAX_BITS = 4_000_000_000

DefinitionBits = dict[Variable, tuple[int, list[DefinitionSite]]]
"""Number of the first bit of each variable, and its definitions."""


def solve_reaching_definitions(flow: FlowGraph) -> None:
    """Set ``reaching`` of every use in a flow graph: the definitions that reach it."""
    numbered = _number(flow)
    count = sum(len(sites) for _, sites in numbered.values())
    if count * len(flow.blocks) > MAX_BITS:
        for event in (event for block in flow.blocks for event in block):
            if isinstance(event, NameUse) and event.variable in numbered:
                event.reaching = tuple(numbered[event.variable][1])
        return
    entries = _entries(flow, numbered) if count else []
    for block, entry in zip(flow.blocks, entries, strict=False):
        _solve(block, entry, numbered)


def _number(flow: FlowGraph) -> DefinitionBits:
    """Return the first bit and the definitions of every variable of a flow graph; set their ``index``."""
    sites: dict[Variable, list[DefinitionSite]] = {}
    for block in flow.blocks:
        for event in block:
            if isinstance(event, DefinitionSite) and event.variable is not None and event.variable.flow is flow:
                definitions = sites.setdefault(event.variable, [])
                event.index = len(definitions)
                definitions.append(event)
    numbered: DefinitionBits = {}
    first = 0
    for variable, definitions in sites.items():
        numbered[variable] = (first, definitions)
        first += len(definitions)
    return numbered


def _entries(flow: FlowGraph, numbered: DefinitionBits) -> list[int]:
    """Return the state at the start of every block."""
    born = [0] * len(flow.blocks)
    killed = [0] * len(flow.blocks)
    for number, block in enumerate(flow.blocks):
        last: dict[Variable, int] = {}
        for event in block:
            if not isinstance(event, NameUse) and event.variable in numbered:
                last[event.variable] = 1 << event.index if isinstance(event, DefinitionSite) else 0
        for variable, bits in last.items():
            first, sites = numbered[variable]
            born[number] |= bits << first
            killed[number] |= (1 << len(sites)) - 1 << first
    entries = [0] * len(flow.blocks)
    waiting = deque(range(len(flow.blocks)))
    queued = [True] * len(flow.blocks)
    while waiting:
        number = waiting.popleft()
        queued[number] = False
        leaving = born[number] | entries[number] & ~killed[number]
        for follower in flow.followers[number]:
            if leaving & ~entries[follower]:
                entries[follower] |= leaving
                if not queued[follower]:
                    queued[follower] = True
                    waiting.append(follower)
    return entries


def _solve(block: list[FlowEvent], entry: int, numbered: DefinitionBits) -> None:
    """Set ``reaching`` of every use in a block, from the state at its start."""
    state: dict[Variable, int] = {}
    for event in block:
        variable = event.variable
        if variable is None or (definition := numbered.get(variable)) is None:
            continue
        if not isinstance(event, NameUse):
            state[variable] = 1 << event.index if isinstance(event, DefinitionSite) else 0
            continue
        first, sites = definition
        arriving = state.get(variable)
        if arriving is None:
            arriving = entry >> first & (1 << len(sites)) - 1 if entry else 0
        event.reaching = tuple(_members(arriving, sites))


def _members(bits: int, sites: list[DefinitionSite]) -> list[DefinitionSite]:
    definitions = []
    while bits:
        # Only the set bits are visited: a state has as many bits as the function has definitions.
        lowest = bits & -bits
        definitions.append(sites[lowest.bit_length() - 1])
        bits ^= lowest
    return definitions


_BINDING_BY_SCOPE: Final[dict[str, Binding]] = {
    "file": "global",
    "namespace": "global",
    "class": "field",
    "interface": "field",
}


def _declaring_scope(file: FileSymbols, site: DefinitionSite, scope: NameScope, role: str) -> NameScope | None:
    """Return the scope that a definition belongs to; None for a write to an undeclared name."""
    rules = file.rules
    if site.name in scope.globals:
        return file.file_scope
    if role.startswith("declare."):
        return scope
    if role in {"target.write", "target.update", "target.loop_write", "target.hoisted"}:
        through = rules.through_on_hoist if role == "target.hoisted" else rules.through_on_write
        home = scope.hoisting_scope(through=through)
        if site.name in home.globals:
            return file.file_scope
        if site.name in home.nonlocals or (rules.writing_declares != "function" and role != "target.hoisted"):
            variable = find_variable(file, site.key, home.parent or home if site.name in home.nonlocals else scope)
            if variable is not None:
                return variable.scope
            return file.file_scope if rules.writing_declares == "file" else None
        return home
    if role == "target.local":
        return scope.hoisting_scope(through=rules.through_on_local)
    return scope


def find_variable(file: FileSymbols, name: str, scope: NameScope) -> Variable | None:
    """Return the variable that a name refers to in a scope, or None."""
    if name in scope.hoisting_scope(through=file.rules.through_on_write).globals:
        return file.file_scope.symbols.get(name)
    crossed = False
    for around in scope.outwards():
        variable = around.symbols.get(name)
        is_hidden = crossed and around.kind in CLASS_SCOPES and not file.rules.class_scope_visible
        if variable is not None and (not is_hidden or (variable.binding == "class" and file.rules.block_scopes)):
            # The parameters of a generic class are visible everywhere in it, also where its fields are not.
            return variable
        crossed = crossed or around.kind in FUNCTION_SCOPES
    return None


def _declare(scope: NameScope, site: DefinitionSite, target: ImportTarget | None, types: tuple[str, ...]) -> Variable:
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


def resolve_names(file: FileSymbols) -> None:
    """Set the variable of every site and use of a file, and the definitions that reach every use.

    Declarations are processed before plain writes, so that the first site of a variable is its declaration.
    """
    plain_writes = {"target.write", "target.update"} if file.rules.writing_declares != "function" else set()
    for written in sorted(file.written, key=lambda name: name.role in plain_writes and name.target is None):
        _declare_site(file, written)
    for site, scope, types in file.members:
        around = scope.enclosing_class()
        if around is not None:
            # A field may be written by any method at any time: its flow is not computed.
            _declare(around, site, None, types).flow = None
    for use in file.uses:
        if not use.path:
            use.variable = _variable(file, use)
    for kill in file.kills:
        kill.variable = kill.use.variable
    for flow in file.flows:
        solve_reaching_definitions(flow)
    _add_other_flows(file)


def _variable(file: FileSymbols, use: NameUse) -> Variable | None:
    """Return the variable of a use that is not a member."""
    variable = find_variable(file, use.key, use.scope)
    # Where methods are kept apart from variables, one that was imported by its name is found as a name.
    if variable is None and use.key != use.name:
        imported = find_variable(file, use.name, use.scope)
        return imported if imported is not None and imported.target is not None else None
    return variable


def _add_other_flows(file: FileSymbols) -> None:
    """Add definitions in other functions to ``reaching``: the time at which they are executed is unknown."""
    elsewhere: dict[tuple[Variable, FlowGraph], tuple[DefinitionSite, ...]] = {}
    for use in file.uses:
        if use.reaching and use.variable is not None:
            key = use.variable, use.flow
            if key not in elsewhere:
                elsewhere[key] = tuple(site for site in use.variable.sites if site.flow is not use.flow)
            use.reaching += elsewhere[key]


def _declare_site(file: FileSymbols, written: WrittenName) -> None:
    site, scope, role, types, target = written
    home = _declaring_scope(file, site, scope, role)
    if home is None or (home.kind in CLASS_SCOPES and site.key == home.name):
        # A constructor has the name of its class, which is found around it.
        return
    if role.startswith("target.") and target is None and site.binding == "local":
        site.binding = _BINDING_BY_SCOPE.get(home.kind, "local")
    elif site.binding == "function" and home.kind in CLASS_SCOPES:
        site.binding = "method"
    variable = _declare(home, site, target, types)
    if role.startswith("declare.") and variable.inner_scope is None:
        variable.inner_scope = file.opened.get(site.start)
