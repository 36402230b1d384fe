"""Every family's prompt, byte by byte, as the vendors document it; written by hand, not by the code under test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.problem import ContextFile
from caretbench.prompts.fim.families import PrefixSuffixOrder, fim_formats
from caretbench.prompts.strategy import UnpromptableError

ONE = ContextFile(path="lib/one.py", text="ONE = 1\n")
TWO = ContextFile(path="two.py", text="TWO = 2")

PSM = "<fim_prefix>P<fim_suffix>S<fim_middle>"
PSM_BARS = "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>"
QWEN_FILES = (
    "<|repo_name|>repo\n<|file_sep|>lib/one.py\nONE = 1\n<|file_sep|>two.py\nTWO = 2\n<|file_sep|>main.py\n"
    "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>"
)
COMMENTS = "# Path: lib/one.py\n# ONE = 1\n# Path: two.py\n# TWO = 2\n"

# family, order: what is sent for P, S alone; and in main.py of "repo", beside two other files
KNOWN_BYTES: dict[tuple[str, PrefixSuffixOrder], tuple[str, str]] = {
    ("qwen2.5-coder", "psm"): (PSM_BARS, QWEN_FILES),
    ("qwen3-coder", "psm"): (PSM_BARS, QWEN_FILES),
    ("codeqwen1.5", "psm"): (
        PSM,
        "<repo_name>repo\n<file_sep>lib/one.py\nONE = 1\n<file_sep>two.py\nTWO = 2\n<file_sep>main.py\n"
        "<fim_prefix>P<fim_suffix>S<fim_middle>",
    ),
    ("deepseek-coder", "psm"): (
        "<\uff5cfim\u2581begin\uff5c>P<\uff5cfim\u2581hole\uff5c>S<\uff5cfim\u2581end\uff5c>",
        "<\uff5cfim\u2581begin\uff5c>#lib/one.py\nONE = 1\n#two.py\nTWO = 2\n#main.py\n"
        "P<\uff5cfim\u2581hole\uff5c>S<\uff5cfim\u2581end\uff5c>",
    ),
    ("santacoder", "psm"): (
        "<fim-prefix>P<fim-suffix>S<fim-middle>",
        f"<fim-prefix>{COMMENTS}P<fim-suffix>S<fim-middle>",
    ),
    ("santacoder", "spm"): (
        "<fim-prefix><fim-suffix>S<fim-middle>P",
        f"<fim-prefix><fim-suffix>S<fim-middle>{COMMENTS}P",
    ),
    ("starcoder", "psm"): (PSM, f"<fim_prefix>{COMMENTS}P<fim_suffix>S<fim_middle>"),
    ("starcoder", "spm"): (
        "<fim_prefix><fim_suffix>S<fim_middle>P",
        f"<fim_prefix><fim_suffix>S<fim_middle>{COMMENTS}P",
    ),
    ("starcoder2", "psm"): (
        PSM,
        "<repo_name>repo<file_sep>lib/one.py\nONE = 1\n<file_sep>two.py\nTWO = 2<file_sep>"
        "<fim_prefix>main.py\nP<fim_suffix>S<fim_middle>",
    ),
    ("starcoder2", "spm"): (
        "<fim_prefix><fim_suffix>S<fim_middle>P",
        "<repo_name>repo<file_sep>lib/one.py\nONE = 1\n<file_sep>two.py\nTWO = 2<file_sep>"
        "<fim_prefix><fim_suffix>S<fim_middle>main.py\nP",
    ),
    ("stablecode", "psm"): (PSM, f"<fim_prefix>{COMMENTS}P<fim_suffix>S<fim_middle>"),
    ("codellama", "psm"): ("<PRE> P <SUF>S <MID>", f"<PRE> {COMMENTS}P <SUF>S <MID>"),
    ("codellama", "spm"): ("<PRE> <SUF>S <MID> P", f"<PRE> <SUF>S <MID> {COMMENTS}P"),
    ("codegemma", "psm"): (
        PSM_BARS,
        "lib/one.py\nONE = 1\n<|file_separator|>two.py\nTWO = 2<|file_separator|>main.py\n"
        "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>",
    ),
    ("codegemma", "spm"): (
        "<|fim_suffix|>S<|fim_prefix|>P<|fim_middle|>",
        "lib/one.py\nONE = 1\n<|file_separator|>two.py\nTWO = 2<|file_separator|>main.py\n"
        "<|fim_suffix|>S<|fim_prefix|>P<|fim_middle|>",
    ),
    ("codestral", "spm"): (
        "[SUFFIX]S[PREFIX]P",
        "[SUFFIX]S[PREFIX]+++++ lib/one.py\nONE = 1\n\n+++++ two.py\nTWO = 2\n\n+++++ main.py\nP",
    ),
    ("codegeex4", "spm"): (
        "<|user|>\n###PATH:\n###LANGUAGE:Python\n###MODE:BLOCK\n"
        "<|code_suffix|>S<|code_prefix|>P<|code_middle|><|assistant|>\n",
        "<|user|>\n###REFERENCE:\n###PATH:lib/one.py\nONE = 1\n###REFERENCE:\n###PATH:two.py\nTWO = 2\n"
        "###PATH:main.py\n###LANGUAGE:Python\n###MODE:BLOCK\n"
        "<|code_suffix|>S<|code_prefix|>P<|code_middle|><|assistant|>\n",
    ),
    ("glm-4.5", "psm"): (
        "<|code_prefix|>P<|code_suffix|>S<|code_middle|>",
        f"<|code_prefix|>{COMMENTS}P<|code_suffix|>S<|code_middle|>",
    ),
    ("granite-code", "psm"): (PSM, f"<fim_prefix>{COMMENTS}P<fim_suffix>S<fim_middle>"),
    ("granite", "psm"): (PSM_BARS, f"<|fim_prefix|>{COMMENTS}P<|fim_suffix|>S<|fim_middle|>"),
    ("seed-coder", "spm"): (
        "<[fim-suffix]>S<[fim-prefix]>P<[fim-middle]>",
        f"<[fim-suffix]>S<[fim-prefix]>{COMMENTS}P<[fim-middle]>",
    ),
    ("mellum", "spm"): (
        "<fim_suffix>S<fim_prefix>P<fim_middle>",
        "<filename>lib/one.py\nONE = 1\n<filename>two.py\nTWO = 2\n<filename>main.py\n"
        "<fim_suffix>S<fim_prefix>P<fim_middle>",
    ),
    ("incoder", "psm"): ("P<|mask:0|>S<|mask:1|><|mask:0|>", f"{COMMENTS}P<|mask:0|>S<|mask:1|><|mask:0|>"),
    ("falcon-h1-tiny-coder", "psm"): (
        "<|prefix|>P<|suffix|>S<|middle|>",
        f"<|prefix|>{COMMENTS}P<|suffix|>S<|middle|>",
    ),
}

# family: what every one of its prompts has to stop at
STOPS: dict[str, set[str]] = {
    "qwen2.5-coder": {"<|endoftext|>", "<|im_end|>", "<|file_sep|>", "<|repo_name|>", "<|fim_pad|>"},
    "qwen3-coder": {"<|endoftext|>", "<|im_end|>", "<|file_sep|>", "<|repo_name|>", "<|fim_pad|>"},
    "codeqwen1.5": {"<|endoftext|>", "<file_sep>", "<fim_pad>"},
    "deepseek-coder": {"<\uff5cend\u2581of\u2581sentence\uff5c>"},
    "santacoder": {"<|endoftext|>"},
    "starcoder": {"<|endoftext|>"},
    "starcoder2": {"<|endoftext|>", "<file_sep>"},
    "stablecode": {"<|endoftext|>"},
    "codellama": {"<EOT>"},
    "codegemma": {"<|file_separator|>", "<end_of_turn>", "<eos>"},
    "codestral": {"</s>", "[PREFIX]", "[SUFFIX]"},
    "codegeex4": {"<|user|>", "<|endoftext|>"},
    "glm-4.5": {"<|endoftext|>"},
    "granite-code": {"<|end_of_text|>"},
    "granite": {"<|end_of_text|>"},
    "seed-coder": {"<[end\u2581of\u2581sentence]>"},
    "mellum": {"<|endoftext|>", "<filename>"},
    "incoder": {"<|endofmask|>"},
    "falcon-h1-tiny-coder": {"<|end_of_text|>"},
}

FAMILIES = list(KNOWN_BYTES)


def test_every_family_and_order_has_known_bytes() -> None:
    assert set(KNOWN_BYTES) == {(entry.name, order) for entry in fim_formats().values() for order in entry.orders}
    assert set(STOPS) == set(fim_formats())


@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_known_bytes(family: str, order: PrefixSuffixOrder) -> None:
    alone, among_files = KNOWN_BYTES[family, order]
    entry = fim_formats()[family]
    rendered = entry.render("P", "S", language="python", order=order)
    assert rendered.text.encode() == alone.encode()
    assert set(rendered.stop) >= STOPS[family]
    rendered = entry.render(
        "P", "S", language="python", path="main.py", repository="repo", files=(ONE, TWO), order=order
    )
    assert rendered.text.encode() == among_files.encode()


def test_a_path_alone_changes_only_the_families_that_write_one() -> None:
    changed = {
        name: text
        for name, entry in fim_formats().items()
        if (text := entry.render("P", "S", language="python", path="main.py", repository="repo").text)
        != entry.render("P", "S", language="python").text
    }
    assert changed == {
        "mellum": "<filename>main.py\n<fim_suffix>S<fim_prefix>P<fim_middle>",
        "codegeex4": "<|user|>\n###PATH:main.py\n###LANGUAGE:Python\n###MODE:BLOCK\n"
        "<|code_suffix|>S<|code_prefix|>P<|code_middle|><|assistant|>\n",
    }


def test_files_without_a_repository_or_a_path() -> None:
    def text(family: str) -> str:
        return fim_formats()[family].render("P", "S", language="python", files=(ONE,)).text

    assert text("qwen2.5-coder") == "<|file_sep|>lib/one.py\nONE = 1\n<|file_sep|>\n" + PSM_BARS
    assert text("starcoder2") == ("<file_sep>lib/one.py\nONE = 1\n<file_sep><fim_prefix>\nP<fim_suffix>S<fim_middle>")


def test_files_as_comments_of_the_problems_language() -> None:
    entry = fim_formats()["starcoder"]
    file = ContextFile(path="a.ts", text="let a;\n\nlet b;\r\n")
    rendered = entry.render("P", "S", language="ts", files=(file,)).text
    assert rendered == "<fim_prefix>// Path: a.ts\n// let a;\n//\n// let b;\nP<fim_suffix>S<fim_middle>"
    with pytest.raises(UnpromptableError, match="of cobol are not known"):
        entry.render("P", "S", language="cobol", files=(file,))
    assert entry.render("P", "S", language="cobol").text == PSM


def test_languages_by_their_titles_and_blank_where_unknown() -> None:
    entry = fim_formats()["codegeex4"]
    assert "###LANGUAGE:C++\n" in entry.render("", "", language="c++").text
    assert "###LANGUAGE:\n" in entry.render("", "", language="cobol").text


def test_text_is_never_substituted_twice() -> None:
    names = "{prefix}{suffix}{files}{path}{language}{header}{repository_name}{text}{newline}\\1\\g<0>"
    for entry in fim_formats().values():
        for order in entry.orders:
            rendered = entry.render(
                names, names, language="python", path=names, repository=names,
                files=(ContextFile(path=names, text=names),), order=order,
            ).text  # fmt: skip
            assert rendered.count(names) >= 4
            assert not rendered.replace(names, "").count("{")


def test_an_order_that_a_family_does_not_have() -> None:
    with pytest.raises(ValueError, match=r"codestral .*psm; .*spm"):
        fim_formats()["codestral"].render("", "", language="python", order="psm")


@pytest.mark.parametrize("family", sorted(fim_formats()))
def test_every_sentinel_is_refused_wherever_it_stands(family: str) -> None:
    entry = fim_formats()[family]
    for sentinel in {*entry.identified_by, *entry.stop, *entry.reserved}:
        text = f"a = '{sentinel}'\n"
        for arguments in (
            {"prefix": text},
            {"suffix": text},
            {"path": text},
            {"repository": text},
            {"files": (ContextFile(path="a.py", text=text),)},
            {"files": (ContextFile(path=text, text="a"),)},
        ):
            with pytest.raises(UnpromptableError) as refusal:
                entry.render(**{"prefix": "", "suffix": "", "language": "python"} | arguments)
            assert entry.title in str(refusal.value)
            assert any(repr(known) in str(refusal.value) and known in text for known in entry.sentinels)


def test_the_refusal_names_the_sentinel_and_the_place() -> None:
    with pytest.raises(UnpromptableError) as refusal:
        fim_formats()["starcoder"].render("", "x <fim_middle> y", language="python")
    assert str(refusal.value) == "the text after the caret holds '<fim_middle>', a sentinel of StarCoder"


# What stands around prefix and suffix, to read them back; the last of each pair may be the end of the prompt.
BETWEEN: dict[tuple[str, PrefixSuffixOrder], tuple[tuple[str, str], tuple[str, str]]] = {
    ("deepseek-coder", "psm"): (
        ("<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>"),
        ("<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
    ),
    ("santacoder", "psm"): (("<fim-prefix>", "<fim-suffix>"), ("<fim-suffix>", "<fim-middle>")),
    ("santacoder", "spm"): (("<fim-middle>", ""), ("<fim-suffix>", "<fim-middle>")),
    ("starcoder", "spm"): (("<fim_middle>", ""), ("<fim_suffix>", "<fim_middle>")),
    ("starcoder2", "spm"): (("<fim_middle>", ""), ("<fim_suffix>", "<fim_middle>")),
    ("codellama", "psm"): (("<PRE> ", " <SUF>"), (" <SUF>", " <MID>")),
    ("codellama", "spm"): ((" <MID> ", ""), (" <SUF>", " <MID> ")),
    ("codegemma", "spm"): (("<|fim_prefix|>", "<|fim_middle|>"), ("<|fim_suffix|>", "<|fim_prefix|>")),
    ("codestral", "spm"): (("[PREFIX]", ""), ("[SUFFIX]", "[PREFIX]")),
    ("codegeex4", "spm"): (("<|code_prefix|>", "<|code_middle|>"), ("<|code_suffix|>", "<|code_prefix|>")),
    ("glm-4.5", "psm"): (("<|code_prefix|>", "<|code_suffix|>"), ("<|code_suffix|>", "<|code_middle|>")),
    ("seed-coder", "spm"): (("<[fim-prefix]>", "<[fim-middle]>"), ("<[fim-suffix]>", "<[fim-prefix]>")),
    ("mellum", "spm"): (("<fim_prefix>", "<fim_middle>"), ("<fim_suffix>", "<fim_prefix>")),
    ("incoder", "psm"): (("", "<|mask:0|>"), ("<|mask:0|>", "<|mask:1|>")),
    ("falcon-h1-tiny-coder", "psm"): (("<|prefix|>", "<|suffix|>"), ("<|suffix|>", "<|middle|>")),
}
PSM_BETWEEN = (("<fim_prefix>", "<fim_suffix>"), ("<fim_suffix>", "<fim_middle>"))
PSM_BARS_BETWEEN = (("<|fim_prefix|>", "<|fim_suffix|>"), ("<|fim_suffix|>", "<|fim_middle|>"))

# Text that is likely to be mistaken for a sentinel.
fragments = st.sampled_from(
    ["<", ">", "|", "<|", "|>", "<fim", "fim_prefix", "_suffix>", "<PRE", "SUF>", " <SU", "[", "]", "SUFFIX", "mask:0",
     "\uff5c", "\u2581", "{prefix}", "{files}", "\n", "\r\n", " ", "\t", "a", "é", "\U0001f600", "\x00", "##", "<s"]
)  # fmt: skip
texts = st.one_of(st.text(max_size=30), st.lists(fragments, max_size=12).map("".join))


@pytest.mark.parametrize(("family", "order"), FAMILIES)
@given(prefix=texts, suffix=texts, with_path=st.booleans())
def test_prefix_and_suffix_can_be_read_back(
    family: str, order: PrefixSuffixOrder, prefix: str, suffix: str, with_path: bool
) -> None:
    entry = fim_formats()[family]
    around_prefix, around_suffix = BETWEEN.get(
        (family, order), PSM_BARS_BETWEEN if "<|fim_prefix|>" in entry.identified_by else PSM_BETWEEN
    )
    path = "main.py" if with_path else None
    try:
        text = entry.render(prefix, suffix, language="python", path=path, order=order).text
    except UnpromptableError:
        assert any(sentinel in prefix or sentinel in suffix for sentinel in entry.sentinels)
        return

    def between(start: str, end: str) -> str:
        rest = text.partition(start)[2] if start else text
        return rest.partition(end)[0] if end else rest

    assert between(*around_prefix).encode("utf-8", "surrogatepass") == prefix.encode("utf-8", "surrogatepass")
    assert between(*around_suffix).encode("utf-8", "surrogatepass") == suffix.encode("utf-8", "surrogatepass")
