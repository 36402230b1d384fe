"""The probe against models that honour, ignore or refuse a suffix: made up ones, and servers on a socket."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import pytest

from caretbench.inspect.client.client_factory import open_client
from caretbench.inspect.probe import ProbeItem, ProbeReport, items, probe
from caretbench.models import ClientOptions, FillPrompt, ModelAnswer, ModelFailure, ModelRequest
from caretbench.problem import Latency, Usage
from caretbench.prompts import get_strategy
from tests.support import model_server
from tests.support.fakes import FakeClient
from tests.support.model_server import Behaviour, ModelServer, Recorded

FAST = ClientOptions(max_retries=1, retry_wait_s=0.01, timeout_s=20)


def wanted(text: str) -> str:
    """What a model that sees the whole of ``text`` would write."""
    return next((name for item in items() for name in item.answers if name in text), "x")


def everything(request: ModelRequest) -> str:
    prompt = request.prompt
    return prompt.prefix + prompt.suffix if isinstance(prompt, FillPrompt) else prompt.model_dump_json()


class Model(FakeClient):
    """Answers by a function of everything that is sent."""

    def __init__(self, say: Callable[[str], str], kinds: Iterable[str] = ("fill", "text", "chat")) -> None:
        super().__init__(lambda request, _: say(everything(request)))
        self.accepts = frozenset(kinds)  # type: ignore[assignment, arg-type, unused-ignore]


def test_each_answer_can_only_come_from_its_suffix() -> None:
    for item in items():
        assert item.answers[0] not in item.suffixes[1]
        assert item.answers[1] not in item.suffixes[0]
    with pytest.raises(ValueError, match="its suffix"):
        ProbeItem(language="python", prefix="a", suffixes=("b", "c"), answers=("a", "c"))


def test_a_suffix_that_is_honoured() -> None:
    report = probe(Model(wanted), get_strategy("fill"))
    assert report.suffix == "honoured"
    assert report.warning is None
    assert report.deterministic
    assert (report.asked, report.answered) == (15, 15)
    assert "honoured: 10 of 10" in report.render()


def test_a_suffix_that_is_ignored() -> None:
    report = probe(Model(lambda _: "x, y):\n    pass"), get_strategy("fill"))
    assert report.suffix == "ignored"
    assert report.warning is not None
    assert "ignores the" in report.warning
    assert report.warning in report.render()


def test_repeating_what_was_seen_is_not_honouring_it() -> None:
    # sentinels that a model takes for text: it goes on behind them, and may well repeat a name
    report = probe(Model(lambda text: f"\n# end\nprint({wanted(text)})"), get_strategy("fill"))
    assert report.suffix == "unclear"
    assert "the evidence" in (report.warning or "")


def test_sentinels_that_a_model_takes_for_text() -> None:
    report = probe(Model(lambda text: f"<fim_suffix>{wanted(text)}"), get_strategy("fim/starcoder"))
    assert report.repeated == report.answered
    assert report.suffix == "unclear"
    assert "of fim/starcoder@1" in (report.warning or "")
    fitting = probe(Model(wanted), get_strategy("fim/starcoder"))
    assert (fitting.suffix, fitting.repeated, fitting.warning) == ("honoured", 0, None)


def test_a_model_that_varies_and_never_fits_is_unclear() -> None:
    counter = iter(range(1000))
    report = probe(Model(lambda _: f"v{next(counter)}"), get_strategy("fill"))
    assert report.suffix == "unclear"
    assert report.deterministic is False
    assert "answers differ" in report.render()


def test_a_chat_model_may_wrap_its_answer() -> None:
    report = probe(Model(lambda text: f"```\n{wanted(text)}\n```"), get_strategy("chat"))
    assert report.suffix == "honoured"


def test_a_prompt_without_a_suffix() -> None:
    report = probe(Model(wanted), get_strategy("left-to-right"))
    assert report.suffix == "not sent"
    assert "sends no" in (report.warning or "")


class Refusing(FakeClient):
    """Answers only where there is no suffix."""

    def submit(self, requests: Iterable[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
        for request in requests:
            assert isinstance(request.prompt, FillPrompt)
            if request.prompt.suffix:
                yield ModelFailure(request_id=request.id, samples=(0,), kind="refused", message="no `suffix` here")
            else:
                yield ModelAnswer(request_id=request.id, sample=0, text="x", latency=Latency(last_s=0.1))


def test_a_suffix_that_is_refused() -> None:
    client = Refusing(lambda *_: "")
    report = probe(client, get_strategy("fill"))
    assert report.suffix == "refused"
    assert report.failure == "no `suffix` here"
    assert report.answered == 2


def test_a_model_that_never_answers() -> None:
    failing = FakeClient(lambda *_: ModelFailure(request_id="", samples=(), kind="provider", message="HTTP 500: ill"))
    report = probe(failing, get_strategy("fill"))
    assert not report.answers
    assert report.asked == 1
    assert report.suffix == "unclear"
    assert "HTTP 500: ill" in (report.warning or "")
    assert report.render().count("HTTP 500: ill") == 1


def test_hostile_answers_do_not_reach_the_terminal() -> None:
    text = probe(Model(lambda text: "\x1b]0;owned\x07\u202e" + wanted(text)), get_strategy("fill")).render()
    assert all(mark.isprintable() or mark == "\n" for mark in text)


@pytest.mark.parametrize(
    ("usage", "latencies", "found"),
    [
        (Usage(input_tokens=1, output_tokens=2, answers=2), (0.5, 0.7), True),
        (None, (0.5, 0.5), True),
        (None, (0.5, 0.7), False),
    ],
)
def test_samples_by_one_request(usage: Usage | None, latencies: tuple[float, float], found: bool) -> None:
    class Several(FakeClient):
        def submit(self, requests: Iterable[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
            for request in requests:
                for sample in request.samples:
                    yield ModelAnswer(
                        request_id=request.id, sample=sample, text="x", usage=usage,
                        latency=Latency(last_s=latencies[sample]),
                    )  # fmt: skip

    assert probe(Several(lambda *_: ""), get_strategy("fill")).several_per_request == found


# --- over a socket, by Inspect ------------------------------------------------------------------------------------


def sees(request: Recorded, _: int) -> str:
    return wanted(str(request.body))


def sees_no_suffix(request: Recorded, _: int) -> str:
    hidden = {"suffix", "input_suffix"}
    return "n):\n" + wanted(str({key: value for key, value in request.body.items() if key not in hidden}))


def look(spec: str, server: ModelServer, prompt: str = "fill", **options: object) -> ProbeReport:
    settings = FAST.model_copy(update={"base_url": server.url + ("/v1" if "openai" in spec else ""), **options})
    with open_client(spec, options=settings) as client:
        return probe(client, get_strategy(prompt))


@pytest.mark.parametrize("shape", ["mistral", "deepseek", "openai", "ollama", "llama-cpp"])
def test_an_endpoint_that_fills_in(shape: str) -> None:
    with ModelServer(answer=sees) as server:
        report = look(f"fim/{shape}/m", server)
    assert report.suffix == "honoured"
    assert report.deterministic
    assert report.ended == report.answered
    assert report.finish_reasons == ("stop",)
    assert report.several_per_request == (shape == "openai")
    assert report.last_s is not None
    assert report.usage or shape == "mistral"  # this server's streams tell usage only to who asks


def test_an_endpoint_that_drops_the_suffix() -> None:
    with ModelServer(answer=sees_no_suffix) as server:
        assert look("fim/openai/m", server).suffix == "ignored"


def test_several_by_one_request_over_a_socket() -> None:
    with ModelServer(answer=sees) as server:
        assert look("fim/openai/m", server, per_request=True).several_per_request
    together = [request.body["n"] for request in server.requests if "n" in request.body]
    assert together == [2]  # asked beside others, so in no order


def test_a_model_without_infilling() -> None:
    def script(request: Recorded) -> Behaviour | None:
        said = "m does not support insert"
        return model_server.error(400, said) if request.body.get("suffix") else None

    with ModelServer(script) as server:
        report = look("fim/ollama/m", server)
    assert report.suffix == "refused"
    assert "not support insert" in (report.failure or "")
    assert re.search(r"refuses a suffix .* left to right only", report.render())


def test_a_question_shows_that_a_model_answers() -> None:
    report = probe(Model(lambda sent: "B" if "elements has the list" in sent else ""), get_strategy("question"))
    assert (report.asked, report.answered, report.warning) == (1, 1, None)
    assert "not looked for: the problems are questions" in report.render()
    silent = FakeClient(
        lambda request, _: ModelFailure(request_id=request.id, samples=(0,), kind="provider", message="gone")
    )
    assert probe(silent, get_strategy("question")).warning == "fake/model does not answer: gone"
