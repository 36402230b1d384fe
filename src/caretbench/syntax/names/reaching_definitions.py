"""Reaching definitions of the control-flow graph of each function, solved with bit sets.

Reaching definitions as in Aho, Lam, Sethi and Ullman, *Compilers* (2nd edition), section 9.2.4: the state in
front of a block is the union over its predecessors, and a definition kills the others of its variable. Every
state is one integer with a bit per definition, which keeps files of tens of thousands of lines fast.
"""

from __future__ import annotations

from collections import deque

from caretbench.syntax.names.symbols import DefinitionSite, FlowEvent, FlowGraph, NameUse, Variable

# A flow with more bits than this in all its states together is not solved: every definition then counts as
# reaching. It takes generated functions of tens of thousands of lines to get there.
MAX_BITS = 4_000_000_000

DefinitionBits = dict[Variable, tuple[int, list[DefinitionSite]]]
"""Number of the first bit of each variable, and its definitions."""


def solve_reaching_definitions(flow: FlowGraph) -> None:
    """Set ``reaching`` of every use in a flow graph: the definitions that reach it."""
    own = _number(flow)
    count = sum(len(sites) for _, sites in own.values())
    if count * len(flow.blocks) > MAX_BITS:
        for event in (event for block in flow.blocks for event in block):
            if isinstance(event, NameUse) and event.variable in own:
                event.reaching = tuple(own[event.variable][1])
        return
    entries = _entries(flow, own) if count else []
    for block, entry in zip(flow.blocks, entries, strict=False):
        _solve(block, entry, own)


def _number(flow: FlowGraph) -> DefinitionBits:
    """Return the first bit and the definitions of every variable of a flow graph; set their ``index``."""
    sites: dict[Variable, list[DefinitionSite]] = {}
    for block in flow.blocks:
        for event in block:
            if isinstance(event, DefinitionSite) and event.variable is not None and event.variable.flow is flow:
                known = sites.setdefault(event.variable, [])
                event.index = len(known)
                known.append(event)
    numbered: DefinitionBits = {}
    first = 0
    for variable, known in sites.items():
        numbered[variable] = (first, known)
        first += len(known)
    return numbered


def _entries(flow: FlowGraph, own: DefinitionBits) -> list[int]:
    """Return the state at the start of every block."""
    born = [0] * len(flow.blocks)
    killed = [0] * len(flow.blocks)
    for number, block in enumerate(flow.blocks):
        last: dict[Variable, int] = {}
        for event in block:
            if not isinstance(event, NameUse) and event.variable in own:
                last[event.variable] = 1 << event.index if isinstance(event, DefinitionSite) else 0
        for variable, bits in last.items():
            first, sites = own[variable]
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


def _solve(block: list[FlowEvent], entry: int, own: DefinitionBits) -> None:
    """Set ``reaching`` of every use in a block, from the state at its start."""
    state: dict[Variable, int] = {}
    for event in block:
        variable = event.variable
        if variable is None or (found := own.get(variable)) is None:
            continue
        if not isinstance(event, NameUse):
            state[variable] = 1 << event.index if isinstance(event, DefinitionSite) else 0
            continue
        first, sites = found
        arriving = state.get(variable)
        if arriving is None:
            arriving = entry >> first & (1 << len(sites)) - 1 if entry else 0
        event.reaching = tuple(_members(arriving, sites))


def _members(bits: int, sites: list[DefinitionSite]) -> list[DefinitionSite]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(sites[lowest.bit_length() - 1])
        bits ^= lowest
    return found
