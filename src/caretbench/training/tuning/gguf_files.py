"""GGUF files of tuned models: adapters for llama.cpp, and whole models of the architecture ``llama``.

Names of tensors are mapped by the library ``gguf``. llama.cpp turns pairs of neighbours within a head where
transformers turns its two halves, so that rows of queries and keys change places.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from caretbench.errors import DataError

_ARCHITECTURES: Final = {
    "llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "starcoder2": "starcoder2",
    "gemma3_text": "gemma3",
}  # fmt: skip
"""llama.cpp's architecture by transformers' ``model_type``."""

_PERMUTED: Final = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
"""Projections whose rows change places under ``llama``, and the configuration's field with their number of heads."""

# llama.cpp's token types.
_NORMAL, _CONTROL, _USER_DEFINED, _UNUSED = 1, 3, 4, 5
_F32_FILE, _F16_FILE = 0, 1


def architecture_of(folder: Path) -> str:
    """Return llama.cpp's architecture of the model in a folder.

    Raises:
        DataError: it is not known here.
    """
    kind = _config(folder).get("model_type")
    if kind not in _ARCHITECTURES:
        raise DataError(f"{folder}: no GGUF is written of {kind}; known: {', '.join(_ARCHITECTURES)}")
    return _ARCHITECTURES[kind]


def write_adapter(adapter: Path, base: Path, target: Path) -> None:
    """Write the adapter in a folder of PEFT, for the model in the folder ``base``, as a GGUF file.

    Raises:
        DataError: the base's architecture is not known, or the adapter has a part that llama.cpp does not read.
    """
    from safetensors.numpy import load_file

    architecture = architecture_of(base)
    settings = json.loads((adapter / "adapter_config.json").read_text())
    with _open_writer(target, architecture) as writer:
        writer.add_type("adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", float(settings["lora_alpha"]))
        for name, value in load_file(adapter / "adapter_model.safetensors").items():
            module, lora, side = name.removeprefix("base_model.model.").partition(".lora_")
            if not lora or side not in ("A.weight", "B.weight"):
                raise DataError(f"{adapter}: llama.cpp reads no {name}")
            # Rows of the product are rows of its second factor.
            row_values = value if side[0] == "A" else _permuted(module, value, base, architecture)
            writer.add_tensor(f"{_mapped(f'{module}.weight', base, architecture)}.lora_{side[0].lower()}", row_values)


def write_model(folder: Path, target: Path, pre_tokenizer: str | None = None) -> None:
    """Write the model in a folder as a GGUF file; ``pre_tokenizer`` is llama.cpp's name of it, if that is known.

    Raises:
        DataError: it is of another architecture than ``llama``, or its tokenizer is not known here.
    """
    from transformers import AutoConfig

    if architecture_of(folder) != "llama":
        raise DataError(f"{folder}: whole models are written of the architecture llama alone; use the safetensors")
    config: Any = AutoConfig.from_pretrained(folder)
    rope = config.rope_parameters
    if rope.get("rope_type", "default") != "default" or getattr(config, "sliding_window", None):
        raise DataError(f"{folder}: scaled positions and sliding windows are not written; use the safetensors")
    with _open_writer(target, "llama") as writer:
        # Not the folder's: the same weights have the same bytes, and so the same identity, wherever they lie.
        writer.add_name(str(_config(folder)["model_type"]))
        writer.add_block_count(config.num_hidden_layers)
        writer.add_context_length(config.max_position_embeddings)
        writer.add_embedding_length(config.hidden_size)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_head_count(config.num_attention_heads)
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_freq_base(rope["rope_theta"])
        writer.add_rope_dimension_count(config.head_dim or config.hidden_size // config.num_attention_heads)
        writer.add_vocab_size(config.vocab_size)
        _add_tokenizer(writer, folder, config, pre_tokenizer)
        halves = False
        for name, value in _tensors(folder):
            halves = halves or value.dtype.itemsize == 2
            writer.add_tensor(name, value)
        writer.add_file_type(_F16_FILE if halves else _F32_FILE)


def _tensors(folder: Path) -> Iterator[tuple[str, Any]]:
    import torch
    from safetensors.torch import load_file

    for file in sorted(folder.glob("*.safetensors")):
        for name, value in load_file(file).items():
            # llama.cpp wants vectors in full; bfloat16 has no type in numpy.
            kind = torch.float32 if value.dim() == 1 or value.dtype == torch.float32 else torch.float16
            rows = _permuted(name.removesuffix(".weight"), value.to(kind).numpy(), folder, "llama")
            yield _mapped(name, folder, "llama"), rows


def _add_tokenizer(writer: Any, folder: Path, config: Any, pre_tokenizer: str | None) -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    stored = json.loads((folder / "tokenizer.json").read_text())
    if stored["model"]["type"] != "BPE" or "ByteLevel" not in json.dumps(stored["pre_tokenizer"]):
        raise DataError(f"{folder}: its tokenizer is no byte-level BPE; use the safetensors")
    if pre_tokenizer is None:
        kinds = [step["type"] for step in stored["pre_tokenizer"].get("pretokenizers", [stored["pre_tokenizer"]])]
        names = {("ByteLevel",): "gpt-2", ("Digits", "ByteLevel"): "smollm"}
        pre_tokenizer = names.get(tuple(kinds))
        if pre_tokenizer is None:
            raise DataError(f"{folder}: llama.cpp's name of its pre-tokenizer ({', '.join(kinds)}) is not known here")
    by_number = {number: token for token, number in tokenizer.get_vocab().items()}
    added = tokenizer.added_tokens_decoder
    tokens, types = [], []
    for number in range(config.vocab_size):
        tokens.append(by_number.get(number, f"[PAD{number}]"))
        kind = _NORMAL if number in by_number else _UNUSED
        types.append((_CONTROL if added[number].special else _USER_DEFINED) if number in added else kind)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre_tokenizer)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    merges = stored["model"]["merges"]
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in merges])
    writer.add_add_bos_token(tokenizer("x").input_ids[0] == tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    if tokenizer.bos_token_id is not None:
        writer.add_bos_token_id(tokenizer.bos_token_id)
    if tokenizer.chat_template:
        writer.add_chat_template(tokenizer.chat_template)


def _mapped(name: str, folder: Path, architecture: str) -> str:
    import gguf

    numbers = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(numbers[architecture], int(_config(folder)["num_hidden_layers"]))
    mapped = names.get_name(name, try_suffixes=(".weight", ".bias"))
    if mapped is None:
        raise DataError(f"{folder}: llama.cpp has no name for {name}")
    return str(mapped)


def _permuted(module: str, value: Any, folder: Path, architecture: str) -> Any:
    field = _PERMUTED.get(module.rpartition(".")[2])
    if field is None or architecture != "llama":
        return value
    heads = int(_config(folder)[field])
    return value.reshape(heads, 2, value.shape[0] // heads // 2, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)


def _config(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return config


@contextmanager
def _open_writer(target: Path, architecture: str) -> Iterator[Any]:
    """Yield the writer of a GGUF file, which has its name only when it is whole: a kill leaves the other one."""
    import gguf

    partial = target.with_name(f".{target.name}.partial")
    writer = gguf.GGUFWriter(partial, architecture)
    yield writer
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(target)
