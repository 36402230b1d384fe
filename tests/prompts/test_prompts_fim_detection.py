"""Which format a model has, by its special tokens and by its name; and reading the tokens of a stored tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.prompts.fim.families import (
    detect_format,
    families_without_fim,
    fim_formats,
    format_for_model,
    read_special_tokens,
    sentinels_split_by_tokenizer,
)

STARCODER = frozenset(
    {"<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<filename>", "<gh_stars>"}
)
QWEN = frozenset(
    {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
     "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_call>"}
)  # fmt: skip

# Special tokens as the tokenizers of these models have them (the telling ones, and some of the rest).
TOKENIZERS: dict[str, tuple[frozenset[str], str | None]] = {
    "Qwen2.5-Coder": (QWEN, "qwen2.5-coder"),
    "Qwen3-Coder": (QWEN | {"<think>", "</think>", "<tool_response>"}, "qwen2.5-coder"),
    "StarCoder": (STARCODER, "starcoder"),
    "StableCode": (STARCODER | {"<reponame>", "<repo_continuation>"}, "starcoder"),
    "Granite code": (STARCODER | {"<reponame>"}, "starcoder"),
    "StarCoder2": (STARCODER | {"<repo_name>", "<file_sep>", "<issue_start>"}, "starcoder2"),
    "CodeQwen1.5": (STARCODER | {"<repo_name>", "<file_sep>", "<|im_start|>"}, "starcoder2"),
    "SantaCoder": (frozenset({"<|endoftext|>", "<fim-prefix>", "<fim-middle>", "<fim-suffix>"}), "santacoder"),
    "DeepSeek-Coder": (
        frozenset(
            {"<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>", "<|EOT|>"}
        ),
        "deepseek-coder",
    ),
    "CodeLlama": (frozenset({"<s>", "</s>", "▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>"}), "codellama"),
    "CodeLlama, plain": (frozenset({"<s>", "</s>", "<PRE>", "<SUF>", "<MID>", "<EOT>"}), "codellama"),
    "CodeGemma": (
        frozenset({"<bos>", "<eos>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_separator|>"}),
        "codegemma",
    ),
    "Codestral": (frozenset({"<s>", "</s>", "[INST]", "[PREFIX]", "[SUFFIX]", "[MIDDLE]"}), "codestral"),
    "CodeGeeX4": (
        frozenset({"<|user|>", "<|assistant|>", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}),
        "codegeex4",
    ),
    "GLM-4.5": (
        frozenset({"<|user|>", "<|assistant|>", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", "/nothink"}),
        "glm-4.5",
    ),
    "Granite 3.3": (
        frozenset({"<|end_of_text|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>"}),
        "granite",
    ),
    "Seed-Coder": (frozenset({"<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>"}), "seed-coder"),
    "InCoder": (frozenset({"<|mask:0|>", "<|mask:1|>", "<|mask:2|>", "<|endofmask|>"}), "incoder"),
    "Falcon-H1-Tiny-Coder": (frozenset({"<|prefix|>", "<|suffix|>", "<|middle|>"}), "falcon-h1-tiny-coder"),
    "SmolLM2": (frozenset({"<|endoftext|>", "<|im_start|>", "<repo_name>", "<file_sep>", "<filename>"}), None),
    "a GPT-4-like vocabulary": (
        frozenset({"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|endofprompt|>"}),
        None,
    ),
    "a chat model": (frozenset({"<s>", "</s>", "<|im_start|>", "<|im_end|>"}), None),
    "no special tokens": (frozenset(), None),
}


@pytest.mark.parametrize("model", TOKENIZERS)
def test_detection_by_special_tokens(model: str) -> None:
    tokens, family = TOKENIZERS[model]
    found = detect_format(tokens)
    assert (found and found.name) == family


@pytest.mark.parametrize("family", sorted(fim_formats()))
def test_every_family_is_told_by_its_own_tokens_and_by_no_fewer(family: str) -> None:
    entry = fim_formats()[family]
    told = entry.detected_as or family
    assert fim_formats()[told].detected_as is None
    found = detect_format(frozenset(entry.identified_by))
    assert found is not None
    assert found.name == told
    for token in entry.identified_by:
        fewer = detect_format(frozenset(entry.identified_by) - {token})
        assert fewer is None or set(fewer.identified_by) < set(entry.identified_by)


def test_no_two_families_have_the_same_tokens_unless_one_is_told_as_the_other() -> None:
    told = [frozenset(entry.identified_by) for entry in fim_formats().values() if not entry.detected_as]
    assert len(told) == len(set(told))


NAMES = {
    "Qwen/Qwen2.5-Coder-7B": "qwen2.5-coder",
    "openai-api-completions/here/qwen2.5-coder:1.5b-base": "qwen2.5-coder",
    "gguf//models/Qwen2.5_Coder-0.5B-Q8_0.gguf": "qwen2.5-coder",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "qwen3-coder",
    "Qwen/Qwen3-Coder-Next-Base": "qwen2.5-coder",
    "Qwen/CodeQwen1.5-7B": "codeqwen1.5",
    "deepseek-ai/deepseek-coder-1.3b-base": "deepseek-coder",
    "deepseek-ai/DeepSeek-Coder-V2-Lite-Base": "deepseek-coder",
    "deepseek-ai/DeepSeek-V3": "deepseek-coder",
    "bigcode/santacoder": "santacoder",
    "bigcode/starcoderbase-1b": "starcoder",
    "bigcode/tiny_starcoder_py": "starcoder",
    "bigcode/starcoder2-3b": "starcoder2",
    "stabilityai/stable-code-3b": "stablecode",
    "codellama/CodeLlama-7b-hf": "codellama",
    "ollama/codellama:7b-code": "codellama",
    "codellama/CodeLlama-34b-hf": None,
    "codellama:7b-python": None,
    "google/codegemma-2b": "codegemma",
    "mistral/codestral-2508": "codestral",
    "mistralai/Mamba-Codestral-7B-v0.1": None,
    "mistralai/Devstral-Small-2507": "codestral",
    "THUDM/codegeex4-all-9b": "codegeex4",
    "zai-org/GLM-4.5-Air": "glm-4.5",
    "ibm-granite/granite-3b-code-base": "granite-code",
    "granite-code:3b": "granite-code",
    "ibm-granite/granite-3.3-2b-base": "granite",
    "ibm-granite/granite-4.0-h-tiny": "granite",
    "ByteDance-Seed/Seed-Coder-8B-Base": "seed-coder",
    "JetBrains/Mellum-4b-base": "mellum",
    r"gguf/C:\models\mellum-4b-sft-python.Q4_K_M.gguf": "mellum",
    "facebook/incoder-1B": "incoder",
    "tiiuae/Falcon-H1-Tiny-Coder-90M": "falcon-h1-tiny-coder",
    "01-ai/Yi-Coder-1.5B": None,
    "infly/OpenCoder-8B-Base": None,
    "openai/gpt-4o-mini": None,
    "gguf//home/someone/starcoder2-trials/model.gguf": None,
    "": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_format_by_the_models_name(name: str) -> None:
    try:
        found = format_for_model(name, None).name
    except ValueError:
        found = None
    assert found == NAMES[name]


def test_patterns_are_written_as_names_are_compared() -> None:
    patterns = [
        pattern for entry in (*fim_formats().values(), *families_without_fim().values()) for pattern in entry.models
    ]
    assert len(patterns) == len(set(patterns))
    assert all(pattern == pattern.lower().replace("_", "-") for pattern in patterns)


def test_the_name_decides_between_families_with_the_same_tokens() -> None:
    mellum = STARCODER | {"<reponame>"}
    assert format_for_model("JetBrains/Mellum-4b-base", mellum).name == "mellum"
    assert format_for_model("stabilityai/stable-code-3b", mellum).name == "stablecode"
    assert format_for_model("gguf/model.gguf", mellum).name == "starcoder"
    assert format_for_model("Qwen/Qwen3-Coder-30B-A3B-Instruct", QWEN).name == "qwen3-coder"


def test_tokens_win_over_a_name_that_does_not_fit_them() -> None:
    assert format_for_model("starcoder2-distilled-into-qwen", QWEN).name == "qwen2.5-coder"


def test_the_name_alone_where_no_tokens_are_known() -> None:
    assert format_for_model("mistral/codestral-latest", None).name == "codestral"


@pytest.mark.parametrize(
    ("name", "tokens", "message"),
    [
        ("openai/gpt-4o-mini", None, "its special tokens are not known, and its name tells no family of qwen2.5-coder"),
        ("gguf/model.gguf", frozenset({"<s>"}), "its tokenizer has the tokens of no known family; name a family"),
        ("bigcode/starcoder2-3b", frozenset({"<s>"}), r"family \(not those of StarCoder2, though it is named so\)"),
        ("01-ai/Yi-Coder-9B", STARCODER, r"Yi-Coder-9B cannot fill in the middle \(Yi-Coder\): it was not trained"),
        ("infly/OpenCoder-1.5B-Base", None, r"cannot fill in the middle \(OpenCoder\): it was not trained"),
        ("codellama:34b", None, "of CodeLlama, 34B and the Python models were not trained"),
    ],
)
def test_an_unknown_format_is_refused_with_its_reason(name: str, tokens: frozenset[str] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        format_for_model(name, tokens)


# --- stored tokenizers ------------------------------------------------------------------------------------------


def write(folder: Path, name: str, content: object) -> Path:
    (folder / name).write_text(json.dumps(content), "utf-8")
    return folder / name


def test_added_tokens_whether_flagged_special_or_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        "tokenizer.json",
        {
            "added_tokens": [
                {"id": 9, "content": "<|endoftext|>", "special": True},
                {"id": 10, "content": "<|fim_prefix|>", "special": False},
            ],
            "model": {"type": "BPE", "vocab": {"a": 0, "<|prefix|": 1}},
        },
    )
    assert read_special_tokens(tmp_path) == {"<|endoftext|>", "<|fim_prefix|>"}


def test_sentinels_that_are_plain_entries_of_the_vocabulary(tmp_path: Path) -> None:
    for vocabulary in ({"a": 0, "▁<PRE>": 1, "<SUF>": 2}, [["a", -1.0], ["▁<PRE>", -2.0], ["<SUF>", -2.0]]):
        path = write(tmp_path, "tokenizer.json", {"model": {"vocab": vocabulary}})
        assert read_special_tokens(path) == {"▁<PRE>", "<SUF>"}


def test_the_tokenizers_config(tmp_path: Path) -> None:
    write(
        tmp_path,
        "tokenizer_config.json",
        {
            "added_tokens_decoder": {"1": {"content": "<fim_prefix>", "special": True}},
            "additional_special_tokens": ["<fim_middle>", {"content": "<fim_suffix>"}],
            "bos_token": "<s>",
            "eos_token": {"content": "</s>"},
            "pad_token": None,
            "chat_template": "{{ messages }}",
        },
    )
    assert read_special_tokens(tmp_path) == {"<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<s>", "</s>"}


def test_both_files_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "tokenizer.json", {"added_tokens": [{"content": "<a>"}]})
    write(tmp_path, "tokenizer_config.json", {"eos_token": "<b>"})
    assert read_special_tokens(tmp_path) == {"<a>", "<b>"}


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"{", b"[1]", b'"x"', b"[" * 100_000],
    ids=["empty", "not UTF-8", "half", "a list", "a text", "deep"],
)
def test_what_is_no_tokenizer_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"tokenizer\.json: ") as refusal:
        read_special_tokens(path)
    assert "\n" not in str(refusal.value)


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"tokenizer\.json .*tokenizer_config\.json"):
        read_special_tokens(tmp_path)
    with pytest.raises(DataError, match=r"/missing\.json: cannot be"):
        read_special_tokens(tmp_path / "missing.json")


@pytest.mark.parametrize(
    "content",
    [
        {"added_tokens": "x", "added_tokens_decoder": [1], "model": [], "bos_token": 3},
        {"added_tokens": [None, 1, {"content": 5}, {}], "model": {"vocab": [[], [1], 2, None]}},
        {"additional_special_tokens": {"a": 1}, "model": {"vocab": "x"}},
    ],
)
def test_fields_of_other_types_are_passed_over(tmp_path: Path, content: object) -> None:
    assert read_special_tokens(write(tmp_path, "tokenizer.json", content)) == frozenset()


@pytest.mark.parametrize("family", sorted(fim_formats()))
def test_the_round_trip_through_a_real_tokenizer(tmp_path: Path, family: str) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="the extra `local` is not installed")
    entry = fim_formats()[family]
    letters = {chr(number): number - 32 for number in range(32, 127)} | {"\uff5c": 95, "\u2581": 96, "?": 97}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=letters, merges=[]))
    tokenizer.add_special_tokens(list(entry.identified_by[1:]))

    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    assert sentinels_split_by_tokenizer(entry, encode) == entry.identified_by[:1]
    tokenizer.add_special_tokens([entry.identified_by[0]])
    assert sentinels_split_by_tokenizer(entry, encode) == ()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = detect_format(read_special_tokens(tmp_path))
    assert found is not None
    assert found.name == (entry.detected_as or family)
    for order in entry.orders:
        text = entry.render("a = ", "\nb", language="python", order=order).text
        sentinels = [token for token in entry.identified_by if token in text]
        ids = encode(text)
        assert all(ids.count(tokenizer.token_to_id(token)) == text.count(token) for token in sentinels)
