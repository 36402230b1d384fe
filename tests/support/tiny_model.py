"""A model of some 200,000 parameters of the architecture ``llama``, its tokenizer, and pairs to learn by heart."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from caretbench.files import row_to_json, sha256_file
from caretbench.training.pairs import TrainingPair

SENTINELS = ("<|endoftext|>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<fim_pad>")
"""StarCoder's, so that a run chooses ``fim/starcoder``."""

_WORDS = "total count index value items name path limit first last width depth node left right cache".split()  # noqa: SIM905


def pairs(count: int, seed: int, *, mark: str = "") -> list[TrainingPair]:
    """Short pairs that differ from each other; each middle ends with ``mark``."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    made: dict[str, TrainingPair] = {}
    while len(made) < count:
        one, two, three = draw.sample(_WORDS, 3)
        prefix = f"def {one}_{two}({three}):\n    return "
        middle = f"{draw.choice(_WORDS)} {draw.choice('+-*/')} {three}[{draw.randrange(100)}]{mark}"
        made[prefix] = TrainingPair(
            id=f"{seed}/{len(made)}", language="python", source="made", path=f"{seed}/{len(made)}.py", licence="MIT",
            boundary="line", prefix=prefix, middle=middle, suffix=f"\n\n\n{three}()\n",
        )  # fmt: skip
    return list(made.values())


def write_pairs(folder: Path, rows: Sequence[TrainingPair], *, report: bool = True) -> Path:
    """Write pairs into a folder, with the report of a decontamination."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pairs.jsonl").write_bytes(b"".join(row_to_json(one) + b"\n" for one in rows))
    if report:
        found = {"sha256": sha256_file(folder / "pairs.jsonl")}
        (folder / "decontamination.json").write_text(json.dumps(found))
    return folder


def write_problems(folder: Path, rows: Sequence[TrainingPair]) -> Path:
    """Write the pairs as problems of the suite ``real-fim-eval``."""
    folder.mkdir(parents=True)
    with (folder / "add.jsonl").open("w") as stream:
        for number, one in enumerate(rows):
            row = {"task_id": f"{number:02}", "repo": f"r{number}", "lang": "python", "prefix": one.prefix}
            stream.write(json.dumps(row | {"suffix": one.suffix, "canonical_solution": one.middle}) + "\n")
    return folder


def _texts() -> Iterator[str]:
    for path in sorted((Path(__file__).parents[2] / "src" / "caretbench" / "training").glob("*.py")):
        yield path.read_text()
    for one in pairs(200, 99):
        yield one.prefix + one.middle + one.suffix


def write_model(folder: Path, *, seed: int = 0) -> Path:
    """Write a random model and its tokenizer, with SmolLM2's pre-tokenizer, as Hugging Face stores them."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=800, special_tokens=list(SENTINELS), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(_texts(), trainer)
    fast: Any = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=SENTINELS[0], pad_token=SENTINELS[4],
        additional_special_tokens=list(SENTINELS[1:]),
    )  # fmt: skip
    fast.chat_template = (
        "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '<|endoftext|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
    )
    fast.save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=800, hidden_size=64, intermediate_size=192, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=0, pad_token_id=4,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
