"""What commands load: nothing that they do not use, and a model that cannot be asked is reported before all else."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from caretbench.errors import DataError, MachineError
from caretbench.inspect.client.provider_facts import check_access, providers
from caretbench.inspect.providers.endpoint_shapes import endpoint_shapes
from caretbench.models import ClientOptions

_PROGRAM = """
import json, sys
from caretbench.cli import main
sys.argv = ["caretbench", *json.loads(sys.argv[1])]
code = 0
try:
    main()
except SystemExit as end:
    code = end.code or 0
print(json.dumps([code, sorted(sys.modules)]), file=open(sys.argv[-1] + ".modules", "w"))
"""


class Done(NamedTuple):
    code: int
    modules: set[str]
    errors: str


def command(folder: Path, *arguments: str) -> Done:
    """Run a command whose last argument names its folder."""
    here = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_AUTH_TOKEN"))}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps([*arguments, str(folder)])],
        env=here, capture_output=True, text=True, check=False, cwd=folder.parent,
    )  # fmt: skip
    code, modules = json.loads(Path(f"{folder}.modules").read_text())
    return Done(code, set(modules), done.stderr)


SCORE = ("score", "devbench", "--limit", "1", "--no-execute", "--baseline", "empty")


@pytest.mark.long
def test_scoring_loads_no_charts_no_inspect_and_no_scipy(tmp_path: Path) -> None:
    done = command(tmp_path / "run", *SCORE, "--no-html", "-o")
    assert done.code == 0, done.errors
    unused = ("altair", "vl_convert", "inspect_ai", "scipy", "jinja2")
    assert [name for name in unused if name in done.modules] == []


@pytest.mark.long
def test_a_missing_key_is_reported_before_providers_and_reports_are_loaded(tmp_path: Path) -> None:
    done = command(tmp_path / "run", "run", "devbench", "-m", "openai/gpt-4o-mini", "-o")
    assert done.code == 2
    assert "set OPENAI_API_KEY" in done.errors
    unused = ("inspect_ai", "polars", "altair", "scipy")
    assert [name for name in unused if name in done.modules] == []
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_missing_key_of_a_judge_is_reported_before_the_problems_are_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert command(folder, *SCORE, "--no-html", "-o").code == 0
    done = command(folder, "judge", "-m", "openai/o3-mini")
    assert done.code == 2
    assert "openai/o3-mini: there is no key of the provider; set OPENAI_API_KEY" in done.errors
    unused = ("inspect_ai", "polars", "altair", "caretbench.suites.devbench.suite")
    assert [name for name in unused if name in done.modules] == []
    assert not (folder / "judgements.jsonl").exists()


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    named = [name for facts in providers().values() for name in facts.keys]
    shapes = endpoint_shapes().values()
    for name in (*named, *(name for shape in shapes for name in (*shape.key_variables, *shape.base_url_variables))):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/claude-x", "ANTHROPIC_AUTH_TOKEN"),
        ("grok/g", "GROK_API_KEY"),
        ("google/gemini-x", "GEMINI_API_KEY"),
        ("deepseek/chat", "DEEPSEEK_API_KEY"),
        ("hf-inference-providers/org/m", "HF_TOKEN"),
        ("openai-api/my-host/m", "MY_HOST_API_KEY"),
        ("fim/mistral/codestral-latest", "CODESTRAL_API_KEY"),
        ("fim/openai/gpt-x", "OPENAI_API_KEY"),
    ],
)
def test_a_provider_without_its_key(spec: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MachineError, match=f"{spec}: .* key.*{variable}"):
        check_access(spec, ClientOptions())
    check_access(spec, ClientOptions(model_args={"api_key": "x"}))
    monkeypatch.setenv(variable, "x")
    check_access(spec, ClientOptions())


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    "spec",
    [
        "openai/azure/gpt-4o", "mockllm/model", "anthropic/bedrock/claude", "fake/a", "fim/ollama/m", "fim/none/m",
        "openai-api/m",
    ],
)  # fmt: skip
def test_access_that_is_not_known_is_left_to_the_provider(spec: str) -> None:
    check_access(spec, ClientOptions())


@pytest.mark.usefixtures("no_keys")
def test_an_endpoint_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    check_access("fim/openai/m", ClientOptions(base_url="http://models.example/v1"))
    with pytest.raises(MachineError, match="OPENAI_BASE_URL to"):
        check_access("fim/openai/m", ClientOptions())
    monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
    check_access("fim/openai/m", ClientOptions())


@pytest.mark.usefixtures("no_keys")
def test_a_file_of_variables_is_left_to_inspect(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=x\n")
    check_access("openai/gpt-4o", ClientOptions())


def test_models_on_this_machine_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.gguf"):
        check_access(f"gguf/{tmp_path}/none.gguf", ClientOptions())
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        options = ClientOptions(base_url=f"http://127.0.0.1:{server.getsockname()[1]}/v1")
        with pytest.raises(MachineError, match=r"listens at 127\.0\.0\.1:"):
            check_access("vllm/m", options)
        server.listen()
        check_access("vllm/m", options)
    check_access("vllm/m", ClientOptions(base_url="http://models.example/v1"))
