"""Which definitions reach a use: a control-flow graph per function, solved with bit sets.

Reaching definitions as in Aho, Lam, Sethi and Ullman, *Compilers* (2nd edition), section 9.2.4: the state in
front of a block is the union over its predecessors, and a definition kills the others of its variable. Every
state is one integer with a bit per definition, which keeps files of tens of thousands of lines fast.
"""

from __future__ import annotations

from collections import deque

from caretbench.syntax.names.symbols import Site, Use, Variable

# A flow with more bits than this in all its states together is not solved: every definition then counts as
# reaching. It takes generated functions of tens of thousands of lines to get there.
MOST_BITS = 4_000_000_000


class Kill:
    """The end of a variable (``del``)."""

    __slots__ = ("use", "variable")

    def __init__(self, use: Use) -> None:
        self.use = use
        self.variable: Variable | None = None


Event = Use | Site | Kill
Numbered = dict[Variable, tuple[int, list[Site]]]
"""By variable: the number of its first bit, and its definitions."""


class Flow:
    """The control-flow graph of one function, or of a file's own statements."""

    __slots__ = ("_catchers", "blocks", "breaks", "continues", "current", "finals", "followers")

    def __init__(self) -> None:
        self.blocks: list[list[Event]] = [[]]
        self.followers: list[list[int]] = [[]]
        self.current = 0
        self.breaks: list[int] = []
        self.continues: list[int] = []
        self.finals: list[int] = []
        self._catchers: list[int] = []

    def block(self, *before: int) -> int:
        """A new block that follows the given ones."""
        self.blocks.append([])
        self.followers.append([])
        new = len(self.blocks) - 1
        for block in before:
            self.followers[block].append(new)
        return new

    def link(self, before: int, after: int) -> None:
        """Let one block follow another."""
        self.followers[before].append(after)

    def go(self, block: int) -> None:
        """Write on in this block."""
        self.current = block

    def jump(self, targets: list[int]) -> None:
        """Leave for one of the targets; what follows in the text is reached from nowhere."""
        for target in targets:
            self.link(self.current, target)
        self.current = self.block()

    def guard(self, catcher: int) -> None:
        """From here on, every point may also go on at ``catcher``."""
        self._catchers.append(catcher)
        self.link(self.current, catcher)
        self.current = self.block(self.current)

    def unguard(self) -> None:
        """End the latest guard."""
        self.link(self.current, self._catchers.pop())

    def throw(self) -> None:
        """Leave for the nearest guard, or the function."""
        self.jump(self._catchers[-1:])

    def add(self, event: Event) -> None:
        """Let something happen; behind a definition an exception may leave with the new value."""
        if self._catchers and not isinstance(event, Use):
            self.link(self.current, self._catchers[-1])
            self.current = self.block(self.current)
        self.blocks[self.current].append(event)

    def solve(self) -> None:
        """Give every use of a variable of this flow the definitions that reach it."""
        own = self._number()
        count = sum(len(sites) for _, sites in own.values())
        if count * len(self.blocks) > MOST_BITS:
            for event in (event for block in self.blocks for event in block):
                if isinstance(event, Use) and event.variable in own:
                    event.reaching = tuple(own[event.variable][1])
            return
        entries = self._entries(own) if count else []
        for block, entry in zip(self.blocks, entries, strict=False):
            _solve(block, entry, own)

    def _number(self) -> Numbered:
        """The first bit of every variable of this flow, with its definitions; each knows its place in them."""
        sites: dict[Variable, list[Site]] = {}
        for block in self.blocks:
            for event in block:
                if isinstance(event, Site) and event.variable is not None and event.variable.flow is self:
                    known = sites.setdefault(event.variable, [])
                    event.index = len(known)
                    known.append(event)
        numbered: Numbered = {}
        first = 0
        for variable, known in sites.items():
            numbered[variable] = (first, known)
            first += len(known)
        return numbered

    def _entries(self, own: Numbered) -> list[int]:
        """The state in front of every block."""
        born = [0] * len(self.blocks)
        killed = [0] * len(self.blocks)
        for number, block in enumerate(self.blocks):
            last: dict[Variable, int] = {}
            for event in block:
                if not isinstance(event, Use) and event.variable in own:
                    last[event.variable] = 1 << event.index if isinstance(event, Site) else 0
            for variable, bits in last.items():
                first, sites = own[variable]
                born[number] |= bits << first
                killed[number] |= (1 << len(sites)) - 1 << first
        entries = [0] * len(self.blocks)
        waiting = deque(range(len(self.blocks)))
        queued = [True] * len(self.blocks)
        while waiting:
            number = waiting.popleft()
            queued[number] = False
            leaving = born[number] | entries[number] & ~killed[number]
            for follower in self.followers[number]:
                if leaving & ~entries[follower]:
                    entries[follower] |= leaving
                    if not queued[follower]:
                        queued[follower] = True
                        waiting.append(follower)
        return entries


def _solve(block: list[Event], entry: int, own: Numbered) -> None:
    """Give every use of a block the definitions that reach it, from the state in front of it."""
    state: dict[Variable, int] = {}
    for event in block:
        variable = event.variable
        if variable is None or (found := own.get(variable)) is None:
            continue
        if not isinstance(event, Use):
            state[variable] = 1 << event.index if isinstance(event, Site) else 0
            continue
        first, sites = found
        arriving = state.get(variable)
        if arriving is None:
            arriving = entry >> first & (1 << len(sites)) - 1 if entry else 0
        event.reaching = tuple(_members(arriving, sites))


def _members(bits: int, sites: list[Site]) -> list[Site]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(sites[lowest.bit_length() - 1])
        bits ^= lowest
    return found
