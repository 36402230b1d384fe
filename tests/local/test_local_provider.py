"""``gguf/…`` through our client and with the real small model: what is asked, what comes, what is refused."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from caretbench.errors import DataError, MachineError
from caretbench.inspect import InspectClient, open_client
from caretbench.models import (
    ChatPrompt,
    ClientOptions,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelRequest,
    Prompt,
    Sampling,
    TextPrompt,
)
from tests.support.gguf_file import QWEN_LIKE, gguf

OPTIONS = ClientOptions(threads=1, context_tokens=512, retry_wait_s=0.05, max_retries=2)
TEXT = TextPrompt(text="def add(a, b):\n    ")


@pytest.fixture(scope="module")
def client(smollm2: Path) -> Iterator[InspectClient]:
    with open_client(f"gguf/{smollm2}", options=OPTIONS) as opened:
        yield opened


def ask(client: InspectClient, prompt: Prompt, samples: Sequence[int] = (0,), **sampling: object) -> list[ModelAnswer]:
    chosen = Sampling.model_validate({"max_tokens": 8, "temperature": 0, **sampling})
    request = ModelRequest(id="one", prompt=prompt, samples=tuple(samples), sampling=chosen)
    found = list(client.submit([request]))
    assert all(isinstance(answer, ModelAnswer) for answer in found), found
    return sorted((answer for answer in found if isinstance(answer, ModelAnswer)), key=lambda one: one.sample)


def test_what_is_known_before_anything_is_asked(client: InspectClient, smollm2: Path) -> None:
    assert client.accepts == {"text", "chat"}
    assert client.context_tokens == 512
    assert {"<|im_start|>", "<|endoftext|>"} <= (client.special_tokens() or frozenset())
    identity = client.identity
    assert (identity["mode"], identity["slots"], identity["threads"], identity["context_tokens"]) == (
        "reproducible", 1, 1, 512,
    )  # fmt: skip
    assert str(smollm2.parent) not in str(identity)


def test_a_text_is_gone_on_with(client: InspectClient, smollm2: Path) -> None:
    answer, again = ask(client, TEXT, samples=(0, 1))
    assert answer.text
    assert again.text == answer.text, "greedy, and nothing is kept between requests"
    assert answer.finish_reason == "length"
    assert answer.served_by == smollm2.stem
    assert answer.usage is not None
    assert answer.usage.input_tokens == client.count_tokens(TEXT.text)
    assert (answer.usage.output_tokens, answer.usage.cached_tokens) == (8, 0)
    assert answer.latency is not None
    assert answer.latency.first_s is not None
    assert 0 < answer.latency.first_s < answer.latency.last_s


def test_a_text_is_no_turn_of_a_conversation(client: InspectClient) -> None:
    words = "Say hello."
    chat = ChatPrompt(messages=(Message(role="user", text=words),))
    [said], [gone_on] = ask(client, chat), ask(client, TextPrompt(text=words))
    assert said.usage is not None
    assert gone_on.usage is not None
    assert said.usage.input_tokens > gone_on.usage.input_tokens, "the chat template adds tokens"


def test_a_form_that_is_asked_for_is_kept(client: InspectClient) -> None:
    schema = {"type": "object", "properties": {"score": {"enum": [0, 1]}}, "required": ["score"],
              "additionalProperties": False}  # fmt: skip
    prompt = ChatPrompt(messages=(Message(role="user", text="Rate it."),), schema_name="rating", json_schema=schema)
    [answer] = ask(client, prompt, max_tokens=40)
    assert answer.text is not None
    assert "".join(answer.text.split()) in ('{"score":0}', '{"score":1}')


def test_stop_and_seed_are_honoured(client: InspectClient) -> None:
    [answer] = ask(client, TextPrompt(text="one two three one two three one", stop=(" two",)), max_tokens=30)
    assert " two" not in (answer.text or "")
    draws = {ask(client, TEXT, temperature=1.5, seed=seed)[0].text for seed in (1, 1, 2, 3)}
    assert 1 < len(draws) <= 3


def test_sentinels_count_as_one_token(client: InspectClient) -> None:
    assert client.count_tokens("<|im_start|>") == 1
    assert client.count_tokens("") == 0
    assert (client.count_tokens("def f(x):\n" * 50) or 0) > 100


def test_a_prompt_without_room_is_refused(client: InspectClient) -> None:
    request = ModelRequest(id="long", prompt=TextPrompt(text="x = 1\n" * 600), sampling=Sampling(max_tokens=5))
    [failure] = client.submit([request])
    assert isinstance(failure, ModelFailure)
    assert (failure.kind, failure.attempts) == ("refused", 1)
    assert "context size" in failure.message


def test_a_crash_in_the_middle_costs_a_try(smollm2: Path) -> None:
    with open_client(f"gguf/{smollm2}", options=OPTIONS) as client:
        ask(client, TEXT)
        answers = []
        for answer in client.submit(
            ModelRequest(id=str(number), prompt=TEXT, sampling=Sampling(max_tokens=20, temperature=0))
            for number in range(4)
        ):
            answers.append(answer)
            if len(answers) == 1:
                os.kill(client._api._server.pid, signal.SIGKILL)
        assert all(isinstance(answer, ModelAnswer) for answer in answers), answers
        assert {answer.request_id for answer in answers} == {"0", "1", "2", "3"}
        assert len({answer.text for answer in answers if isinstance(answer, ModelAnswer)}) == 1
        os.kill(client._api._server.pid, signal.SIGKILL)
        with pytest.raises(MachineError, match="crashed twice"):
            list(client.submit([ModelRequest(id="last", prompt=TEXT)]))


def test_several_are_answered_at_once_in_fast_mode(smollm2: Path) -> None:
    options = OPTIONS.model_copy(update={"mode": "fast", "connections": 3})
    with open_client(f"gguf/{smollm2}", options=options) as client:
        assert client.identity["slots"] == 3
        requests = [ModelRequest(id=str(i), prompt=TEXT, sampling=Sampling(max_tokens=6)) for i in range(6)]
        answers = list(client.submit(requests))
    assert all(isinstance(answer, ModelAnswer) for answer in answers)


def test_what_cannot_be_opened_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "coder.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(DataError, match="too early"):
        open_client(f"gguf/{path}", options=OPTIONS)
    with pytest.raises(DataError, match=r"/none\.gguf: no such"):
        open_client(f"gguf/{tmp_path}/none.gguf", options=OPTIONS)
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="pull smollm2"):
        open_client("gguf/smollm2", options=OPTIONS)
    with pytest.raises(ValueError, match="slotz"):
        open_client(f"gguf/{path}", options=ClientOptions(model_args={"slotz": 3}))


def test_a_model_without_a_chat_template_takes_texts_only(tmp_path: Path) -> None:
    path = tmp_path / "base.gguf"
    path.write_bytes(gguf([entry for entry in QWEN_LIKE if "chat" not in entry[0]]))
    with open_client(f"gguf/{path}", options=OPTIONS) as client:
        assert client.accepts == {"text"}
        chat = ModelRequest(id="a", prompt=ChatPrompt(messages=(Message(role="user", text="hi"),)))
        [failure] = client.submit([chat])
        assert isinstance(failure, ModelFailure)
        assert failure.kind == "unpromptable"


@pytest.mark.long
def test_nothing_is_left_where_nobody_closes(smollm2: Path) -> None:
    code = """
        import sys
        from caretbench.inspect import open_client
        from caretbench.models import ClientOptions
        from caretbench.models import ModelRequest, Sampling, TextPrompt
        client = open_client("gguf/" + sys.argv[1], options=ClientOptions(threads=1, context_tokens=256))
        requests = [ModelRequest(id="a", prompt=TextPrompt(text="a"), sampling=Sampling(max_tokens=2))]
        print([answer.finish_reason for answer in client.submit(requests)], client._api._server.pid)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(smollm2)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert not Path(f"/proc/{int(done.stdout.split()[-1])}").exists()


def test_the_likeliest_letter_is_read_off_the_first_token(client: InspectClient) -> None:
    letters = ("A", "B", "C", "D")
    text = "Which one is a colour?\n\nChoice A:\nblue\n\nChoice B:\niron\n\nThe letter of the right choice\nAnswer:"
    [answer] = ask(client, TextPrompt(text=text, letters=letters))
    assert client.returns_log_probabilities
    assert answer.text in letters
    told = answer.log_probabilities
    assert told
    assert set(told) <= set(letters)
    assert answer.text == max(told, key=lambda letter: told[letter])
    assert 0 < sum(map(math.exp, told.values())) <= 1
    assert answer.usage is not None
    assert answer.usage.output_tokens == 1
