"""Single rules by which EFCB's choices are made, each on a few changes or lines made by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from caretbench.build.sources.changes.automated_changes import is_version_change
from caretbench.build.sources.pull_request import FileChange
from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.build.choices.sets_of_four import (
    ChangeReferences,
    PairFairness,
    SetRelations,
    build_sets_of_four,
)
from caretbench.suites.efcb.build.edits.edit_guards import have_same_meaning
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch, _swaps_unordered_parts
from caretbench.suites.efcb.build.edits.patch_parts import PatchEdit, Replacement, patch_parts
from caretbench.suites.efcb.problem_metadata import seeded_random
from tests.support.efcb_programs import added, change

ALL = 10_000
WORDS = ("cache", "socket", "router", "timer")


def test_a_change_that_is_left_takes_a_place_in_a_set() -> None:
    """0 is wanted in two sets: with 1, 2, 3, where it is cheap, and with 4, 5, 6, which find no other."""
    edges = [pair for clique in ((0, 1, 2, 3), (7, 1, 2, 3), (0, 4, 5, 6)) for pair in combinations(clique, 2)]
    # Further partners, of use to nobody, make 4 to 7 choose last.
    edges += [(4 + place // 2, 8 + place) for place in range(8)]
    fair = np.zeros((16, 16), dtype=bool)
    for one, other in edges:
        fair[one, other] = fair[other, one] = True

    def partners(index: int) -> np.ndarray:
        return np.flatnonzero(fair[index])

    def costs(rows: np.ndarray, triples: np.ndarray) -> np.ndarray:
        return np.array([float(0 not in rows[[0, *triple]]) for triple in triples])

    found = build_sets_of_four(
        SetRelations(16, partners, partners, lambda rows: fair[np.ix_(rows, rows)], costs, [0.0] * 16)
    )
    assert {frozenset(four) for four in found} == {frozenset((1, 2, 3, 7)), frozenset((0, 4, 5, 6))}


def test_a_change_that_names_another_is_no_choice_next_to_it() -> None:
    pulls = [
        change((f"{word}.go", added(f"{word}()")), sha=str(place) * 40).model_copy(
            update={"number": place + 1, "title": f"Mend the {word}", "description": text}
        )
        for place, (word, text) in enumerate(zip(WORDS, ("As #3 says", "Alone", "Alone", "Alone"), strict=True))
    ]
    fairness = PairFairness(
        [render_patch(pull) for pull in pulls], [ChangeReferences.from_pull_request(pull) for pull in pulls]
    )
    assert [fairness.related_changes(place).tolist() for place in range(4)] == [[0, 2], [1], [0, 2], [3]]


@pytest.mark.parametrize(("news", "release"), [(8, False), (70, False), (80, True)])
def test_a_release_is_nearly_all_of_its_change(news: int, release: bool) -> None:
    def file(path: str, lines: int) -> FileChange:
        body = "\n".join(f"+line {line} of it" for line in range(lines))
        return FileChange(path=path, additions=lines, patch=f"@@ -0,0 +1,{lines} @@\n{body}")

    assert is_version_change("Read headers", [file("CHANGELOG.md", news), file("src/a.go", 4)]) == release


def edited(patch: EditablePatch) -> list[str]:
    """All lines that edits make."""
    return [
        line.strip()
        for edit in patch.draw_edits(seeded_random(0, "test", ""), ALL)
        for line in patch.changed_lines(edit)[1]
    ]


def test_no_variable_that_is_assigned_again_comes_into_a_lambda() -> None:
    code = (
        "class A {\n  void run(Pool pool) {\n    int first = 1;\n    int second = 2;\n    int count = 3;\n"
        "    count = count + first;\n    pool.run(() -> use(first, second));\n    use(count, second);\n"
        "    use(first, count);\n  }\n}\n"
    )
    patch = EditablePatch(render_patch(change(("A.java", added(code)))))
    lines = edited(patch)
    assert "use(first, second);" in lines  # outside of it, names are exchanged
    assert not [line for line in lines if "->" in line and "count" in line]


def test_a_function_with_a_fault_is_not_edited() -> None:
    good = "def good(one, two):\n    use(one, two)\n    return use(two, one)\n"
    bad = "def bad(one, two):\n    show(one, two)\n    value = = one\n    return show(two, one)\n"
    whole = good + bad
    patch = EditablePatch(render_patch(change(("a.py", added(whole)))), {"a.py": whole}.get)
    touched = {line for edit in patch.draw_edits(seeded_random(0, "test", ""), ALL) for _, line in edit.lines}
    assert touched == {2, 3}


def test_a_file_is_read_whole_if_it_is_the_patchs_version() -> None:
    rendered = render_patch(change(("a.py", "@@ -2,1 +2,2 @@\n two()\n+three()")))
    (whole,) = patch_parts(rendered, {"a.py": "one()\ntwo()\nthree()\n"}.get)
    assert whole.is_whole_file
    for other in ("one()\ntwo()\nfour()\n", "one()\nzwei()\nthree()\n", "one()\ntwo()"):
        (part,) = patch_parts(rendered, {"a.py": other}.get)
        assert not part.is_whole_file


def test_no_edit_brings_a_removed_line_back() -> None:
    hunk = (
        "@@ -1,2 +1,4 @@\n def run(one, two):\n-    show(two, one)\n+    show(one, two)\n"
        "+    use(one, two)\n+    return use(two, one)"
    )
    patch = EditablePatch(render_patch(change(("a.py", hunk))))
    lines = edited(patch)
    assert "use(two, one)" in lines
    assert "show(two, one)" not in lines


@pytest.mark.parametrize(
    ("path", "code", "unordered"),
    [
        ("a.go", 'func f(s string) {\n\tswitch s {\n\tcase "one", "two":\n\t\tuse(s)\n\t}\n}', True),
        ("a.go", 'func f(s string) {\n\tswitch s {\n\tcase "one":\n\t\ta()\n\tcase "two":\n\t\tb()\n\t}\n}', False),
        ("a.py", 'def f(s):\n    if s in ("one", "two"):\n        use(s)', True),
        ("a.py", 'def f(s):\n    use(("one", "two"))', False),
        ("a.ts", 'function f(s: string) {\n  if (["one", "two"].includes(s)) use(s);\n}', True),
        ("a.rb", 'def f(s)\n  case s\n  when "one", "two"\n    use(s)\n  end\nend', True),
        ("a.java", 'class A {\n  void f(String s) {\n    switch (s) { case "one", "two": use(s); }\n  }\n}', True),
    ],
)
def test_entries_of_a_case_and_of_a_searched_list_have_no_order(path: str, code: str, unordered: bool) -> None:
    patch = EditablePatch(render_patch(change((path, added(code)))))
    places = {}
    for number, line in enumerate(patch._lines[0]):
        places |= {
            word: (0, number, line.index(word), line.index(word) + 5) for word in ('"one"', '"two"') if word in line
        }
    edit = PatchEdit("swap-constant", (Replacement(*places['"one"'], '"two"'), Replacement(*places['"two"'], '"one"')))
    assert patch.is_refused(edit) or not unordered
    assert _swaps_unordered_parts(patch._units[0], edit) == unordered


def test_let_and_subject_declare_the_same() -> None:
    assert have_same_meaning("let", "subject", "ruby")
    assert have_same_meaning("let", "let!", "ruby")
    assert not have_same_meaning("let", "before", "ruby")
