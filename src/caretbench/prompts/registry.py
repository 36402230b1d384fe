"""Registry of prompt strategies (ours, one per FIM format, plug-ins), and the choice of one for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, get_args

from caretbench.errors import UsageError, did_you_mean
from caretbench.models import ChatPrompt, FillPrompt, ModelClient, Prompt, PromptKind, TextPrompt
from caretbench.plugins import Plugin, Version, installed_plugins, load_plugin, one_line
from caretbench.problem import Caret
from caretbench.prompts.caret_strategies import (
    ChatStrategy,
    DevBenchPaperStrategy,
    FillStrategy,
    LeftToRightStrategy,
    NaturalLanguageStrategy,
)
from caretbench.prompts.fim.families import FimStrategy, detect_format, fim_formats, fim_strategies, format_for_model
from caretbench.prompts.question import (
    ChatQuestionStrategy,
    FillQuestionStrategy,
    LikeliestLetterStrategy,
    TextQuestionStrategy,
)
from caretbench.prompts.strategy import (
    PromptBudget,
    PromptStrategy,
    QuestionStrategy,
    UnpromptableError,
    unreadable_reason,
)

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
        # The client was chosen by the kind that the plug-in stated; another one would fail there for every sample,
        # without a word of the plug-in.
        if not isinstance(prompt, ChatPrompt | TextPrompt | FillPrompt) or prompt.kind != self.kind:
            raise self._plugin.error(f"gave {prompt!r:.80} where a prompt of kind {self.kind!r} is expected")
        return prompt


def plugin_strategy(plugin: Plugin) -> PluginStrategy:
    """Return the prompt strategy of a plug-in, which is one, or returns one when called.

    Raises:
        PluginError: It is no strategy.
    """
    value = plugin.value
    # An entry point may name the class, a function that makes the strategy, or the strategy itself.
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
        UsageError: There is none; the message lists the installed ones.
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
        raise UsageError(f"preprocessor {name!r}: there is {found.key} only")
    known = ", ".join(preprocessors()) or "none is installed"
    raise UsageError(f"unknown preprocessor {name!r}; known: {known}; or give module:object")


AUTO: Final = "auto"
"""Value of ``--prompt`` that selects the strategy automatically; not the name of a strategy."""

BUILT_IN_STRATEGIES: tuple[PromptStrategy, ...] = (
    ChatStrategy(), NaturalLanguageStrategy(), LeftToRightStrategy(), FillStrategy(), DevBenchPaperStrategy(),
    ChatQuestionStrategy(), TextQuestionStrategy(),
    LikeliestLetterStrategy(), FillQuestionStrategy(),
)  # fmt: skip
"""Built-in strategies, except those of FIM formats."""

_BY_NAME: Mapping[str, PromptStrategy] = MappingProxyType({entry.name: entry for entry in BUILT_IN_STRATEGIES})
_TAKEN = frozenset({*_BY_NAME, AUTO})
_FIM = "fim/"


def strategies() -> tuple[str, ...]:
    """Return the names of all strategies: ours, the FIM formats, installed plug-ins."""
    return (*_BY_NAME, *fim_strategies(), *installed_plugins(STRATEGY_ENTRY_POINT_GROUP, _TAKEN))


def strategy(name: str) -> PromptStrategy:
    """Return the strategy with this name (``chat``) or key (``chat@1``), or that of a plug-in (``module:object`` too).

    ``fim/FAMILY`` is a FIM format in its family's own order; ``fim/FAMILY:psm`` and ``:spm`` name the order.

    Raises:
        UsageError: No such strategy, or not in this version; the message lists the known ones.
        PluginError: A plug-in cannot be used.
    """
    requested, at, _ = name.partition("@")
    found: PromptStrategy | None
    if requested.startswith(_FIM):
        found = _find_fim_strategy(requested)
    elif (plugin := load_plugin(STRATEGY_ENTRY_POINT_GROUP, requested, _TAKEN)) is not None:
        found = plugin_strategy(plugin)
    else:
        found = _BY_NAME.get(requested)
    if found is None:
        known, guess = ", ".join(strategies()), did_you_mean(name, strategies())
        raise UsageError(f"unknown prompt {name!r}{guess}; known: {known}; or give module:object")
    if at and name != f"{requested}@{found.version}":
        raise UsageError(f"prompt {name!r} is not known in this version; there is {found.key}")
    return found


def _find_fim_strategy(name: str) -> FimStrategy | None:
    family, colon, requested = name.removeprefix(_FIM).partition(":")
    entry = fim_formats().get(family)
    if entry is None:
        return None
    if not colon:
        return FimStrategy(entry, entry.order)
    order = next((order for order in entry.orders if order == requested), None)
    if order is None:
        raise UsageError(f"prompt {name!r}: {entry.title} has no such order; it has {', '.join(entry.orders)}")
    return FimStrategy(entry, order)


def choose(client: ModelClient, requested: str | None, *, questions: bool = False) -> PromptStrategy:
    """Return the prompt strategy for a model: the requested one, or automatically the most suitable one.

    ``auto`` (or None) takes what tells most about a model's skill at the caret:

    * raw text, where it is accepted: the FIM format that tokens and name of the model tell; left-to-right, where its
      tokens are known and belong to no format;
    * text before and after the caret apart (``fill``), where the endpoint places its sentinels itself and the format
      is not known here;
    * left-to-right, where a server was probed and has no place for a suffix;
    * a conversation, where nothing else is accepted.

    Questions are asked in a conversation wherever one is accepted, else as a text, else as the text before a caret.

    Args:
        client: The model.
        requested: The name of a strategy, ``auto`` or None.
        questions: The problems are questions, none of them a place in a program.

    Raises:
        UsageError: There is no such strategy, the model does not take such prompts, tells not what they need, or its
            format is not known; the message names a valid choice.
    """
    if requested is None or requested == AUTO:
        found = _choose_for_questions(client) if questions else _choose_for_carets(client)
    else:
        found = strategy(requested)
    # Before any request: otherwise each problem would be refused by itself.
    if questions is not isinstance(found, QuestionStrategy):
        asked = "questions" if questions else "places in programs"
        raise UsageError(f"--prompt {found.name} cannot be used here: the problems are {asked}")
    if found.kind not in client.accepts:
        raise UsageError(
            f"{client.name} takes {_kinds(client)} prompts, and {found.name} makes {found.kind} prompts; "
            f"give --prompt {_offers(client, questions=questions)}"
        )
    if reason := unreadable_reason(found, client):
        raise UsageError(f"{reason}; give --prompt {_offers(client, questions=questions)}")
    return found


def family_warning(strategy: PromptStrategy, client: ModelClient) -> str | None:
    """Return a warning where a prompt has sentinels that the model's tokenizer does not read as such; else None."""
    tokens = client.special_tokens() if isinstance(strategy, FimStrategy) else None
    if tokens is None or not isinstance(strategy, FimStrategy):
        return None
    missing = [token for token in strategy.format.identified_by if not tokens & {token, f"\u2581{token}"}]
    found = detect_format(tokens)
    if not missing:
        return None
    instead = f"; its tokens are those of fim/{found.name}" if found else ""
    return f"the model's tokenizer has no {', '.join(missing)}, which --prompt {strategy.name} writes{instead}"


def _choose_for_carets(client: ModelClient) -> PromptStrategy:
    if "text" not in client.accepts:
        return strategy("fill" if "fill" in client.accepts else "chat")
    tokens = client.special_tokens()
    name = getattr(client, "served_name", client.name)
    try:
        return strategy(f"fim/{format_for_model(name, tokens).name}")
    except UsageError as refusal:
        # A probe found that the endpoint reads a suffix, so that a model without known sentinels need not be asked left
        # to right.
        probed = getattr(client, "probed", False)
        if tokens is not None and not (probed and "fill" in client.accepts):
            return strategy("left-to-right")
        if "fill" in client.accepts:
            return strategy("fill")
        if probed:
            return strategy("left-to-right")
        raise UsageError(f"{refusal}; give --prompt {_offers(client)}") from None


def _choose_for_questions(client: ModelClient) -> PromptStrategy:
    # A program that completes knows prefix and suffix; conversations are for the models of builds.
    if client.name.startswith("command/"):
        return strategy("question-fill")
    kinds = {"chat": "question", "text": "question-text", "fill": "question-fill"}
    return strategy(next((name for kind, name in kinds.items() if kind in client.accepts), "question"))


def _kinds(client: ModelClient) -> str:
    return " and ".join(sorted(client.accepts))


def _offers(client: ModelClient, *, questions: bool = False) -> str:
    """Return the values of --prompt for this model, the formats as one."""
    ours = [
        entry.name
        for entry in BUILT_IN_STRATEGIES
        if entry.kind in client.accepts
        and isinstance(entry, QuestionStrategy) is questions
        and unreadable_reason(entry, client) is None
    ]
    return ", ".join((*ours, "fim/FAMILY") if "text" in client.accepts and not questions else ours) or "(none fits)"
