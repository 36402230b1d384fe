"""Base weights of a tuning: a folder as Hugging Face stores it, or a GGUF file, which is dequantised once."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from caretbench.errors import DataError, MachineError
from caretbench.file_locks import lock_file
from caretbench.files import cache_folder
from caretbench.local.gguf import read_gguf, weights_sha256
from caretbench.local.weights import catalogue, find_weights, folder_sha256
from caretbench.progress import Progress

PACKAGES: Final = ("torch", "transformers", "peft", "accelerate", "gguf")

_TOKENIZED: Final = (
    "def f12(x):\n    return x + 12345  # été 3.14\n\t\tfoo  bar\r\n",
    'for (int i = 0; i < n; ++i) { s += "a\\n" + i; }\n\n\n',
    "x=1\n \n  y = [ 1,2, 33 ]\n# 漢字 — “quoted” 'it''s' don't\n",
)
"""Texts that transformers and llama.cpp must cut into the same tokens: digits, blanks, line ends, other alphabets."""
_MARKS: Final = 50
"""Number of control tokens that are compared; Gemma has thousands."""


class TuningBase(NamedTuple):
    """Base of a tuning: its name, a folder that transformers reads, hash of the weights, and the GGUF file if any."""

    name: str
    folder: Path
    sha256: str
    gguf: Path | None

    @property
    def pre_tokenizer(self) -> str | None:
        """llama.cpp's name of the pre-tokenizer, if the base is a GGUF file."""
        return None if self.gguf is None else read_gguf(self.gguf).text("tokenizer.ggml.pre")


def check_packages_for_tuning() -> None:
    """Raise MachineError, with the remedy, where a package of the extra ``train`` is missing."""
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise MachineError(
            f"training needs {', '.join(missing)}: pip install 'caretbench[local,train]', or, in a clone, "
            "make train-env and then .venv-train/bin/caretbench"
        )


def open_base(name: str, progress: Progress) -> TuningBase:
    """Return the base ``name``: a model that was pulled, a GGUF file, or a folder with ``config.json``.

    Raises:
        DataError: it is none of them, or its tokens are not those of llama.cpp.
    """
    path = Path(name).expanduser()
    if name not in catalogue() and (path / "config.json").is_file():
        return TuningBase(path.name, path, folder_sha256(path), None)
    weights = find_weights(name)
    digest = weights_sha256(weights)
    folder = cache_folder() / "models" / "dequantised" / digest[:32]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        lock_file(lock)
        if not folder.is_dir():
            progress("dequantising", 1, 1, weights.name)
            partial = folder.with_name(f".{folder.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            _dequantise(weights, partial)
            partial.replace(folder)
    return TuningBase(name if name in catalogue() else weights.stem, folder, digest, weights)


def _dequantise(weights: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
    tokenizer: Any = AutoTokenizer.from_pretrained(**where)
    header = read_gguf(weights)
    for name in ("bos", "eos"):
        # transformers takes token 0 for none.
        if (number := header.number(f"tokenizer.ggml.{name}_token_id")) is not None:
            setattr(tokenizer, f"{name}_token", header.tokens[number])
    _check_tokens(tokenizer, weights, "x".join(sorted(header.control_tokens)[:_MARKS]))
    model: Any = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    # It would refuse to be saved: "quantized with gguf and is not serializable".
    model.hf_quantizer, model.is_quantized = None, False
    del model.config.quantization_config
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


def _check_tokens(tokenizer: Any, weights: Path, marks: str) -> None:
    """Raise DataError where llama.cpp, which is asked later, cuts a text into other tokens than those trained on."""
    import httpx

    from caretbench.local.llama_server import LlamaServer, server_settings

    server = LlamaServer(weights, server_settings(read_gguf(weights), threads=1, context_tokens=256))
    try:
        url = server.ensure()
        for text in (*_TOKENIZED, marks):
            body = {"content": text, "add_special": True, "parse_special": True}
            told = httpx.post(f"{url}/tokenize", json=body, headers=server.headers, trust_env=False).json()["tokens"]
            if told != tokenizer(text).input_ids:
                raise DataError(f"{weights}: transformers cuts {text[:20]!r} into other tokens than llama.cpp does")
    finally:
        server.close()
