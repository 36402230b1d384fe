"""What an answer to MPR-Gen writes in the place of the masks, in whatever form it comes."""

from __future__ import annotations

import pytest

from caretbench.suites.efcb.masked_answers import find_masked_hunk, parse_masked_answer, unwrap_answer

PATCH = """\
a.go
@@ -1,2 +1,3 @@
 first()
+second()
 third()
---
b.go
@@ -10,5 +10,7 @@ func B() {
 \tsetUp()
-\told(1)
-\told(2)
[[MASK]]
[[MASK]]
[[MASK]]
+\tdone()
 \tcheck()
 }
---
"""
LINES = ("\tfresh(1)", "\tif ready {", "\t\tgo fresh(2)")
PLAIN = "\n".join(LINES)
PLUS = "\n".join(f"+{line}" for line in LINES)


@pytest.mark.parametrize(
    "answer",
    [
        PLAIN,
        f"\n\n{PLAIN}\n\n",
        PLAIN.replace("\n", "\r\n"),
        PLUS,
        f"```go\n{PLAIN}\n```",
        f"```\n{PLUS}",
        f"For instance\n```\nfresh(1)\n```\nThe lines:\n```go\n{PLAIN}\n```\n",
        f"<think>Is it `old`?\n```\nlong = 1\nlonger = 2\nlongest = 3\nall = 4\n```</think>\n{PLAIN}",
        f"[[MASK]]\n{PLAIN}",
        PATCH.replace("[[MASK]]\n" * 3, f"{PLUS}\n"),
        PATCH.replace("[[MASK]]\n" * 3, f"{PLAIN}\n"),
        f"--- a/b.go\n+++ b/b.go\n@@ -10,5 +10,7 @@\n \tsetUp()\n{PLUS}\n+\tdone()\n \tcheck()\n }}",
        f"@@ @@\n{PLUS}\n+\tdone()",
        f" \tsetUp()\n-\told(1)\n-\told(2)\n{PLUS}\n+\tdone()\n \tcheck()",
        f"\tsetUp()\n{PLAIN}\n\tdone()\n\tcheck()\n}}",
        f"-\told(2)\n{PLUS}",
    ],
)
def test_the_same_lines_are_read_from_every_form(answer: str) -> None:
    assert parse_masked_answer(answer, PATCH) == LINES


@pytest.mark.parametrize(
    "answer",
    [
        None,
        " \n",
        "```\n```",
        "[[MASK]]\n[[MASK]]\n[[MASK]]",
        PATCH,
        PATCH.replace("[[MASK]]\n", ""),
        "<think>never ends",
    ],
)
def test_what_writes_nothing_is_told(answer: str | None) -> None:
    assert parse_masked_answer(answer, PATCH) == ()


def test_an_answer_of_the_right_length_is_never_cut() -> None:
    assert parse_masked_answer("\tsetUp()\n\tx()\n\tdone()", PATCH) == ("\tsetUp()", "\tx()", "\tdone()")
    assert parse_masked_answer("\tdone()", PATCH) == ("\tdone()",)


def test_too_many_lines_stay_too_many() -> None:
    assert parse_masked_answer(f"{PLAIN}\n\tmore()\n\tstill()", PATCH) == (*LINES, "\tmore()", "\tstill()")


def test_a_repeated_answer_ends_somewhere() -> None:
    assert len(parse_masked_answer("\tx()\n" * 5000, PATCH)) == 1000
    assert len(parse_masked_answer("@@ @@\n" + "+\tx()\n" * 5000, PATCH)) <= 1000


def test_the_hunk_ends_where_its_header_says() -> None:
    hunk = find_masked_hunk(PATCH)
    assert hunk.before == (" \tsetUp()", "-\told(1)", "-\told(2)")
    assert (hunk.mask_count, hunk.after) == (3, ("+\tdone()", " \tcheck()", " }"))
    assert (hunk.hunk_index, hunk.hunk_count) == (1, 2)
    assert hunk.split_new_side(["x"]) == ("\tsetUp()\n", "x\n\tdone()\n\tcheck()\n}")


@pytest.mark.parametrize("patch", ["a.go\n@@ -1 +1 @@\n-a\n+b\n---\n", "[[MASK]]\n@@ -1 +1 @@\n-a\n+b\n---\n"])
def test_a_patch_without_masks_inside_a_hunk_is_refused(patch: str) -> None:
    with pytest.raises(ValueError, match="no masks"):
        find_masked_hunk(patch)


def test_unwrapping_keeps_what_a_patch_says_of_fences() -> None:
    text = "a.md\n@@ -1,2 +1,3 @@\n ```\n+code\n ```\n---\n"
    assert unwrap_answer(text) == text
    assert unwrap_answer(f"```diff\n{text}```") == text
