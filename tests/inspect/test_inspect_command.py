"""Programs that complete: real ones, tiny, and ill-behaved."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, GenerateConfig, ModelOutput

from caretbench.errors import MachineError
from caretbench.inspect.client.client_factory import open_client
from caretbench.inspect.client.provider_errors import ProviderError
from caretbench.inspect.providers.command import CommandAPI
from caretbench.models import ClientOptions, FillPrompt, ModelAnswer, ModelFailure, ModelRequest

FILL: dict[str, Any] = {
    "prefix": "def f(",
    "suffix": "):\n    return x\n",
    "language": "python",
    "path": "f.py",
    "instruction": "one argument",
    "files": [{"path": "a.py", "text": "A = 1\n"}],
    "stop": ["\n\n"],
}

Program = Callable[[str], CommandAPI]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Writes a Python program and gives its provider."""

    def write(source: str) -> CommandAPI:
        path = tmp_path / "my completer.py"  # the blank is meant
        path.write_text("import json, os, sys, time, subprocess\n" + source)
        return CommandAPI(f"{shlex.quote(sys.executable)} -I -S {shlex.quote(str(path))}")

    return write


def ask(api: CommandAPI, messages: list[ChatMessage] | None = None, timeout: float = 30, **config: Any) -> ModelOutput:
    async def one() -> ModelOutput:
        async with asyncio.timeout(timeout):
            given = messages or [ChatMessageUser(content="def f(", metadata=FILL)]
            output, _ = await api.generate(given, [], "none", GenerateConfig(**config))
            return output

    return asyncio.run(one())


def failing(api: CommandAPI, **config: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(api, **config)
    return caught.value


def is_alive(number: int) -> bool:
    """Whether a process of this number runs (a zombie does not)."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        pass
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return not Path("/proc").is_dir()


def gone(path: Path) -> bool:
    """Whether the process whose number stands in ``path`` ends soon."""
    number = int(path.read_text())
    end = time.monotonic() + 5
    while is_alive(number) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(number)


def test_what_the_program_reads(program: Program) -> None:
    api = program("request = json.load(sys.stdin)\nprint(json.dumps({'text': json.dumps(request)}))")
    output = ask(api, max_tokens=99, temperature=0.2, top_p=0.9, seed=3, stop_seqs=["\n\n"])
    assert json.loads(output.completion) == FILL | {
        "schema_version": 1, "max_tokens": 99, "temperature": 0.2, "top_p": 0.9, "seed": 3, "samples": 1,
    }  # fmt: skip


def test_what_the_program_writes(program: Program) -> None:
    api = program(
        "print(json.dumps({'text': 'x\u2028', 'finish_reason': 'length', 'model': 'mine 2', 'colour': 'red',"
        "'usage': {'input_tokens': 7, 'output_tokens': 2}}))"
    )
    output = ask(api)
    assert (output.completion, output.stop_reason, output.model) == ("x\u2028", "max_tokens", "mine 2")
    assert output.usage is not None
    assert (output.usage.input_tokens, output.usage.output_tokens) == (7, 2)


def test_half_a_surrogate_pair_stays(program: Program) -> None:
    assert ask(program("print(json.dumps({'text': 'a\\ud83d'}))")).completion == "a\ud83d"


def test_several_texts(program: Program) -> None:
    api = program("n = json.load(sys.stdin)['samples']\nprint(json.dumps({'texts': ['a', 'b', 'c'][:n]}))")
    assert [choice.message.text for choice in ask(api, num_choices=3).choices] == ["a", "b", "c"]


def test_more_texts_than_asked_for(program: Program) -> None:
    assert "2 texts where 1" in str(failing(program("print(json.dumps({'texts': ['a', 'b']}))")))


def test_the_empty_text_is_an_answer(program: Program) -> None:
    assert ask(program("print(json.dumps({'text': ''}))")).completion == ""


def test_a_large_request_to_a_program_that_does_not_read(program: Program) -> None:
    message = ChatMessageUser(content="", metadata=FILL | {"prefix": "x" * 3_000_000})
    assert ask(program("print(json.dumps({'text': 'a'}))"), [message]).completion == "a"


def test_a_large_answer(program: Program) -> None:
    assert len(ask(program("print(json.dumps({'text': 'x' * 3_000_000}))")).completion) == 3_000_000


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "one JSON object"),
        ("print('Traceback: nothing here')", "it wrote b'Traceback"),
        ("sys.stdout.buffer.write(bytes(range(128, 256)))", "one JSON object"),
        ("print('[]')", "one JSON object"),
        ("print('{\"text\": 1}')", "text: Input should be a valid string"),
        ("print('{\"texts\": [null]}')", "texts.0"),
        ("print('{}')", "without `text` or `texts`"),
        ("print('{\"texts\": []}')", "without `text` or `texts`"),
        ('print(\'{"text": "half\')', "one JSON object"),
        ('print(\'{"text": "a"}{"text": "b"}\')', "one JSON object"),
        ('print(\'{"error": "no licence"}\')', "no licence"),
        ('print(\'{"text": "a"}\'); sys.exit(3)', "ended with status 3"),
        ("os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
    ],
)
def test_what_is_no_answer(program: Program, source: str, said: str) -> None:
    api = program(source)
    error = failing(api)
    assert said in str(error)
    assert not api.should_retry(error)


def test_status_75_asks_for_another_try(program: Program) -> None:
    api = program("sys.exit(75)")
    assert api.should_retry(failing(api))


def test_the_end_of_what_it_complained_about_is_told_without_keys(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPLETER_API_KEY", "very-secret-value")
    api = program(
        "print('noise ' * 50_000, file=sys.stderr)\n"
        "print('\\x1b[31mlicence expired for', os.environ['COMPLETER_API_KEY'], file=sys.stderr)\nsys.exit(1)"
    )
    said = str(failing(api))
    assert "expired for [redacted]" in said
    assert "\x1b" not in said
    assert len(said) < 1000


def test_a_program_that_never_stops_writing(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caretbench.inspect.providers.command.MAX_OUTPUT_BYTES", 1 << 20)
    assert "than 1 MiB" in str(failing(program("while True: sys.stdout.write('x' * 65536)")))


def test_a_hanging_program_ends_with_its_children(program: Program, tmp_path: Path) -> None:
    api = program(
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        f"open({str(tmp_path / 'self')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    )

    async def cancelled() -> None:
        messages: list[ChatMessage] = [ChatMessageUser(content="", metadata=FILL)]
        task = asyncio.create_task(api.generate(messages, [], "none", GenerateConfig()))
        while not (tmp_path / "self").exists() or not (tmp_path / "self").read_text():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancelled(), 60))
    assert gone(tmp_path / "child")
    assert gone(tmp_path / "self")


def test_a_child_that_holds_the_pipe_open_is_not_waited_for(program: Program, tmp_path: Path) -> None:
    api = program(
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\nprint(json.dumps({{'text': 'a'}}))"
    )
    begin = time.monotonic()
    assert ask(api).completion == "a"
    assert time.monotonic() - begin < 20
    assert gone(tmp_path / "child")


def test_no_shell_runs(tmp_path: Path) -> None:
    target = tmp_path / "made-by-a-shell"
    api = CommandAPI(f"{shlex.quote(sys.executable)} -c 'print(1)' ; touch {target}")
    failing(api)
    assert not target.exists()


def test_two_at_once(program: Program) -> None:
    api = program("time.sleep(0.2); print(json.dumps({'text': 'a'}))")

    async def both() -> list[str]:
        messages: list[ChatMessage] = [ChatMessageUser(content="", metadata=FILL)]
        asked = [api.generate(messages, [], "none", GenerateConfig()) for _ in range(2)]
        return [output.completion for output, _ in await asyncio.gather(*asked)]

    assert asyncio.run(both()) == ["a", "a"]


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        ("", ValueError, "needs a command line"),
        ("python 'open", ValueError, "not a command line"),
        ("no-such-program --stdin", MachineError, "no program no-such-program"),
        ("/no/such/completer", MachineError, "that can be run"),
    ],
)
def test_what_is_no_command_line(line: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        CommandAPI(line)


def test_a_conversation_comes_as_messages(program: Program) -> None:
    api = program("print(json.dumps({'text': json.dumps(json.load(sys.stdin))}))")
    said: list[ChatMessage] = [ChatMessageSystem(content="be short"), ChatMessageUser(content="write me a poem")]
    seen = json.loads(ask(api, said).completion)
    assert seen["messages"] == [{"role": "system", "text": "be short"}, {"role": "user", "text": "write me a poem"}]
    assert seen["prefix"] == seen["suffix"] == ""
    assert "messages" not in json.loads(ask(api).completion)


# --- by our client ------------------------------------------------------------------------------------------------


def requests(count: int) -> list[ModelRequest]:
    prompt = FillPrompt(prefix="def f(", suffix="):\n", language="python")
    return [ModelRequest(id=f"r{number}", prompt=prompt) for number in range(count)]


def test_no_more_programs_than_connections(program: Program, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    note = f"os.write(os.open({str(journal)!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT), %s)\n"
    api = program(note % "b'+'" + "time.sleep(0.1)\n" + note % "b'-'" + "print(json.dumps({'text': 'a'}))")
    with open_client(f"command/{api.model_name}", options=ClientOptions(connections=2)) as client:
        answers = list(client.submit(requests(6)))
    assert [answer.text for answer in answers if isinstance(answer, ModelAnswer)] == ["a"] * 6
    levels = list(accumulate(1 if mark == "+" else -1 for mark in journal.read_text()))
    assert max(levels) <= 2
    assert len(levels) == 12


def test_a_hanging_program_is_a_timeout_and_ends(program: Program, tmp_path: Path) -> None:
    api = program(f"open({str(tmp_path / 'self')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)")
    options = ClientOptions(timeout_s=5, max_retries=0)
    with open_client(f"command/{api.model_name}", options=options) as client:
        (failure,) = client.submit(requests(1))
    assert isinstance(failure, ModelFailure)
    assert failure.kind == "timeout"
    assert gone(tmp_path / "self")


def test_a_caller_that_leaves_ends_the_programs(program: Program, tmp_path: Path) -> None:
    api = program(
        f"open({str(tmp_path)!r} + '/p' + str(os.getpid()), 'w').write(str(os.getpid()))\n"
        "time.sleep(0 if json.load(sys.stdin)['prefix'] == 'quick' else 600)\nprint(json.dumps({'text': 'a'}))"
    )
    quick = ModelRequest(id="quick", prompt=FillPrompt(prefix="quick", suffix="", language="python"))
    with open_client(f"command/{api.model_name}", options=ClientOptions(connections=3)) as client:
        answers = client.submit([*requests(2), quick])
        assert next(iter(answers)).request_id == "quick"
    assert all(gone(path) for path in tmp_path.glob("p*") if path.read_text())


def test_a_failing_program_is_a_failure_that_names_the_reason(program: Program) -> None:
    api = program("sys.exit('no licence found')")
    with open_client(f"command/{api.model_name}", options=ClientOptions(retry_wait_s=0)) as client:
        (failure,) = client.submit(requests(1))
    assert isinstance(failure, ModelFailure)
    assert "1: no licence" in failure.message
    assert failure.attempts == 1
