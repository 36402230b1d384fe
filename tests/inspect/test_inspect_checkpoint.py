"""``hf/PATH`` and ``vllm/PATH`` without a GPU: packages, the way of asking, and what is sent to a vLLM server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench.errors import MachineError
from caretbench.inspect import open_client
from caretbench.inspect.client import checkpoint_files as checkpoints
from caretbench.inspect.client.provider_facts import check_access
from caretbench.models import ClientOptions, DryRunOptions, ModelAnswer, ModelRequest, Sampling
from caretbench.problem import Caret
from caretbench.prompts import choose
from caretbench.prompts.strategy import PromptBudget
from tests.support import own_servers

STARCODER = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<fim_pad>", "<|endoftext|>")


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("VLLM_BASE_URL", "VLLM_API_KEY", "HF_HUB_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))


def checkpoint(folder: Path, tokens: tuple[str, ...] = (), *, template: bool = False) -> Path:
    """A folder with a tiny tokenizer, and no weights."""
    folder.mkdir(parents=True, exist_ok=True)
    added = [{"id": number, "content": token, "special": True} for number, token in enumerate(tokens)]
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": added, "model": {"vocab": {"a": 9}}}))
    config = {"chat_template": "{{ messages }}"} if template else {}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 2048}))
    return folder


@pytest.mark.parametrize(
    ("spec", "packages"),
    [("hf/x", "torch transformers accelerate"), ("vllm/x", "vllm"), ("vllm-completions/x", "vllm")],
)
def test_a_missing_package_is_told_before_anything_is_asked(
    spec: str, packages: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "find_spec", lambda _name: None)
    with pytest.raises(MachineError, match=rf"install {packages}; .*-m server/x@URL"):
        check_access(spec, ClientOptions())
    if "completions" not in spec:
        with pytest.raises(MachineError, match="not installed"):
            open_client(spec)


@pytest.mark.parametrize("engine", ["hf", "vllm"])
@pytest.mark.parametrize(
    ("tokens", "template", "prompt", "accepts"),
    [
        (STARCODER, False, "fim/starcoder", {"text"}),
        (STARCODER, True, "fim/starcoder", {"text", "chat"}),
        ((), False, "left-to-right", {"text"}),
        (("<|im_start|>",), True, "left-to-right", {"text", "chat"}),
    ],
)
def test_the_tokenizer_says_how_it_is_asked(
    engine: str, tokens: tuple[str, ...], template: bool, prompt: str, accepts: set[str], tmp_path: Path
) -> None:
    folder = checkpoint(tmp_path / "tiny", tokens, template=template)
    with open_client(f"{engine}/{folder}", DryRunOptions()) as client:
        assert client.accepts == accepts
        assert client.context_tokens == 2048
        assert choose(client, None).name == prompt


def test_a_name_is_looked_up_in_the_cache_of_hugging_face(tmp_path: Path) -> None:
    repository = tmp_path / "home" / "hub" / "models--org--tiny"
    checkpoint(repository / "snapshots" / "abc", STARCODER)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc\n")
    with open_client("hf/org/tiny", DryRunOptions()) as client:
        assert choose(client, None).name == "fim/starcoder"
    with (
        open_client("hf/org/other", DryRunOptions()) as client,
        pytest.raises(ValueError, match=r"special tokens .*--prompt .*left-to-right"),
    ):
        choose(client, None)


def test_a_template_of_its_own_file_counts(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "tiny")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    facts = checkpoints.checkpoint_facts(str(folder))
    assert facts is not None
    assert facts.has_chat_template


@pytest.mark.parametrize(("prompt", "path"), [(None, "/v1/completions"), ("chat", "/v1/chat/completions")])
def test_vllm_is_sent_raw_text_or_a_conversation(prompt: str | None, path: str, tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "tiny", STARCODER, template=True)
    with own_servers.vllm(str(folder)) as server:
        spec = f"vllm/{folder}"
        options = ClientOptions(base_url=f"{server.url}/v1", max_retries=0)
        check_access(spec, options)
        with open_client(spec, options) as client:
            caret = Caret(language="python", prefix="def f(x):\n    return ", suffix="\n")
            question = choose(client, prompt).render(caret, PromptBudget(None, len))
            [answer] = client.submit([ModelRequest(id="one", prompt=question, sampling=Sampling(max_tokens=8))])
        assert isinstance(answer, ModelAnswer), answer
        assert answer.text == "return 2 * x"
        [request] = server.requests
    assert request.path == path
    if prompt is None:
        assert request.body["prompt"].startswith("<fim_prefix>def f(x)")
