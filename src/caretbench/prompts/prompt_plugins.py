"""Prompt plug-ins: prompt strategies, and preprocessors that change carets before rendering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, get_args

from caretbench.models import ChatPrompt, FillPrompt, Prompt, PromptKind, TextPrompt
from caretbench.plugins import Plugin, Version, installed_plugins, load_plugin, one_line
from caretbench.problem import Caret
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, UnpromptableError

STRATEGY_ENTRY_POINT_GROUP: Final = "caretbench.prompts"
PREPROCESSOR_ENTRY_POINT_GROUP: Final = "caretbench.preprocess"


class PluginStrategy(PromptStrategy):
    """Prompt strategy of a plug-in; its errors become one-line messages with the plug-in's name."""

    def __init__(self, plugin: Plugin, strategy: PromptStrategy) -> None:
        self.name = plugin.name
        self.version = plugin.version_of(strategy)
        self.kind = strategy.kind
        self.takes_instructions = bool(getattr(strategy, "takes_instructions", True))
        self._plugin = plugin
        self._strategy = strategy

    def render(self, caret: Caret, budget: PromptBudget) -> Prompt:
        """Return the plug-in's prompt.

        Raises:
            PluginError: The plug-in failed, or gave no prompt of its kind.
        """
        try:
            prompt = self._strategy.render(caret, budget)
        except UnpromptableError:
            raise
        except Exception as error:
            raise self._plugin.error(f"failed to render a prompt: {one_line(error)}") from error
        if not isinstance(prompt, ChatPrompt | TextPrompt | FillPrompt) or prompt.kind != self.kind:
            raise self._plugin.error(f"gave {prompt!r:.80} where a prompt of kind {self.kind!r} is expected")
        return prompt


def plugin_strategy(plugin: Plugin) -> PluginStrategy:
    """Return the prompt strategy of a plug-in, which is one, or returns one when called.

    Raises:
        PluginError: It is no strategy.
    """
    value = plugin.value
    if isinstance(value, type) or (callable(value) and not hasattr(value, "render")):
        try:
            value = value()
        except Exception as error:
            raise plugin.error(f"cannot be made: {one_line(error)}") from error
    kind = getattr(value, "kind", None)
    if not callable(getattr(value, "render", None)):
        raise plugin.error(f"expected a prompt strategy, with `kind` and `render`, got {value!r:.80}")
    if kind not in get_args(PromptKind):
        raise plugin.error(f"its kind is {kind!r}; expected one of {', '.join(get_args(PromptKind))}")
    return PluginStrategy(plugin, value)


class Preprocessor:
    """Plug-in that changes a caret before rendering; the answer is inserted at the original caret."""

    def __init__(self, plugin: Plugin, change: Callable[[Caret], Caret]) -> None:
        self.name = plugin.name
        self.version: Version = plugin.version_of(change)
        self.key = f"{self.name}@{self.version}"
        self._plugin = plugin
        self._change = change

    def __call__(self, caret: Caret) -> Caret:
        """Return the changed caret.

        Raises:
            UnpromptableError: The caret cannot be asked about so.
            PluginError: The plug-in failed, or gave no caret.
        """
        try:
            changed = self._change(caret)
        except UnpromptableError:
            raise
        except Exception as error:
            raise self._plugin.error(f"failed on a caret: {one_line(error)}") from error
        if not isinstance(changed, Caret):
            raise self._plugin.error(f"gave {changed!r:.80} where a Caret is expected")
        return changed


def preprocessors() -> tuple[str, ...]:
    """Return the names of the installed preprocessors; CaretBench has none of its own."""
    return installed_plugins(PREPROCESSOR_ENTRY_POINT_GROUP, ())


def preprocessor(name: str) -> Preprocessor:
    """Return the preprocessor of this name, or at ``module:object``.

    Raises:
        KeyError: There is none; the message lists the installed ones.
        PluginError: It cannot be used.
    """
    wanted = name.partition("@")[0]
    plugin = load_plugin(PREPROCESSOR_ENTRY_POINT_GROUP, wanted, ())
    if plugin is not None:
        if isinstance(plugin.value, type) or not callable(plugin.value):
            raise plugin.error(f"expected a function from Caret to Caret, got {plugin.value!r:.80}")
        found = Preprocessor(plugin, plugin.value)
        if name in {found.name, found.key}:
            return found
        raise KeyError(f"preprocessor {name!r}: there is {found.key} only")
    known = ", ".join(preprocessors()) or "none is installed"
    raise KeyError(f"unknown preprocessor {name!r}; known: {known}; or give module:object")
