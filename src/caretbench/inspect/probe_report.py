"""Items and findings of a probe, as data and as text. Imports nothing of Inspect."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import model_validator

from caretbench.inspect.client.provider_errors import one_line
from caretbench.problem import Row

Verdict = Literal["honoured", "ignored", "refused", "not sent", "not looked for", "unclear"]
"""Use of the suffix. ``refused``: the endpoint answers only without one. ``not sent``: the prompt has none.
``not looked for``: the prompts are questions."""

MAX_TOKENS = 32
"""Maximum tokens of each answer."""


class ProbeItem(Row):
    """One prefix, two suffixes, and the name that each of them requires at the caret."""

    language: str
    prefix: str
    suffixes: tuple[str, str]
    answers: tuple[str, str]

    @model_validator(mode="after")
    def _unguessable(self) -> ProbeItem:
        for answer, suffix in zip(self.answers, self.suffixes, strict=True):
            if answer not in suffix or answer in self.prefix:
                raise ValueError(f"{answer} must stand in its suffix, and not in the prefix")
        return self


class ProbeEvidence(Row):
    """Answers to one prefix with each of two suffixes, and without a suffix (``without``); None: no answer."""

    prefix: str
    expected_names: tuple[str, str]
    answers: tuple[str | None, str | None]
    without: str | None

    @property
    def matching_answers(self) -> int:
        """Number of the two answers that begin with the name required by the suffix."""
        return sum(
            bool(re.match(rf"\W*{re.escape(name)}\b", answer or ""))
            for name, answer in zip(self.expected_names, self.answers, strict=True)
        )

    @property
    def answers_with_name(self) -> int:
        """Number of the two answers that contain the name required by the suffix."""
        return sum(name in (answer or "") for name, answer in zip(self.expected_names, self.answers, strict=True))

    @property
    def suffix_ignored(self) -> bool:
        """Return whether both suffixes got the same answer."""
        return self.answers[0] is not None and self.answers[0] == self.answers[1]


class ProbeReport(Row):
    """Findings of a probe. ``render`` returns them as text."""

    model: str
    prompt: str
    served_by: str | None = None
    failure: str | None = None
    """Reason for which all requests, or all requests with a suffix, got no answer."""
    suffix: Verdict = "unclear"
    evidence: tuple[ProbeEvidence, ...] = ()
    asked: int = 0
    answered: int = 0
    ended: int = 0
    """Answers that ended before ``max_tokens``."""
    repeated: int = 0
    """Number of answers with a sentinel as text, a sign that the model does not know the sentinel."""
    finish_reasons: tuple[str, ...] = ()
    usage: bool = False
    deterministic: bool | None = None
    """True if two equal requests at temperature 0 had equal answers."""
    several_per_request: bool | None = None
    """True if one request returned two samples; None: no answer."""
    first_s: float | None = None
    last_s: float | None = None

    @property
    def answers(self) -> bool:
        """Return whether at least one request got an answer."""
        return self.answered > 0

    @property
    def warning(self) -> str | None:
        """One-line warning about using this model; None if all is well."""
        if not self.answers:
            return f"{self.model} does not answer: {self.failure}"
        if self.repeated and self.suffix != "honoured":
            return (
                f"{self.model} takes the sentinels of {self.prompt} for text: {self.repeated} answers repeat them; "
                "it was not made for this format"
            )
        return _WARNINGS.get(self.suffix, "").format(model=self.model, prompt=self.prompt) or None

    def render(self) -> str:
        """Return the report as plain text, with the evidence."""
        rows = [("answers", f"{self.answered} of {self.asked}" + self._served()), *self._findings()]
        width = max(len(name) for name, _ in rows)
        lines = [f"{self.model}, asked by {self.prompt}"]
        lines += [f"  {name:<{width}}  {finding}" for name, finding in rows]
        if not self.answers:
            return "\n".join(lines) + "\n"
        lines += [f"  ! {self.warning}"] if self.warning else []
        if self.evidence:
            lines += ["", "Evidence: the answer to each prefix, by what the suffix wants there"]
        for item in self.evidence:
            lines.append(f"  {_shown(item.prefix[-40:])}")
            cases = [*zip(item.expected_names, item.answers, strict=True)]
            cases += [("(no suffix)", item.without)] if item.without is not None else []
            lines += [f"    {expected_names:<14} {_shown(answer)}" for expected_names, answer in cases]
        return "\n".join(lines) + "\n"

    def _served(self) -> str:
        return f", served by {one_line(self.served_by, 80)}" if self.served_by else ""

    def _findings(self) -> list[tuple[str, str]]:
        if not self.answers:
            return [("why", self.failure or "nothing came")]
        total = 2 * len(self.evidence)
        matching_answers = sum(item.matching_answers for item in self.evidence)
        reasons = ", ".join(self.finish_reasons)
        latency = "not measured"
        if self.last_s is not None:
            first = f"{self.first_s:.2f} s to the first token, " if self.first_s is not None else ""
            latency = f"{first}{self.last_s:.2f} s to the last (medians)"
        used = f"{self.suffix}: {matching_answers} of {total} answers begin with what only the suffix tells"
        return [
            ("suffix", used if self.evidence else "not looked for: the problems are questions"),
            ("stops", f"{self.ended} of {self.answered} answers ended within {MAX_TOKENS} tokens"),
            ("finish reason", reasons or "not reported"),
            ("usage", "reported" if self.usage else "not reported: tokens and cost will be unknown"),
            ("temperature 0", _say(self.deterministic, "equal requests, equal answers", "answers differ")),
            ("n per request", _say(self.several_per_request, "two samples by one request", "one at a time")),
            ("latency", latency),
        ]


_WARNINGS: Mapping[Verdict, str] = {
    "ignored": "{model} ignores the suffix under {prompt}: it completes left to right only",
    "refused": "{model} refuses a suffix under {prompt}: it completes left to right only",
    "not sent": "{prompt} sends no suffix: {model} is asked left to right only",
    "unclear": "whether {model} honours the suffix under {prompt} is unclear: look at the evidence",
}


def _say(found: bool | None, yes: str, no: str) -> str:
    return "not known" if found is None else yes if found else no


def _shown(text: str | None) -> str:
    """Return a text of a model on one line, harmless for a terminal."""
    if text is None:
        return "-"
    quoted = json.dumps(text[:70], ensure_ascii=not text[:70].isprintable())
    return quoted + ("…" if len(text) > 70 else "")


@cache
def items() -> tuple[ProbeItem, ...]:
    """Return the items of a probe. The data are in ``probe_items.toml``."""
    text = resources.files("caretbench.inspect").joinpath("probe_items.toml").read_text("utf-8")
    return tuple(ProbeItem.model_validate(entry) for entry in tomllib.loads(text)["items"])
