"""Truncation policies: named, versioned rules from a model's raw text to the text inserted at the caret.

A policy uses only the text that the model was shown, never the reference or the tests. Every score contains its key
(``syntax@4``); a change of behaviour needs a new version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from caretbench.errors import UsageError, did_you_mean
from caretbench.extraction.block_end import (
    balance_brackets,
    cut_at_block_end,
    longest_parsing_cut_with_suffix,
    with_plain_line_ends,
    without_prefix_repetition,
    without_suffix_repetition,
)
from caretbench.extraction.caret_surroundings import MAX_TEXT_CHARACTERS, Surroundings, reindent
from caretbench.extraction.clean import CLEANING_STEPS, strip_released_fence, without_reasoning, without_special_tokens
from caretbench.extraction.cuts import cut_to_same_block, first_line, longest_parsing_cut, without_suffix_overlap
from caretbench.extraction.legacy_cuts import (
    crosscodeeval_statement,
    safim_api_call,
    safim_block,
    safim_control,
    safim_cut,
)
from caretbench.extraction.released_steps import (
    answer_as_published,
    clean_as_released,
    last_fenced_block,
    repair_as_released,
    trim_as_released,
)
from caretbench.plugins import Plugin, Version, installed_plugins, load_plugin
from caretbench.problem import Caret
from caretbench.syntax.parser import LONG_TEXT, TOO_SLOW_TEXT, unparsed

DEFAULT_POLICY = "syntax"

MAX_RAW_CHARACTERS: Final = 500_000
"""Maximum number of characters of a raw text, reasoning included."""

_GROUP: Final = "caretbench.policies"
REFUSED: Final = "refused: "
"""Beginning of the reasons for which a text is refused."""
TOO_SLOW: Final = f"{REFUSED}{TOO_SLOW_TEXT}"
"""Reason that is this machine's fault, not the answer's."""

_Step = Callable[[str, Surroundings], str]


class ExtractedText(NamedTuple):
    """Text for the caret, and the names of the steps that changed the raw text.

    A text that is too long, or takes too much to parse, is refused: it is empty then, and the only step is the reason.
    """

    text: str
    steps: tuple[str, ...] = ()

    @property
    def refusal(self) -> str | None:
        """Return the reason for which the text was refused; None if it was not."""
        return self.steps[0] if self.steps and self.steps[0].startswith(REFUSED) else None


@dataclass(frozen=True)
class Policy:
    """Truncation policy: ``steps`` from raw text to inserted text. With ``cleans``, :func:`clean` is the first step."""

    name: str
    version: Version
    description: str
    cleans: bool = False
    steps: tuple[tuple[str, _Step], ...] = ()

    @property
    def key(self) -> str:
        """Name and version, ``syntax@4``."""
        return f"{self.name}@{self.version}"

    def apply(self, text: str, caret: Caret, after: str | None = None) -> ExtractedText:
        """Return the text to insert at ``caret``.

        ``after`` is the text after the caret, if it is longer than the shown suffix (a prompt that was shortened to its
        budget). It must not contain hidden assertions.
        """
        return _apply(self, text, Surroundings.from_caret(caret, after))


@lru_cache(maxsize=16_384)
def _apply(policy: Policy, text: str, surroundings: Surroundings) -> ExtractedText:
    """Return the extracted text; cached, since samples of one problem are often equal."""
    done: list[str] = []
    # 46 shapes of texts are tested to take time that grows linearly up to this length.
    if refusal := length_refusal(text, MAX_RAW_CHARACTERS):
        return ExtractedText("", (refusal,))
    if reason := _unparsed(policy, text, surroundings):
        return ExtractedText("", (f"{REFUSED}{reason}",))
    # An end token that a server left is no text of the answer, under any policy.
    first = CLEANING_STEPS if policy.cleans else (("special tokens removed", without_special_tokens),)
    for name, step in (*first, *policy.steps):
        # Only reasoning may be longer than an answer; the other steps take time that grows with the text, and what is
        # too long is refused below.
        if step is not without_reasoning and len(text) > MAX_TEXT_CHARACTERS:
            break
        shorter = step(text, surroundings)
        if shorter != text:
            text = shorter
            done.append(name)
    if refusal := length_refusal(text, MAX_TEXT_CHARACTERS):
        return ExtractedText("", (refusal,))
    return ExtractedText(text, tuple(done))


def _unparsed(policy: Policy, text: str, surroundings: Surroundings) -> str | None:
    """Return why a text, without its reasoning where that is removed, is not parsed; None if it is, or is short."""
    rest = without_reasoning(text, surroundings) if policy.cleans else text
    # No step parses more than this beginning.
    head = rest[:MAX_TEXT_CHARACTERS]
    # Both are parsed by steps: the text alone for its brackets, the program for its faults.
    forms = (head, surroundings.program(head)) if len(head) >= LONG_TEXT else ()
    return unparsed(forms, surroundings.language)


def length_refusal(text: str, most: int) -> str | None:
    """Return the reason for which a text of more than ``most`` characters is refused; None if it is shorter."""
    if len(text) <= most:
        return None
    return f"{REFUSED}the answer has {len(text):,} characters, more than {most:,}"


def _released(text: str, surroundings: Surroundings) -> str:  # noqa: ARG001  the released code looked at the text alone
    return strip_released_fence(text)


_SYNTAX: tuple[str, _Step] = ("cut where the program parses", longest_parsing_cut)

_RELEASED_STEPS: tuple[tuple[str, _Step], ...] = (
    ("cleaned as released", clean_as_released),
    ("trimmed as released", trim_as_released),
    ("repaired as released", repair_as_released),
)

_POLICIES = (
    Policy("raw", 2, "The text as it came, up to an end token that a server left in it."),
    Policy("released", 2,
           "What DevBench's released code did when texts came: a closed fence around the whole text goes.",
           steps=(("fence removed", _released),)),
    Policy("clean", 3, "Without reasoning, fences and prose around the code; nothing is cut.", cleans=True),
    Policy("first_line", 3, "Cleaned, then its first line that is not blank.", cleans=True,
           steps=(("cut after the first line", first_line),)),
    Policy("same_block", 3,
           "Cleaned, then cut where the text leaves the caret's block (indentation in Python, else brackets).",
           cleans=True, steps=(("cut at the end of the block", cut_to_same_block),)),
    Policy("syntax", 4, "Cleaned, then the longest line-wise beginning with which the program parses; if none, all.",
           cleans=True, steps=(_SYNTAX,)),
    Policy("syntax_overlap", 4, "Cleaned, last lines that repeat the beginning of the suffix removed, then as syntax.",
           cleans=True, steps=(("repetition of the suffix removed", without_suffix_overlap), _SYNTAX)),
    Policy("block", 9,
           "Cleaned, repetitions of what is shown removed, cut at the end of the caret's block, closed where needed.",
           cleans=True, steps=(
               ("line ends changed", with_plain_line_ends),
               ("repetition of the prefix removed", without_prefix_repetition),
               ("moved to the caret's indentation", reindent),
               ("repetition of the suffix removed", without_suffix_repetition),
               ("cut at the end of the block", cut_at_block_end),
               ("brackets closed", balance_brackets),
               ("cut where the program parses", longest_parsing_cut_with_suffix),
           )),
    Policy("simcopilot/clean", 3,
           "SimCopilot's released first step: the fenced block, else lines that look like code, without comments.",
           steps=_RELEASED_STEPS[:1]),
    Policy("simcopilot/trim", 3,
           "SimCopilot's released first two steps: then without lines that stand in prefix or suffix.",
           steps=_RELEASED_STEPS[:2]),
    Policy("simcopilot/repair", 3,
           "SimCopilot's three released steps: then indentation (Python) or the number of brackets repaired.",
           steps=_RELEASED_STEPS),
    Policy("codevbench/answer", 2,
           "Codev-Bench's published cut: of an answer with fences the last closed block, else all up to an end token.",
           steps=(("cut as published", answer_as_published),)),
    Policy("codevbench/chat", 2,
           "Codev-Bench's published cut of chat answers: the last closed fenced block, and nothing without one.",
           steps=(("last fenced block", last_fenced_block),)),
    Policy("legacy/safim", 1, "SAFIM's cut, by the kind of hole of each problem: one of the next three.",
           steps=(("cut as SAFIM does", safim_cut),)),
    Policy("legacy/safim-block", 1,
           "SAFIM's cut of blocks: last lines go until the answer only adds nodes to the program.",
           steps=(("cut as SAFIM does", safim_block),)),
    Policy("legacy/safim-control", 1,
           "SAFIM's cut of control expressions: the first line (Python), or all before a bracket that it did not open.",
           steps=(("cut as SAFIM does", safim_control),)),
    Policy("legacy/safim-api", 1, "SAFIM's cut of calls: up to the bracket that closes the first call.",
           steps=(("cut as SAFIM does", safim_api_call),)),
    Policy("legacy/cceval", 1, "CrossCodeEval's cut: the first statement.",
           steps=(("first statement", crosscodeeval_statement),)),
)  # fmt: skip

POLICIES: Mapping[str, Policy] = MappingProxyType({entry.name: entry for entry in _POLICIES})
"""All policies by name."""


def policy_names() -> tuple[str, ...]:
    """Return the names of all policies; those of installed plug-ins are last."""
    return (*POLICIES, *installed_plugins(_GROUP, POLICIES))


def get_policy(name: str = DEFAULT_POLICY) -> Policy:
    """Return the policy with this name (``syntax``) or key (``syntax@4``), or that of a plug-in (``module:object``).

    Raises:
        UsageError: no such policy, or not in this version; the message lists the known ones.
        PluginError: a plug-in cannot be used.
    """
    bare_name, _, _ = name.partition("@")
    plugin = load_plugin(_GROUP, bare_name, POLICIES)
    named = POLICIES.get(bare_name) if plugin is None else _of_plugin(plugin)
    if named is None or name not in {named.name, named.key}:
        keys = (*(entry.key for entry in _POLICIES), *installed_plugins(_GROUP, POLICIES))
        offered = did_you_mean(bare_name, policy_names()) if named is None else f" (there is {named.key})"
        raise UsageError(f"unknown truncation policy {name!r}{offered}; known: {', '.join(keys)}")
    return named


def _of_plugin(plugin: Plugin) -> Policy:
    """Return a plug-in's policy under the requested name; a plug-in is a :class:`Policy` or one step as a function."""
    value = plugin.value
    if isinstance(value, Policy):
        steps = tuple((done, _Guarded(plugin, step)) for done, step in value.steps)
        # Under the name that the user wrote, which is stored in every score: another plug-in's Policy may have the same
        # name.
        return replace(value, name=plugin.name, version=plugin.version_of(value), steps=steps)
    if not callable(value) or isinstance(value, type):
        raise plugin.error(
            f"expected a caretbench.extraction.Policy, or a function of (text, surroundings), got {value!r:.80}"
        )
    description = " ".join((value.__doc__ or "A user's own policy.").split())
    step = (f"cut by {plugin.name}", _Guarded(plugin, value))
    return Policy(plugin.name, plugin.version_of(value), description, steps=(step,))


@dataclass(frozen=True, eq=False)
class _Guarded:
    """Step of a plug-in that reports errors in one line with its name. Compared by identity: it may be unhashable."""

    plugin: Plugin
    step: _Step

    def __call__(self, text: str, surroundings: Surroundings) -> str:
        shorter = self.plugin.call(f"failed on a text of {len(text)} characters", self.step, text, surroundings)
        # None, for a step without a `return`, would be taken for an answer without text.
        if not isinstance(shorter, str):
            raise self.plugin.error(f"returned {shorter!r:.80} instead of a text")
        return shorter
