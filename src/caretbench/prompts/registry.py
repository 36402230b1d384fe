"""All prompt strategies by name: ours, one for each FIM format, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caretbench.plugins import installed, load
from caretbench.prompts.chat import Chat
from caretbench.prompts.fim.detection import formats
from caretbench.prompts.fim.fill import Fill
from caretbench.prompts.fim.strategy import FimStrategy, fim_strategies
from caretbench.prompts.left_to_right import LeftToRight
from caretbench.prompts.natural import Natural
from caretbench.prompts.plugged import STRATEGIES, plugged_strategy
from caretbench.prompts.question import AskQuestion, ContinueQuestion, LikeliestLetter
from caretbench.prompts.released import DevBenchPaper
from caretbench.prompts.strategy import Strategy

AUTO: Final = "auto"
"""The name that leaves the choice to :func:`caretbench.prompts.choose`; no strategy has it."""

OURS: tuple[Strategy, ...] = (
    Chat(), Natural(), LeftToRight(), Fill(), DevBenchPaper(), AskQuestion(), ContinueQuestion(),
    LikeliestLetter(),
)  # fmt: skip
"""The strategies that are no FIM format and no plug-in."""

_BY_NAME: Mapping[str, Strategy] = MappingProxyType({entry.name: entry for entry in OURS})
_TAKEN = frozenset({*_BY_NAME, AUTO})
_FIM = "fim/"


def strategies() -> tuple[str, ...]:
    """The names of all strategies: ours, the FIM formats, installed plug-ins."""
    return (*_BY_NAME, *fim_strategies(), *installed(STRATEGIES, _TAKEN))


def strategy(name: str) -> Strategy:
    """The strategy with this name (``chat``) or key (``chat@1``), or that of a plug-in (``module:object`` too).

    ``fim/FAMILY`` is a FIM format in its family's own order; ``fim/FAMILY:psm`` and ``:spm`` name the order.

    Raises:
        KeyError: No such strategy, or not in this version; the message lists the known ones.
        PluginError: A plug-in cannot be used.
    """
    wanted, at, _ = name.partition("@")
    found: Strategy | None
    if wanted.startswith(_FIM):
        found = _fim(wanted)
    elif (plugin := load(STRATEGIES, wanted, _TAKEN)) is not None:
        found = plugged_strategy(plugin)
    else:
        found = _BY_NAME.get(wanted)
    if found is None:
        raise KeyError(f"unknown prompt {name!r}; known: {', '.join(strategies())}; or give module:object")
    if at and name != f"{wanted}@{found.version}":
        raise KeyError(f"prompt {name!r} is not known in this version; there is {found.key}")
    return found


def _fim(name: str) -> FimStrategy | None:
    family, colon, wanted = name.removeprefix(_FIM).partition(":")
    entry = formats().get(family)
    if entry is None:
        return None
    if not colon:
        return FimStrategy(entry, entry.order)
    order = next((order for order in entry.orders if order == wanted), None)
    if order is None:
        raise KeyError(f"prompt {name!r}: {entry.title} has no such order; it has {', '.join(entry.orders)}")
    return FimStrategy(entry, order)
