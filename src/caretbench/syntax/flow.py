"""Which definitions reach a use: a control-flow graph per function, solved with bit sets.

Reaching definitions as in Aho, Lam, Sethi and Ullman, *Compilers* (2nd edition), section 9.2.4: the state in
front of a block is the union over its predecessors, and a definition kills the others of its variable. Every
state is one integer with a bit per definition, which keeps files of tens of thousands of lines fast.
"""

from __future__ import annotations

from collections import deque

from caretbench.syntax.symbols import Site, Use, Variable

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
        masks, sites = self._number()
        if not sites:
            return
        if len(sites) * len(self.blocks) > MOST_BITS:
            for event in (event for block in self.blocks for event in block):
                if isinstance(event, Use) and event.variable in masks:
                    event.reaching = tuple(event.variable.sites) if event.variable else ()
            return
        entries = self._entries(masks)
        for block, entry in zip(self.blocks, entries, strict=True):
            state: dict[Variable, int] = {}
            for event in block:
                variable = event.variable
                if variable is None or (mask := masks.get(variable)) is None:
                    continue
                if isinstance(event, Site):
                    state[variable] = 1 << event.index
                elif isinstance(event, Kill):
                    state[variable] = 0
                else:
                    arriving = state.get(variable)
                    event.reaching = tuple(_members(entry & mask if arriving is None else arriving, sites))

    def _number(self) -> tuple[dict[Variable, int], list[Site]]:
        """A bit for every definition; the bits of each variable that is defined in this flow alone."""
        sites: list[Site] = []
        masks: dict[Variable, int] = {}
        for block in self.blocks:
            for event in block:
                if isinstance(event, Site) and event.variable is not None and event.variable.flow is self:
                    event.index = len(sites)
                    sites.append(event)
                    masks[event.variable] = masks.get(event.variable, 0) | 1 << event.index
        return masks, sites

    def _entries(self, masks: dict[Variable, int]) -> list[int]:
        """The state in front of every block."""
        born = [0] * len(self.blocks)
        kept = [-1] * len(self.blocks)
        for number, block in enumerate(self.blocks):
            for event in block:
                if isinstance(event, Use) or event.variable is None or event.variable not in masks:
                    continue
                others = ~masks[event.variable]
                born[number] &= others
                kept[number] &= others
                if isinstance(event, Site):
                    born[number] |= 1 << event.index
        entries = [0] * len(self.blocks)
        waiting = deque(range(len(self.blocks)))
        queued = [True] * len(self.blocks)
        while waiting:
            number = waiting.popleft()
            queued[number] = False
            leaving = born[number] | entries[number] & kept[number]
            for follower in self.followers[number]:
                if leaving & ~entries[follower]:
                    entries[follower] |= leaving
                    if not queued[follower]:
                        queued[follower] = True
                        waiting.append(follower)
        return entries


def _members(bits: int, sites: list[Site]) -> list[Site]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(sites[lowest.bit_length() - 1])
        bits ^= lowest
    return found
