"""Probe of an endpoint: answers, use of the suffix, stop texts, and reported values.

Servers drop fields that they do not know, and answer all the same: the only way to know is to ask what a model
that does not see the suffix cannot answer. Imports nothing of Inspect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from statistics import median
from typing import Literal

from pydantic import model_validator

from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.extraction.clean import clean
from caretbench.files import read_packaged_toml
from caretbench.inspect.client.provider_errors import one_line
from caretbench.models import ModelAnswer, ModelClient, ModelFailure, ModelRequest, Sampling, TextPrompt
from caretbench.problem import Caret, Question, Row
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, QuestionStrategy, UnpromptableError

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
            # The item would prove nothing: the name could be copied from the prefix, or guessed without the suffix.
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
            lines.append(f"  {_quote(item.prefix[-40:])}")
            cases = [*zip(item.expected_names, item.answers, strict=True)]
            cases += [("(no suffix)", item.without)] if item.without is not None else []
            lines += [f"    {expected_names:<14} {_quote(answer)}" for expected_names, answer in cases]
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
            ("temperature 0", _describe_flag(self.deterministic, "equal requests, equal answers", "answers differ")),
            ("n per request", _describe_flag(self.several_per_request, "two samples by one request", "one at a time")),
            ("latency", latency),
        ]


_WARNINGS: Mapping[Verdict, str] = {
    "ignored": "{model} ignores the suffix under {prompt}: it completes left to right only",
    "refused": "{model} refuses a suffix under {prompt}: it completes left to right only",
    "not sent": "{prompt} sends no suffix: {model} is asked left to right only",
    "unclear": "whether {model} honours the suffix under {prompt} is unclear: look at the evidence",
}


def _describe_flag(flag: bool | None, yes: str, no: str) -> str:
    return "not known" if flag is None else yes if flag else no


def _quote(text: str | None) -> str:
    """Return a text of a model on one line, harmless for a terminal."""
    if text is None:
        return "-"
    # What a model wrote may hold control characters of a terminal.
    quoted = json.dumps(text[:70], ensure_ascii=not text[:70].isprintable())
    return quoted + ("…" if len(text) > 70 else "")


@cache
def items() -> tuple[ProbeItem, ...]:
    """Return the items of a probe. The data are in ``probe_items.toml``."""
    return tuple(map(ProbeItem.model_validate, read_packaged_toml("caretbench.inspect", "probe_items.toml")["items"]))


# Of the answers begin with the name that only the suffix tells. Half is enough: no answer can guess one of these names.
_HONOURED = 0.5
# Number of prefixes that are asked without a suffix too, for comparison.
_WITHOUT = 2
_SAMPLING = Sampling(max_tokens=MAX_TOKENS, temperature=0.0, top_p=None, seed=None)
_QUESTION = Question(text="How many elements has the list [1, 2, 3]?", choices=("2", "3"))
# Share of the pairs of answers that are equal, whatever the suffix. A greedy answer may still differ by chance on a
# busy server.
_IGNORED = 0.8


def probe(client: ModelClient, strategy: PromptStrategy) -> ProbeReport:
    """Send some 14 short requests and return the findings. Never raises because of the model's behaviour.

    A strategy for questions has no suffix to look for: one question shows that the model answers.

    Whether n samples come by one request can only be seen where the client asks so (``per_request``).

    Raises:
        MachineError: the client cannot ask anything (a wrong key, nobody at the address).
    """
    report = ProbeReport(model=client.name, prompt=strategy.key)
    if isinstance(strategy, QuestionStrategy):
        return _with_answer_to_question(report, client, strategy)
    try:
        requests = _requests(client, strategy)
    except UnpromptableError as error:
        return report.model_copy(update={"failure": f"the probe cannot be asked so: {error}"})
    first = requests[0]
    outcomes = list(client.submit([first]))
    failure = next((outcome for outcome in outcomes if isinstance(outcome, ModelFailure)), None)
    # A server that is not there, or a wrong key, would fail the other requests in the same way.
    if failure is not None and failure.kind != "refused":
        return report.model_copy(update={"failure": failure.message, "asked": 1})
    # A refusal may be about the suffix: then the rest of the probe is about what remains.
    remaining = requests[1:] if failure is None else [request for request in requests if request.id.endswith("/none")]
    outcomes += client.submit(remaining)
    if failure is None:
        outcomes += client.submit([first.model_copy(update={"id": "again"}), _twice(first)])
    judged = _judge(report, requests, outcomes)
    return judged.model_copy(update={"failure": failure.message}) if failure is not None else judged


def _with_answer_to_question(report: ProbeReport, client: ModelClient, strategy: QuestionStrategy) -> ProbeReport:
    prompt = strategy.render_question(_QUESTION, PromptBudget(None, len))
    [outcome, *_] = client.submit([ModelRequest(id="question", prompt=prompt, sampling=_SAMPLING)])
    findings: dict[str, object] = {"suffix": "not looked for", "asked": 1}
    if isinstance(outcome, ModelFailure):
        return report.model_copy(update=findings | {"failure": outcome.message})
    findings |= {"answered": 1, "ended": int(outcome.finish_reason not in (None, "length"))}
    findings |= {"served_by": outcome.served_by, "usage": outcome.usage is not None, **_latency([outcome])}
    return report.model_copy(update=findings)


def _requests(client: ModelClient, strategy: PromptStrategy) -> list[ModelRequest]:
    budget = PromptBudget(None, lambda text: client.count_tokens(text) or len(text) // 3)
    return [
        ModelRequest(
            id=f"{number}/{case}",
            prompt=strategy.render(Caret(language=item.language, prefix=item.prefix, suffix=suffix), budget),
            sampling=_SAMPLING,
        )
        for number, item in enumerate(items())
        for case, suffix in zip(("first", "second", "none"), (*item.suffixes, ""), strict=True)
        if case != "none" or number < _WITHOUT
    ]


def _twice(request: ModelRequest) -> ModelRequest:
    sampling = request.sampling.model_copy(update={"temperature": 0.8})
    return request.model_copy(update={"id": "twice", "samples": (0, 1), "sampling": sampling})


def _latency(answers: Iterable[ModelAnswer]) -> dict[str, float | None]:
    latencies = [answer.latency for answer in answers if answer.latency is not None]
    firsts = [latency.first_s for latency in latencies if latency.first_s is not None]
    return {
        "first_s": median(firsts) if firsts else None,
        "last_s": median(latency.last_s for latency in latencies) if latencies else None,
    }


def _judge(
    report: ProbeReport, requests: list[ModelRequest], outcomes: Iterable[ModelAnswer | ModelFailure]
) -> ProbeReport:
    every = list(outcomes)
    answers = [outcome for outcome in every if isinstance(outcome, ModelAnswer)]
    by_id = {answer.request_id: answer for answer in answers if answer.sample == 0}
    evidence = tuple(_evidence(number, item, by_id) for number, item in enumerate(items()))
    reasons = {one_line(answer.finish_reason, 40) for answer in answers if answer.finish_reason}
    again, before = by_id.get("again"), by_id.get(requests[0].id)
    return report.model_copy(
        update={
            "served_by": next((answer.served_by for answer in answers if answer.served_by), None),
            "failure": next((outcome.message for outcome in every if isinstance(outcome, ModelFailure)), None),
            "suffix": _verdict(requests, evidence),
            "evidence": evidence,
            "asked": len(every),
            "answered": len(answers),
            "ended": sum(answer.finish_reason not in (None, "length") for answer in answers),
            "repeated": _repeated(requests[0], answers),
            "finish_reasons": tuple(sorted(reasons)),
            "usage": any(answer.usage is not None for answer in answers),
            "deterministic": again.text == before.text if again and before else None,
            "several_per_request": _together([answer for answer in answers if answer.request_id == "twice"]),
            **_latency(answers),
        }
    )


def _evidence(number: int, item: ProbeItem, by_id: Mapping[str, ModelAnswer]) -> ProbeEvidence:
    first, second, without = (
        _cleaned(by_id.get(f"{number}/{case}"), item, suffix)
        for case, suffix in zip(("first", "second", "none"), (*item.suffixes, ""), strict=True)
    )
    return ProbeEvidence(prefix=item.prefix, expected_names=item.answers, answers=(first, second), without=without)


def _cleaned(answer: ModelAnswer | None, item: ProbeItem, suffix: str) -> str | None:
    """Return the answer without the wrapping that chat models put around code."""
    if answer is None or answer.text is None:
        return None
    caret = Caret(language=item.language, prefix=item.prefix, suffix=suffix)
    # A model that writes sentinels takes them for text: without them its answer would fit.
    text = clean(answer.text, Surroundings.from_caret(caret), keeps_special_tokens=True).text
    return text.removeprefix(item.prefix)


def _verdict(requests: list[ModelRequest], evidence: tuple[ProbeEvidence, ...]) -> Verdict:
    if requests[0].prompt == requests[1].prompt:
        return "not sent"
    pairs = [item for item in evidence if None not in item.answers]
    if not pairs:
        return "refused" if any(item.without is not None for item in evidence) else "unclear"
    if sum(item.matching_answers for item in pairs) >= _HONOURED * 2 * len(pairs):
        return "honoured"
    suffix_ignored = sum(item.suffix_ignored for item in pairs)
    if not any(item.answers_with_name for item in pairs) and suffix_ignored >= _IGNORED * len(pairs):
        return "ignored"
    return "unclear"


def _repeated(request: ModelRequest, answers: list[ModelAnswer]) -> int:
    """Return the number of answers with a sentinel of the prompt. None of our items contains such a text."""
    if not isinstance(request.prompt, TextPrompt):
        return 0
    sentinels = set(re.findall(r"<[^<>\s]{3,40}>", request.prompt.text))
    return sum(any(sentinel in (answer.text or "") for sentinel in sentinels) for answer in answers)


def _together(answers: list[ModelAnswer]) -> bool | None:
    if not answers:
        return None
    usage = answers[0].usage
    if usage is not None and usage.answers > 1:
        return True
    # Without usage: answers of one request have one latency, to the last digit.
    return len(answers) > 1 and answers[0].latency is not None and answers[0].latency == answers[1].latency
