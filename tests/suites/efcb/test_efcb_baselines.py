"""What needs no model: one answer for each kind of problem, the same every time."""

from __future__ import annotations

from collections import Counter

import pytest

from caretbench.problem import ChoiceCheck, ContextFile, CriterionCheck, NoSplice, Problem, Provenance, Question
from caretbench.suites.baselines import BASELINE_NAMES
from caretbench.suites.efcb.baselines import BASELINES
from caretbench.suites.efcb.choices import INSTRUCTION
from caretbench.suites.efcb.descriptions import hallucination_scores, reverse_scores
from caretbench.suites.efcb.masked_answers import masked_scores

SOURCE = Provenance(source="a test")
CHOICES = ("call(one, two)", "call(one, three) more words here", "call(two, one)", "f")


def choice(*choices: str, query: str = "three more words", identity: str = "name/gmcq-easy/1") -> Problem:
    return Problem(
        id=identity,
        suite="efcb",
        shown=Question(text=INSTRUCTION + query, choices=choices or CHOICES),
        splice=NoSplice(),
        reference="C",
        checks=(ChoiceCheck(correct=2),),
        labels={"task": "gmcq-easy", "repository": "owner/name"},
        cluster="owner/name@1",
        provenance=SOURCE,
    )


def shown(task: str, patch: str, reference: str) -> Problem:
    return Problem(
        id=f"name/{task}/1",
        suite="efcb",
        shown=Question(text="Write.", context=(ContextFile(path="patch.diff", text=patch),)),
        splice=NoSplice(),
        reference=reference,
        checks=(CriterionCheck(name="efcb-masked", maximum=10.0),),
        labels={"task": task, "tier": "added", "mask_path": "a.go"},
        cluster="owner/name@1",
        provenance=SOURCE,
    )


PATCH = """\
cmd/a.go
@@ -1,2 +1,5 @@
 first()
+// Retry stops after the limit.
+second(limit)
+/* It waits. */
+// --
 third()
---
old.md => new.md
@@ -1 +1 @@
-a
+# not a comment
---
"""
MASKED = "a.go\n@@ -1,3 +1,5 @@\n first()\n+second(limit)\n-third(limit)\n[[MASK]]\n[[MASK]]\n fourth()\n---\n"


def test_every_baseline_is_known_to_the_house() -> None:
    assert set(BASELINES) <= set(BASELINE_NAMES)


@pytest.mark.parametrize(
    ("name", "letter"),
    [("reference", "C"), ("empty", ""), ("always-a", "A"), ("longest", "B"), ("shortest", "D"), ("lexical", "B")],
)
def test_choices(name: str, letter: str) -> None:
    assert BASELINES[name](choice()) == letter


def test_the_most_similar_choice_is_taken_and_of_equal_ones_the_first() -> None:
    centre = choice("x b c", "a y c", "a b c", "a b z")
    assert BASELINES["consensus"](centre) == "C"
    factorial = choice("a b", "x b", "a y", "x y")
    assert BASELINES["consensus"](factorial) == "A"
    assert BASELINES["lexical"](choice(query="nothing of it")) == "A"


def test_random_letters_depend_on_the_problem_alone_and_are_even() -> None:
    letters = [BASELINES["random"](choice(identity=f"p{number}")) for number in range(400)]
    assert letters == [BASELINES["random"](choice(identity=f"p{number}")) for number in range(400)]
    assert set(letters) == set("ABCD")
    assert min(Counter(letters).values()) > 70


@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"reference", "empty", "copy"}))
def test_what_is_no_choice_is_left_out(name: str) -> None:
    assert BASELINES[name](shown("reverse-qa", PATCH, "Title: x\n\nBody: y")) is None
    assert BASELINES["copy"](choice()) is None


def test_lines_before_the_masks_are_copied() -> None:
    problem = shown("mpr-gen", MASKED, "third(limit, 1)\nthird(limit, 2)")
    assert BASELINES["copy"](problem) == "first()\nsecond(limit)"
    assert masked_scores(problem, BASELINES["copy"](problem))["floor_copy_previous_lines"] > 0


def test_paths_and_added_comments_are_a_description_that_makes_nothing_up() -> None:
    problem = shown("reverse-qa", PATCH, "Title: retry\n\nBody: Stops after the limit.")
    text = BASELINES["copy"](problem)
    assert text == "Title: Retry stops after the limit.\n\nBody: cmd/a.go, old.md => new.md\n\nIt waits."
    assert hallucination_scores(problem, text)["names_unsupported"] == 0.0
    assert reverse_scores(problem, text)["patch_word_f1"] > 0


def test_without_comments_the_paths_are_the_title() -> None:
    patch = "a.txt\n@@ -0,0 +1 @@\n+// no comment\n---\n"
    assert BASELINES["copy"](shown("reverse-qa", patch, "Title: x\n\nBody: y")) == "Title: a.txt\n\nBody: a.txt"
