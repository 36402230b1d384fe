"""Names of adapters, the process that a model shares with what was tuned of it, and the identities of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.local.gguf import read_gguf
from caretbench.local.llama_server import LlamaServer, open_server, server_settings, shared_servers
from caretbench.local.weights import LocalModel, find_model, folder_sha256, split_adapter
from tests.support.gguf_file import STRING, gguf

ADAPTER = [("general.type", STRING, "adapter"), ("adapter.type", STRING, "lora")]


def model(path: Path, architecture: str = "llama") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gguf([("general.architecture", STRING, architecture)]))
    return path


def adapter(folder: Path, architecture: str = "llama") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    entries = [("general.architecture", STRING, architecture), *ADAPTER]
    (folder / "adapter.gguf").write_bytes(gguf(entries))
    return folder


def test_a_name_has_an_adapter_behind_its_last_plus(tmp_path: Path) -> None:
    base = model(tmp_path / "c++" / "base.gguf")
    tuned = adapter(tmp_path / "tuned")
    assert find_model(str(base)) == LocalModel(base)
    assert find_model(f"{base}+{tuned}") == LocalModel(base, tuned / "adapter.gguf")
    assert find_model(f"{base}+{tuned / 'adapter.gguf'}") == LocalModel(base, tuned / "adapter.gguf")
    whole = model(tmp_path / "one+two" / "model.gguf")
    assert find_model(str(whole.parent)) == LocalModel(whole)
    assert split_adapter("smollm2+tuned") == ("smollm2", "tuned")
    assert split_adapter("smollm2") == ("smollm2", "")


def test_what_is_no_adapter_for_this_model_is_named(tmp_path: Path) -> None:
    base = model(tmp_path / "base.gguf")
    for target, fault in (
        (f"{base}+{tmp_path / 'none'}", "no adapter"),
        (f"{base}+{base}", "is no adapter"),
        (f"{base}+{adapter(tmp_path / 'other', 'gemma3')}", "the adapter is for gemma3, and the model is llama"),
        (str(tmp_path / "c++" / "none.gguf"), "no such file"),
    ):
        with pytest.raises(DataError, match=fault):
            find_model(target)


def test_base_and_tuned_share_a_server_until_the_end(tmp_path: Path) -> None:
    base, other = model(tmp_path / "base.gguf"), model(tmp_path / "other.gguf")
    first, second = (adapter(tmp_path / name) for name in ("first", "second"))
    specs = [f"gguf/{base}", f"gguf/{base}+{first}", f"gguf/{base}+{second}", f"gguf/{other}", "mockllm/x"]
    chosen = server_settings(read_gguf(base), threads=1)
    plain, tuned, again, apart = (find_model(spec.removeprefix("gguf/")) for spec in specs[:4])
    with shared_servers([*specs, "gguf/not-here"]):
        server = open_server(plain, chosen)
        assert open_server(tuned, chosen) is open_server(again, chosen) is server
        assert open_server(apart, chosen) is not server
        # Each adapter that is loaded is named with its weight: one that is not named would be put on.
        assert server.adapter_fields(None) == {"lora": [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 0.0}]}
        assert server.adapter_fields(again.adapter) == {"lora": [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 1.0}]}
    assert open_server(plain, chosen) is not server
    assert open_server(plain, chosen).adapter_fields(None) == {}


def test_the_identity_of_a_tuned_model_has_both_hashes(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    base, tuned = model(tmp_path / "base.gguf"), adapter(tmp_path / "tuned") / "adapter.gguf"
    server = LlamaServer(base, server_settings(read_gguf(base), threads=1), [tuned])
    plain = server.identity()
    assert server.identity(tuned) == plain | {"adapter_sha256": server.identity(tuned)["adapter_sha256"]}
    assert "adapter_sha256" not in plain
    before = server.identity(tuned)
    tuned.write_bytes(tuned.read_bytes() + b"\0")
    assert server.identity(tuned) != before


def test_a_folder_of_weights_has_one_hash(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no weights"):
        folder_sha256(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"one")
    (tmp_path / "config.json").write_text("{}")
    before = folder_sha256(tmp_path)
    (tmp_path / "config.json").write_text('{"rope": 2}')
    assert folder_sha256(tmp_path) != before
