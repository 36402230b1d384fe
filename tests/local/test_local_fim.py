"""A FIM model on this machine, end to end: which bytes are sent for the problems of a real suite.

No package of the registries holds weights with FIM tokens. So a copy of SmolLM2's file names three of its unused tokens
as StarCoder2 does, and is recognised, asked and read like such a model.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

import caretbench
from caretbench.inspect import open_client
from caretbench.models import ClientOptions
from caretbench.problem import Problem
from caretbench.runs.plans.config import ModelConfig, RequestConfig, RunConfig, SamplingConfig, SuiteConfig
from caretbench.suites import load_suite

# The file keeps its length, so that the tensors stay in place.
_NAMES = {
    "<issue_closed>": "<fim_prefix>",
    "<jupyter_text>": "<fim_suffix>",
    "<jupyter_code>": "<fim_middle>",
    "<empty_output>": "<empty_output_again>",
}


@pytest.fixture(scope="module")
def fim_model(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    content = smollm2.read_bytes()
    for name, other in _NAMES.items():
        before, after = (struct.pack("<Q", len(text)) + text.encode() for text in (name, other))
        assert content.count(before) == 1, name
        content = content.replace(before, after)
    path = tmp_path_factory.mktemp("model") / "renamed.gguf"
    path.write_bytes(content)
    return path


@pytest.mark.data
@pytest.mark.parametrize("limit", [4, pytest.param(100, marks=pytest.mark.long)])
def test_every_byte_that_is_sent_is_the_familys_form(
    limit: int, fim_model: Path, tmp_path: Path, test_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Costs 10 s of CPU to load the model twice, and 0.5 s a problem."""
    sent: list[dict[str, Any]] = []
    send = httpx.AsyncHTTPTransport.handle_async_request

    async def record(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        sent.append({"path": request.url.path, **json.loads(await request.aread())})
        return await send(self, request)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", record)
    data = test_data / "humaneval_infilling"
    caretbench.generate(
        RunConfig(
            suites=(SuiteConfig(name="humaneval-infilling", data=str(data), select="split=single-line", limit=limit),),
            models=(ModelConfig(spec=f"gguf/{fim_model}"),),
            defaults=RequestConfig(sampling=SamplingConfig(max_tokens=2, temperature=0)),
            output=tmp_path / "run",
        )
    )
    rows = [json.loads(line) for line in (tmp_path / "run" / "completions.jsonl").read_text().splitlines()]
    problems = {problem.id: problem for problem in load_suite("humaneval-infilling").load(str(data)).problems}
    asked = [problems[row["problem_id"]] for row in rows]
    assert len(asked) == limit
    assert {row["prompt"] for row in rows} == {"fim/starcoder2@1"}
    # The model sees each mark as one token.
    with open_client(f"gguf/{fim_model}", options=ClientOptions(context_tokens=512)) as client:
        for row, problem in list(zip(rows, asked, strict=True))[:5]:
            texts = problem.caret.prefix, problem.caret.suffix
            assert row["usage"]["input_tokens"] == sum(map(client.count_tokens, texts)) + 3
    assert Counter(request.pop("prompt") for request in sent) == Counter(expected(problem) for problem in asked)
    (settings,) = {json.dumps(request, sort_keys=True) for request in sent}
    assert json.loads(settings) == {
        "path": "/v1/completions", "model": "renamed", "max_tokens": 2, "temperature": 0.0, "top_p": 1.0,
        "stop": ["<|endoftext|>", "<file_sep>"], "cache_prompt": False,
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip


def expected(problem: Problem) -> str:
    return f"<fim_prefix>{problem.caret.prefix}<fim_suffix>{problem.caret.suffix}<fim_middle>"
