from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.errors import UsageError
from caretbench.extraction import DEFAULT_POLICY, POLICIES, get_policy
from caretbench.extraction import cuts as cuts_module
from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.problem import Caret
from caretbench.profiles import PROFILES, rules_of

BLOCK = Caret(language="python", prefix="def f(a):\n", suffix="\nprint(f(1))\n")
CALL = Caret(language="java", prefix="class A { int f(int a) {\n", suffix="\n} }\n")


def test_the_cuts_of_one_papers_code_share_a_version() -> None:
    """They read texts by the same functions: a change of one is a change of all."""
    for paper in ("simcopilot", "codevbench"):
        cuts = [one.key for one in POLICIES.values() if one.name.startswith(f"{paper}/")]
        assert len(cuts) > 1
        assert len({key.partition("@")[2] for key in cuts}) == 1


def test_names_and_versions() -> None:
    assert set(POLICIES) == {
        "raw", "released", "clean", "first_line", "same_block", "syntax", "syntax_overlap", "block",
        "simcopilot/clean", "simcopilot/trim", "simcopilot/repair", "codevbench/answer", "codevbench/chat",
        "legacy/safim", "legacy/safim-block", "legacy/safim-control", "legacy/safim-api", "legacy/cceval",
    }  # fmt: skip
    assert get_policy().name == DEFAULT_POLICY == "syntax"
    assert get_policy("syntax@4") is get_policy("syntax")
    assert get_policy("first_line").key == "first_line@3"
    assert all(entry.description for entry in POLICIES.values())
    for unknown in ("syntax@1", "longest", "", "@1"):
        with pytest.raises(UsageError, match=r"policy .*raw@2, released@2"):
            get_policy(unknown)


def test_the_page_has_the_version_of_each_policy() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/policies.md").read_text("utf-8")
    assert [policy.key for policy in POLICIES.values() if f"| `{policy.name}` | {policy.version} |" not in page] == []


def test_raw_and_released_and_clean() -> None:
    text = "```python\n    return a\n```"
    assert get_policy("raw").apply(text, BLOCK) == (text, ())
    assert get_policy("released").apply(text, BLOCK) == ("    return a", ("fence removed",))
    assert get_policy("released").apply("Here:\n" + text, BLOCK).steps == ()
    assert get_policy("clean").apply("Here:\n" + text, BLOCK) == ("    return a", ("fence removed",))


def test_first_line() -> None:
    first = get_policy("first_line")
    assert first.apply("\n\n    b = a\n    return b", BLOCK).text == "\n\n    b = a"
    assert first.apply("    return b", BLOCK) == ("    return b", ())
    assert first.apply("    return b\n", BLOCK).steps == ()
    assert first.apply("\n \n", BLOCK) == ("\n \n", ())
    at_line = Caret(language="python", prefix="a = 1\n", suffix="c = 3\n")
    assert first.apply("b = 2\nc = 4\n", at_line).text == "b = 2\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("    b = a\n    return b\n\ndef g():\n    pass\n", "    b = a\n    return b\n"),
        ("    if a:\n        b = 1\n    return b\nprint(1)", "    if a:\n        b = 1\n    return b"),
        ("    b = '''\nx\n'''\n    c = [\n1]\n    return b\nx", "    b = '''\nx\n'''\n    c = [\n1]\n    return b"),
        ("    return a\n", "    return a\n"),
    ],
)
def test_same_block_of_python(text: str, expected: str) -> None:
    assert get_policy("same_block").apply(text, BLOCK).text == expected


def test_same_block_goes_on_with_the_line_of_the_caret() -> None:
    caret = Caret(language="python", prefix="def f(a):\n    return ", suffix="\n")
    assert get_policy("same_block").apply("a + 1\n\ndef g(): pass", caret).text == "a + 1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if (a > 0) { a = 1; }\nreturn a;\n}\nint g() { return 1; }", "if (a > 0) { a = 1; }\nreturn a;"),
        ("return a; } int g() {", "return a; "),
        ('String s = "}";\nreturn a; // }\n', 'String s = "}";\nreturn a; // }\n'),
    ],
)
def test_same_block_of_brace_languages(text: str, expected: str) -> None:
    assert get_policy("same_block").apply(text, CALL).text == expected


@pytest.mark.parametrize(
    ("text", "caret", "expected"),
    [
        ("    return a\n\ndef g():\n    pass", BLOCK, None),
        ("    return a\n\ndef g(:\n    pass", BLOCK, "    return a"),
        ("    return a\nThis returns a.", BLOCK, "    return a"),
        ("    return (\nThis returns", BLOCK, None),  # nothing parses: it stays
        ("    x = 1\n    return x\n    y = (", BLOCK, "    x = 1\n    return x"),
        ("return a;\n}\nint g() { return 1; }", CALL, "return a;"),
        ("return a;\n}\nint g() { return 1;", CALL, None),  # parses as it stands
        ("", BLOCK, None),
        ("\n    é = 'ü'\n    return (\n", BLOCK, "\n    é = 'ü'"),
    ],
)
def test_syntax(text: str, caret: Caret, expected: str | None) -> None:
    extracted = get_policy().apply(text, caret)
    assert extracted.text == (text if expected is None else expected)
    assert extracted.steps == (() if expected is None else ("cut where the program parses",))


@pytest.mark.parametrize(
    ("language", "prefix", "kept", "repeated", "suffix"),
    [
        ("javascript", "const p = load();\n", "p.run()\n\t.then(use)", "\n\t.catch(stop);", "\n\t.catch(stop);\n"),
        ("java", "class A { int f(S s) {\n  return s\n", "    .g(1)", "\n    .sum();", "\n    .sum();\n}}\n"),
        ("csharp", "class A { int F(S s) {\n  return s\n", "    .G(1)", "\n    .Sum();", "\n    .Sum();\n}}\n"),
        ("cpp", "int f(S s) {\n  return s\n", "    .g(1)", "\n    .h();", "\n    .h();\n}\n"),
    ],
)
def test_a_statement_that_the_suffix_goes_on_with_is_cut_before_its_end(
    language: str, prefix: str, kept: str, repeated: str, suffix: str
) -> None:
    """35 of 300 recorded answers before a suffix such as `.sum()` kept the statement's end twice, ended by `;`."""
    caret = Caret(language=language, prefix=prefix, suffix=suffix)
    assert get_policy("syntax").apply(kept + repeated, caret).text == kept
    assert get_policy("block").apply(kept + repeated, caret).text == kept


def test_syntax_ends_the_line_where_the_suffix_begins_one() -> None:
    caret = Caret(language="python", prefix="a = 1\n", suffix="c = 3\n")
    assert get_policy().apply("b = 2\nd = (", caret).text == "b = 2\n"


def test_after_stands_in_for_the_suffix() -> None:
    caret = Caret(language="python", prefix="x = [\n", suffix="")
    assert get_policy().apply("1,\n2,\n]\ny = (", caret).text == "1,\n2,\n]"
    assert get_policy().apply("1,\n2,\n]\ny = (", caret, "\n]\n").text == "1,\n2,"


def test_overlap_with_the_suffix() -> None:
    caret = Caret(language="python", prefix="def f(a):\n", suffix="\n    b = a\n    return b\n")
    overlap = get_policy("syntax_overlap")
    assert overlap.apply("    a += 1\n    b = a\n    return b\n", caret) == (
        "    a += 1",
        ("repetition of the suffix removed",),
    )
    assert overlap.apply("    b = a\n    return b", caret).steps == ()  # nothing else would be left
    assert overlap.apply("    a += 1\n    return b", caret).steps == ()
    braces = Caret(language="java", prefix="class A { void f() {\n", suffix="\n}\n}\n")
    assert overlap.apply("if (x) {\n  y();\n}", braces).steps == ()  # a bare bracket says nothing


def test_cuts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    parse = cuts_module.parse

    def counting(*arguments: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        return parse(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(cuts_module, "parse", counting)
    text = "    a = 1\n" * 2 + "    b = )\n" * 3000
    around = Surroundings("def f():\n", "\nf()\n", "python")
    assert cuts_module.longest_parsing_cut(text, around) == "    a = 1\n    a = 1"
    assert calls <= cuts_module.MAX_CUTS + 1


REPAIRING = {"block", "simcopilot/clean", "simcopilot/trim", "simcopilot/repair"}
"""Policies that move, add, or take lines out of the middle."""


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(POLICIES)),
    st.lists(
        st.sampled_from(["```", "```python", "    return a", "}", "<think>", "</think>", "Here is:", "x = (", "é", ""])
    ).map("\n".join),
    st.sampled_from([BLOCK, CALL]),
)
def test_policies_give_a_part_of_the_text_and_say_what_they_did(name: str, text: str, caret: Caret) -> None:
    extracted = get_policy(name).apply(text, caret)
    assert name in REPAIRING or extracted.text.removesuffix("\n") in text
    assert (extracted.steps == ()) == (extracted.text == text)
    assert get_policy(name).apply(text, caret) == extracted


def test_every_profile_has_a_policy() -> None:
    assert [get_policy(rules_of(profile).policy).key for profile in PROFILES] == ["released@2", "syntax@4"]
