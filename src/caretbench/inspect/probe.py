"""Probe of an endpoint: answers, use of the suffix, stop texts, and reported values.

Servers drop fields that they do not know, and answer all the same: the only way to know is to ask what a model
that does not see the suffix cannot answer. Imports nothing of Inspect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from statistics import median

from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.extraction.clean import clean
from caretbench.inspect.client.provider_errors import one_line
from caretbench.inspect.probe_report import MAX_TOKENS, ProbeEvidence, ProbeItem, ProbeReport, Verdict, items
from caretbench.models import ModelAnswer, ModelClient, ModelFailure, ModelRequest, Sampling, TextPrompt
from caretbench.problem import Caret, Question
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, QuestionStrategy, UnpromptableError

_HONOURED = 0.5  # of the answers begin with the name that only the suffix tells
_WITHOUT = 2  # prefixes are asked without a suffix too, for comparison
_SAMPLING = Sampling(max_tokens=MAX_TOKENS, temperature=0.0, top_p=None, seed=None)
_QUESTION = Question(text="How many elements has the list [1, 2, 3]?", choices=("2", "3"))
_IGNORED = 0.8  # of the pairs of answers are equal, whatever the suffix


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
    failure = next((one for one in outcomes if isinstance(one, ModelFailure)), None)
    if failure is not None and failure.kind != "refused":
        return report.model_copy(update={"failure": failure.message, "asked": 1})
    # A refusal may be about the suffix: then the rest of the probe is about what remains.
    remaining = requests[1:] if failure is None else [one for one in requests if one.id.endswith("/none")]
    outcomes += client.submit(remaining)
    if failure is None:
        outcomes += client.submit([_again(first), _twice(first)])
    found = _judge(report, requests, outcomes)
    return found.model_copy(update={"failure": failure.message}) if failure is not None else found


def _with_answer_to_question(report: ProbeReport, client: ModelClient, strategy: QuestionStrategy) -> ProbeReport:
    prompt = strategy.render_question(_QUESTION, PromptBudget(None, len))
    [outcome, *_] = client.submit([ModelRequest(id="question", prompt=prompt, sampling=_SAMPLING)])
    found: dict[str, object] = {"suffix": "not looked for", "asked": 1}
    if isinstance(outcome, ModelFailure):
        return report.model_copy(update=found | {"failure": outcome.message})
    found |= {"answered": 1, "ended": int(outcome.finish_reason not in (None, "length"))}
    found |= {"served_by": outcome.served_by, "usage": outcome.usage is not None, **_latency([outcome])}
    return report.model_copy(update=found)


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


def _again(request: ModelRequest) -> ModelRequest:
    return request.model_copy(update={"id": "again"})


def _twice(request: ModelRequest) -> ModelRequest:
    sampling = request.sampling.model_copy(update={"temperature": 0.8})
    return request.model_copy(update={"id": "twice", "samples": (0, 1), "sampling": sampling})


def _latency(answers: Iterable[ModelAnswer]) -> dict[str, float | None]:
    latencies = [one.latency for one in answers if one.latency is not None]
    firsts = [latency.first_s for latency in latencies if latency.first_s is not None]
    return {
        "first_s": median(firsts) if firsts else None,
        "last_s": median(latency.last_s for latency in latencies) if latencies else None,
    }


def _judge(
    report: ProbeReport, requests: list[ModelRequest], outcomes: Iterable[ModelAnswer | ModelFailure]
) -> ProbeReport:
    every = list(outcomes)
    answers = [one for one in every if isinstance(one, ModelAnswer)]
    by_id = {one.request_id: one for one in answers if one.sample == 0}
    evidence = tuple(_evidence(number, item, by_id) for number, item in enumerate(items()))
    again, before = by_id.get("again"), by_id.get(requests[0].id)
    return report.model_copy(
        update={
            "served_by": next((one.served_by for one in answers if one.served_by), None),
            "failure": next((one.message for one in every if isinstance(one, ModelFailure)), None),
            "suffix": _verdict(requests, evidence),
            "evidence": evidence,
            "asked": len(every),
            "answered": len(answers),
            "ended": sum(one.finish_reason not in (None, "length") for one in answers),
            "repeated": _repeated(requests[0], answers),
            "finish_reasons": tuple(sorted({one_line(one.finish_reason, 40) for one in answers if one.finish_reason})),
            "usage": any(one.usage is not None for one in answers),
            "deterministic": again.text == before.text if again and before else None,
            "several_per_request": _together([one for one in answers if one.request_id == "twice"]),
            **_latency(answers),
        }
    )  # fmt: skip


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
    return clean(answer.text, Surroundings.from_caret(caret)).text.removeprefix(item.prefix)


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
    return sum(any(sentinel in (one.text or "") for sentinel in sentinels) for one in answers)


def _together(answers: list[ModelAnswer]) -> bool | None:
    if not answers:
        return None
    usage = answers[0].usage
    if usage is not None and usage.answers > 1:
        return True
    # Without usage: answers of one request have one latency, to the last digit.
    return len(answers) > 1 and answers[0].latency is not None and answers[0].latency == answers[1].latency
