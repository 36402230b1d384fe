"""Registry of prompt strategies (ours, one per FIM format, plug-ins), and the choice of one for a model.

Strategies for carets without a FIM format stand here: ``chat``, ``natural``, ``devbench-paper``, ``left-to-right``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, get_args

from caretbench.errors import UsageError, did_you_mean
from caretbench.languages import Language
from caretbench.models import ChatPrompt, FillPrompt, ModelClient, Prompt, PromptKind, TextPrompt
from caretbench.plugins import Plugin, Version, installed_plugins, load_plugin
from caretbench.problem import Caret
from caretbench.prompts.fim.families import FimStrategy, detect_format, fim_formats, fim_strategies, format_for_model
from caretbench.prompts.question import (
    ChatQuestionStrategy,
    FillQuestionStrategy,
    LikeliestLetterStrategy,
    TextQuestionStrategy,
)
from caretbench.prompts.strategy import (
    PromptBudget,
    PromptParts,
    PromptStrategy,
    QuestionStrategy,
    UnpromptableError,
    fit_to_budget,
    render_within_budget,
    unreadable_reason,
)
from caretbench.prompts.templating import (
    as_line_comments,
    caret_language,
    caret_marker,
    caret_texts,
    code_fence,
    describe_position,
    describe_suffix,
    fenced_files,
    render_conversation,
    unique_tags,
    worked_examples,
)

PAPER_MARKER = "#TODO: You Code Here"


class ChatStrategy(PromptStrategy):
    """Chat strategy that shows the program in a code fence, with a comment that marks the caret.

    What is asked for does not depend on the kind of problem: where a comment is wanted, the text around the caret
    says so, or the caret's instruction.
    """

    name = "chat"
    version = 1
    kind = "chat"

    def render(self, caret: Caret, budget: PromptBudget) -> ChatPrompt:
        """Return the chat prompt: the program in a code fence, with a marker at the caret."""
        language = caret_language(caret)
        fixed = _fixed_values(caret, language) | {"marker": caret_marker(caret, language)}

        def values(parts: PromptParts) -> Mapping[str, object]:
            around = {
                "place": describe_position(parts.prefix),
                "following": describe_suffix(parts.prefix, parts.suffix),
            }
            return fixed | _shown_values(caret, parts) | around | {"files": fenced_files(parts.files)}

        return render_conversation(self.name, caret, budget, values)


class NaturalLanguageStrategy(PromptStrategy):
    """Chat strategy for general models: prefix and suffix between tags, and an instruction to fill the middle.

    The content is that of the prompt in appendix D of the Codev-Bench paper (file name, text before and after the
    caret, a worked example, how much to write); the words are ours.
    """

    name = "natural"
    version = 1
    kind = "chat"

    def render(self, caret: Caret, budget: PromptBudget) -> ChatPrompt:
        """Return prefix and suffix in separate tags, with a request for the middle."""
        language = caret_language(caret)
        texts = (*caret_texts(caret), *worked_examples()[language.name])
        fixed = _fixed_values(caret, language) | {"tags": unique_tags(("path", "file", "prefix", "suffix"), texts)}

        def values(parts: PromptParts) -> Mapping[str, object]:
            return fixed | _shown_values(caret, parts) | {"files": parts.files}

        return render_conversation(self.name, caret, budget, values)


class DevBenchPaperStrategy(PromptStrategy):
    """Chat strategy modelled on the prompt of DevBench's released code, for comparison with the paper.

    Its oddities are part of it, since they decide what models answer: the fence says ``python`` and the marker is a
    Python comment in every language, the lines of the system prompt are indented by twelve blanks, and all three
    worked examples answer with an indentation that is there already, the second with a line too many besides. It has
    no place for an instruction, nor for other files.
    """

    name = "devbench-paper"
    version = 1
    kind = "chat"
    takes_instructions = False

    def render(self, caret: Caret, budget: PromptBudget) -> ChatPrompt:
        """Return the chat prompt: the program in a Python fence, with the released code's marker at the caret."""
        if caret.instruction or caret.context:
            raise UnpromptableError(f"{self.name} has no place for an instruction or for other files")
        # The released marker has no number: with two of them, the model could not know which place is meant.
        if (caret.prefix + PAPER_MARKER + caret.suffix).count(PAPER_MARKER) > 1:
            raise UnpromptableError(f"the text holds the marker {PAPER_MARKER!r}")

        def values(parts: PromptParts) -> Mapping[str, object]:
            return {"marker": PAPER_MARKER, "prefix": parts.prefix, "suffix": parts.suffix}

        return render_conversation(self.name, caret, budget, values)


def _fixed_values(caret: Caret, language: Language) -> dict[str, object]:
    """Return the values of a template that do not depend on how much fits."""
    return {
        "title": language.title,
        "tag": language.fence,
        "fence": code_fence(caret_texts(caret)),
        "example": worked_examples()[language.name],
        "path": caret.path,
        "instruction": caret.instruction,
    }


def _shown_values(caret: Caret, parts: PromptParts) -> dict[str, object]:
    return {
        "prefix": parts.prefix,
        "suffix": parts.suffix,
        "shortened_before": parts.prefix != caret.prefix,
        "shortened_after": parts.suffix != caret.suffix,
    }


class LeftToRightStrategy(PromptStrategy):
    """Strategy for base models without sentinels: the text before the caret. The suffix is not shown.

    Blanks that a tokenizer joins to what follows are left to the model, and taken off the beginning of its answer: all
    behind code of the last line, the last one of indentation, and the line ends at the end (:func:`_joined_blanks`).
    There are no stop strings: the model's own end of text, ``max_tokens`` and the truncation policy end an answer.
    """

    name = "left-to-right"
    version = 3
    kind = "text"

    def render(self, caret: Caret, budget: PromptBudget) -> TextPrompt:
        """Return the prefix, after the instruction as a comment and other files headed by path comments."""
        # A model without a prompt writes anything, and nothing of it is about the caret.
        if not caret.prefix:
            raise UnpromptableError("no text stands before the caret, so that there is nothing to continue")
        language = caret_language(caret) if caret.context or caret.instruction else None

        def rendered(parts: PromptParts) -> str:
            before = _text_before(caret, parts, language) if language is not None else ""
            return before + parts.prefix

        text = render_within_budget(PromptParts(caret.prefix, "", caret.context), budget, rendered)
        shown = text[: len(text) - _joined_blanks(text)]
        return TextPrompt(text=shown, blanks=text[len(shown) :])


def _joined_blanks(text: str) -> int:
    """Return how many of the last characters of a text a model should write itself.

    Of SmolLM2's greedy answers at 40 carets of HumanEval-Infilling each, right lines: behind line ends 0 with them
    shown and 9 without; behind indentation 0 with all shown, 8 without the last blank, and 6 without all of it, since
    the model must know how deep the caret is.
    """
    code = len(text.rstrip())
    # A text of blanks alone is no place to go on from.
    if not code:
        return 0
    indentation = len(text) - len(text.rstrip(" \t"))
    behind_line = indentation and len(text) - indentation > code
    return 1 if behind_line else len(text) - code


class FillStrategy(PromptStrategy):
    """Strategy for FIM endpoints that insert sentinels themselves; sends prefix and suffix separately."""

    name = "fill"
    version = 1
    kind = "fill"

    def render(self, caret: Caret, budget: PromptBudget) -> FillPrompt:
        """Return prefix and suffix within the budget; the endpoint's sentinels and template are not counted."""
        overhead = "\n".join(text for text in (caret.path, caret.instruction) if text)
        parts = fit_to_budget(PromptParts(caret.prefix, caret.suffix, caret.context), budget, overhead)
        return FillPrompt(**parts._asdict(), language=caret.language, path=caret.path, instruction=caret.instruction)


def _text_before(caret: Caret, parts: PromptParts, language: Language) -> str:
    files = [
        f"{as_line_comments(file.path, language)}{file.text}{'' if file.text.endswith(chr(10)) else chr(10)}\n"
        for file in parts.files
    ]
    path = as_line_comments(caret.path, language) if caret.path and files else ""
    return "".join(files) + path + as_line_comments(caret.instruction or "", language)


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
        fault, render = "failed to render a prompt", self._strategy.render
        prompt = self._plugin.call(fault, render, caret, budget, passed=(UnpromptableError,))
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
        value = plugin.call("cannot be made", value)
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
        changed = self._plugin.call("failed on a caret", self._change, caret, passed=(UnpromptableError,))
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
        entry = Preprocessor(plugin, plugin.value)
        if name in {entry.name, entry.key}:
            return entry
        raise UsageError(f"preprocessor {name!r}: there is {entry.key} only")
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


def get_strategy(name: str) -> PromptStrategy:
    """Return the strategy with this name (``chat``) or key (``chat@1``), or that of a plug-in (``module:object`` too).

    ``fim/FAMILY`` is a FIM format in its family's own order; ``fim/FAMILY:psm`` and ``:spm`` name the order.

    Raises:
        UsageError: No such strategy, or not in this version; the message lists the known ones.
        PluginError: A plug-in cannot be used.
    """
    requested, at, _ = name.partition("@")
    named: PromptStrategy | None
    if requested.startswith(_FIM):
        named = _find_fim_strategy(requested)
    elif (plugin := load_plugin(STRATEGY_ENTRY_POINT_GROUP, requested, _TAKEN)) is not None:
        named = plugin_strategy(plugin)
    else:
        named = _BY_NAME.get(requested)
    if named is None:
        known, guess = ", ".join(strategies()), did_you_mean(name, strategies())
        raise UsageError(f"unknown prompt {name!r}{guess}; known: {known}; or give module:object")
    if at and name != f"{requested}@{named.version}":
        raise UsageError(f"prompt {name!r} is not known in this version; there is {named.key}")
    return named


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
        chosen = _choose_for_questions(client) if questions else _choose_for_carets(client)
    else:
        chosen = get_strategy(requested)
    # Before any request: otherwise each problem would be refused by itself.
    if questions is not isinstance(chosen, QuestionStrategy):
        asked = "questions" if questions else "places in programs"
        raise UsageError(f"--prompt {chosen.name} cannot be used here: the problems are {asked}")
    if chosen.kind not in client.accepts:
        kinds = " and ".join(sorted(client.accepts))
        raise UsageError(
            f"{client.name} takes {kinds} prompts, and {chosen.name} makes {chosen.kind} prompts; "
            f"give --prompt {_offers(client, questions=questions)}"
        )
    if reason := unreadable_reason(chosen, client):
        raise UsageError(f"{reason}; give --prompt {_offers(client, questions=questions)}")
    return chosen


def family_warning(strategy: PromptStrategy, client: ModelClient) -> str | None:
    """Return a warning where a prompt has sentinels that the model's tokenizer does not read as such; else None."""
    tokens = client.special_tokens() if isinstance(strategy, FimStrategy) else None
    if tokens is None or not isinstance(strategy, FimStrategy):
        return None
    missing = [token for token in strategy.format.identified_by if not tokens & {token, f"\u2581{token}"}]
    detected = detect_format(tokens)
    if not missing:
        return None
    instead = f"; its tokens are those of fim/{detected.name}" if detected else ""
    return f"the model's tokenizer has no {', '.join(missing)}, which --prompt {strategy.name} writes{instead}"


def _choose_for_carets(client: ModelClient) -> PromptStrategy:
    if "text" not in client.accepts:
        return get_strategy("fill" if "fill" in client.accepts else "chat")
    tokens = client.special_tokens()
    name = getattr(client, "served_name", client.name)
    try:
        # Before an endpoint of the server: llama.cpp's `/infill` silently cuts long prefixes at its batch size.
        return get_strategy(f"fim/{format_for_model(name, tokens).name}")
    except UsageError as refusal:
        # A probe found that the endpoint reads a suffix, so that a model without known sentinels need not be asked left
        # to right.
        probed = getattr(client, "probed", False)
        if tokens is not None and not (probed and "fill" in client.accepts):
            return get_strategy("left-to-right")
        if "fill" in client.accepts:
            return get_strategy("fill")
        if probed:
            return get_strategy("left-to-right")
        raise UsageError(f"{refusal}; give --prompt {_offers(client)}") from None


def _choose_for_questions(client: ModelClient) -> PromptStrategy:
    # A program that completes knows prefix and suffix; conversations are for the models of builds.
    if client.name.startswith("command/"):
        return get_strategy("question-fill")
    kinds = {"chat": "question", "text": "question-text", "fill": "question-fill"}
    return get_strategy(next((name for kind, name in kinds.items() if kind in client.accepts), "question"))


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
