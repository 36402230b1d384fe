"""Tuning of a tiny model, end to end: pairs, steps, GGUF, `run`. Needs the extra `train` (make test-train)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("torch", reason="needs the extra train: make train-env")

from caretbench.errors import UsageError
from caretbench.inspect import open_client
from caretbench.local.gguf import read_gguf
from caretbench.local.llama_server import LlamaServer, open_server, server_settings, shared_servers
from caretbench.local.weights import find_model
from caretbench.models import ChatPrompt, ClientOptions, Message, ModelAnswer, ModelRequest, Sampling, TextPrompt
from caretbench.progress import Progress
from caretbench.training.pairs import TrainingPair
from caretbench.training.tuning import gguf_files, tuning
from caretbench.training.tuning.examples import ExampleMaker, chosen_strategy
from tests.support import tiny_model

pytestmark = pytest.mark.filterwarnings("default")  # torch's own are none of ours

LEARNT, OTHERS = tiny_model.pairs(32, 1), tiny_model.pairs(32, 2)
GREEDY = Sampling(max_tokens=40, temperature=0)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a random model; the cache is in it."""
    folder = tmp_path_factory.mktemp("tuning")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARETBENCH_CACHE", str(folder / "cache"))
        tiny_model.write_model(folder / "random")
        yield folder


def tune(pairs: Path, model: Path, output: Path, method: tuning.Method, **changes: Any) -> tuning.TuningPlan:
    quick = {"batch": 32, "max_tokens": 64, "held_out": 0, "save_every": 1000, "rank": 8}
    settings = tuning.chosen_settings(None, method, quick | changes)
    plan = tuning.plan_tuning(pairs, str(model), settings, Progress())
    tuning.tune(plan, output, Progress(), threads=1)
    return plan


@pytest.fixture(scope="module")
def full(work: Path) -> Path:
    """All weights, tuned on 32 pairs."""
    pairs = tiny_model.write_pairs(work / "pairs", LEARNT)
    tune(pairs, work / "random", work / "full", "full", steps=200, learning_rate=3e-3)
    return work / "full"


@pytest.fixture(scope="module")
def adapter(work: Path, full: Path) -> Path:
    """An adapter on the GGUF of that, tuned on 32 others."""
    pairs = tiny_model.write_pairs(work / "others", OTHERS)
    tune(pairs, full / "model.gguf", work / "adapter", "lora", steps=200, learning_rate=1e-2)
    return work / "adapter"


def requests(rows: list[TrainingPair]) -> list[ModelRequest]:
    texts = [f"<fim_prefix>{one.prefix}<fim_suffix>{one.suffix}<fim_middle>" for one in rows]
    return [ModelRequest(id=f"{n:02}", prompt=TextPrompt(text=text), sampling=GREEDY) for n, text in enumerate(texts)]


def answers(spec: str, rows: list[TrainingPair], connections: int = 1) -> list[str | None]:
    with open_client(spec, ClientOptions(threads=1, connections=connections, max_retries=0)) as client:
        found = list(client.submit(requests(rows)))
    told = {one.request_id: one.text for one in found if isinstance(one, ModelAnswer)}
    assert len(told) == len(rows), found
    return [told[key] for key in sorted(told)]


def equal(first: list[Any], second: list[Any]) -> int:
    return sum(one == other for one, other in zip(first, second, strict=True))


def middles(rows: list[TrainingPair]) -> list[str]:
    return [one.middle for one in rows]


def completions(folder: Path) -> Mapping[str, dict[str, str]]:
    """Texts of a run by model and problem."""
    texts: dict[str, dict[str, str]] = {}
    for line in (folder / "completions.jsonl").read_text().splitlines():
        row = json.loads(line)
        texts.setdefault(row["model"], {})[row["problem_id"]] = row["text"]
    return texts


def test_what_was_learnt_by_heart_comes_back_through_gguf_and_run(work: Path, full: Path, adapter: Path) -> None:
    curve = tuning.LossCurve(full)
    assert curve.rows[-1]["cpu_s"] <= 90
    problems = tiny_model.write_problems(work / "problems", OTHERS)
    output = work / "run"
    subprocess.run(
        [
            sys.executable, "-m", "caretbench", "run", "real-fim-eval", "--data", str(problems), "-m",
            f"base=gguf/{full}", "-m", f"tuned=gguf/{full}+{adapter}", "--temperature", "0", "--max-tokens", "40",
            "--threads", "1", "--no-score", "-o", str(output),
        ],
        check=True,
    )  # fmt: skip
    texts = completions(output)
    told = {model: [texts[model][key] for key in sorted(texts[model])] for model in texts}
    assert equal(told["tuned"], middles(OTHERS)) >= 31
    assert equal(told["base"], middles(OTHERS)) <= 1
    assert equal(answers(f"gguf/{full}", LEARNT), middles(LEARNT)) >= 31
    models = json.loads((output / "manifest.json").read_text())["models"]
    identities = [model["settings"]["client"] for model in models if model["source"] == "model"]
    assert len({one["weights_sha256"] for one in identities}) == 1
    assert ["adapter_sha256" in one for one in identities] == [False, True]


def test_transformers_and_llama_cpp_write_alike_in_batches_too(full: Path, adapter: Path, work: Path) -> None:
    # A base that knows nothing by heart writes texts that any difference of numbers would change.
    one_by_one = answers(f"hf/{full}", OTHERS)
    assert equal(one_by_one, answers(f"gguf/{full}", OTHERS)) >= 31
    assert equal(one_by_one, answers(f"hf/{full}", OTHERS, connections=32)) >= 31
    assert equal(answers(f"hf/{full}+{adapter}", OTHERS, connections=32), middles(OTHERS)) >= 31


@pytest.mark.parametrize("mode", ["reproducible", "fast"])
def test_base_and_tuned_in_turn_share_one_process_and_no_cache(mode: Any, full: Path, adapter: Path) -> None:
    specs = [f"{full}", f"{full}+{adapter}"]
    chosen = server_settings(
        read_gguf(full / "model.gguf"), mode=mode, threads=1, context_tokens=256, connections=1
    )  # fmt: skip
    alone, turns = [], []
    for spec in specs:
        server = open_server(find_model(spec), chosen)
        alone.append([_complete(server, find_model(spec).adapter, one) for one in requests(OTHERS)])
        server.close()
    with shared_servers([f"gguf/{spec}" for spec in specs]):
        base, tuned = (open_server(find_model(spec), chosen) for spec in specs)
        assert base is tuned
        for one in requests(OTHERS):
            turns.append([_complete(base, find_model(spec).adapter, one) for spec in specs])
            base.close()
        assert base.pid is not None
    assert base.pid is None
    assert [list(texts) for texts in zip(*turns, strict=True)] == alone
    assert equal(alone[0], alone[1]) <= 1


def _complete(server: LlamaServer, adapter: Path | None, request: ModelRequest) -> str:
    assert isinstance(request.prompt, TextPrompt)
    body = {
        "prompt": request.prompt.text, "max_tokens": 40, "temperature": 0,
        "cache_prompt": server.setting.prompt_cache, **server.adapter_fields(adapter),
    }  # fmt: skip
    reply = httpx.post(f"{server.ensure()}/v1/completions", json=body, headers=server.headers, trust_env=False)
    return str(reply.json()["choices"][0]["text"])


@pytest.mark.parametrize("method", ["lora", "full"])
def test_killed_twice_it_ends_as_an_unbroken_one(method: tuning.Method, work: Path, full: Path) -> None:
    pairs = tiny_model.write_pairs(work / "many", tiny_model.pairs(200, 3))
    whole, broken = work / f"{method}-whole", work / f"{method}-broken"
    options = [str(pairs), "--model", str(full / "model.gguf"), "--method", method, "--steps", "60", "--batch", "4",
               "--max-tokens", "64", "--held-out", "4", "--save-every", "20", "--threads", "1"]  # fmt: skip
    command = [sys.executable, "-m", "caretbench", "sft", "train", *options, "-o"]
    subprocess.run([*command, str(whole)], check=True)
    for step in (25, 45):
        with subprocess.Popen([*command, str(broken)], start_new_session=True) as process:
            while _last_step(broken) < step:
                assert process.poll() is None
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGKILL)
    subprocess.run([*command, str(broken)], check=True)
    curves = [[(row["step"], row.get("loss"), row.get("held_out")) for row in tuning.LossCurve(one).rows]
              for one in (whole, broken)]  # fmt: skip
    assert curves[0] == curves[1]
    assert [row[0] for row in curves[0] if row[1] is not None] == list(range(1, 61))
    name = "adapter.gguf" if method == "lora" else "model.gguf"
    assert (whole / name).read_bytes() == (broken / name).read_bytes()
    assert (broken / "checkpoints" / "checkpoint-60" / name).is_file()
    with pytest.raises(UsageError, match="another tuning"):
        tune(pairs, full / "model.gguf", broken, method)


def _last_step(folder: Path) -> int:
    path = folder / "loss.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return int(json.loads(lines[-1])["step"]) if lines else 0


def test_two_processes_share_a_step(work: Path, full: Path) -> None:
    pairs = tiny_model.write_pairs(work / "two", tiny_model.pairs(64, 4))
    output = work / "two-tuned"
    subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "-m", "caretbench", "sft", "train",
            str(pairs), "--model", str(full / "model.gguf"), "--batch", "4",
            "--max-tokens", "64", "--held-out", "0", "--threads", "1", "-o", str(output),
        ],
        check=True,
    )  # fmt: skip
    manifest = json.loads((output / "training.json").read_text())
    assert manifest["finished"]
    # 64 pairs, 4 in each of two processes.
    assert manifest["steps"] == 8
    assert manifest["identity"]["processes"] == 2
    assert (output / "adapter.gguf").is_file()


def test_the_text_of_a_conversation_is_what_llama_cpp_reads(full: Path) -> None:
    """Prompt tokens of training are those of the server, for both kinds of prompt."""
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(full)
    maker = ExampleMaker(tokenizer, chosen_strategy("x", tokenizer, "chat"), 10_000)
    turns = (Message(role="system", text="Complete.\n"), Message(role="user", text="def f1(x):\n\treturn"))
    example = maker.make(OTHERS[0])
    assert example is not None
    told = tokenizer.decode(example.tokens[example.prompt :])
    assert told == f"```python\n{OTHERS[0].middle}\n```<|endoftext|>"
    model = find_model(str(full))
    server = open_server(model, server_settings(read_gguf(model.weights), threads=1, context_tokens=256))
    try:
        url = server.ensure()
        body = {"messages": [{"role": one.role, "content": one.text} for one in turns]}
        text = httpx.post(f"{url}/apply-template", json=body, headers=server.headers).json()["prompt"]
        for prompt, sent in ((ChatPrompt(messages=turns), text), (requests(OTHERS)[0].prompt, None)):
            content = sent or getattr(prompt, "text", "")
            read = {"content": content, "add_special": True, "parse_special": True}
            tokens = httpx.post(f"{url}/tokenize", json=read, headers=server.headers).json()["tokens"]
            assert maker._prompt_tokens(prompt) == tokens
    finally:
        server.close()


def test_pairs_without_a_report_are_refused_and_a_dry_run_writes_nothing(work: Path, full: Path) -> None:
    pairs = tiny_model.write_pairs(work / "unreported", LEARNT, report=False)
    command = [sys.executable, "-m", "caretbench", "sft", "train", str(pairs), "--model", str(full), "-o",
               str(work / "never"), "--max-tokens", "64"]  # fmt: skip
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "no report" in refused.stderr
    told = subprocess.run(
        [*command, "--not-decontaminated", "--dry-run"], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert "8 steps of" in told.stdout
    assert "CPU minutes" in told.stdout
    assert not (work / "never").exists()


def test_a_network_that_cannot_be_written_is_named(work: Path, full: Path) -> None:
    other = work / "other"
    other.mkdir()
    (other / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    with pytest.raises(ValueError, match="no GGUF is written of mamba"):
        gguf_files.write_model(other, work / "other.gguf")
