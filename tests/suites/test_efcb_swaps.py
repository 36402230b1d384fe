"""Swaps of identifiers: what each guard lets through and what it refuses, in every language."""

from __future__ import annotations

import pytest
from efcb_code import PROGRAMS, added, change
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.suites.efcb.edits import Edit, swap
from caretbench.suites.efcb.fragments import Occurrence
from caretbench.suites.efcb.patches import Patch, _pair
from caretbench.suites.efcb.rendering import render
from caretbench.suites.efcb.seeding import rng
from caretbench.suites.efcb.word_swaps import word_swaps

ALL = 100_000

# Line and name, twice: what must be among the swaps of every program, and what must not.
ADMITTED = [
    ((4, "alpha"), (4, "beta")),
    ((7, "first"), (8, "second")),
    ((7, "alpha"), (7, "first")),
    ((8, "second"), (8, "third")),
]
REFUSED = {
    "beside itself by an operator": ((4, "alpha"), (5, "beta")),
    "beside itself by a comma": ((5, "alpha"), (6, "beta")),
    "symmetric operator": ((5, "alpha"), (5, "beta")),
    "literal without an order": ((6, "alpha"), (6, "beta")),
    "member and variable": ((7, "gamma"), (7, "alpha")),
    "member and called member": ((7, "gamma"), (7, "delta")),
    "member and function": ((7, "gamma"), (8, "gamma")),
    "object and variable": ((7, "item"), (7, "alpha")),
    "function and variable": ((8, "pick"), (8, "second")),
    "one occurrence in the patch": ((3, "note"), (8, "gamma")),
    "one name": ((4, "alpha"), (5, "alpha")),
}


def patch_of(path: str, code: str) -> Patch:
    return Patch(render(change((path, added(code)))))


def found(patch: Patch) -> set[frozenset[tuple[int, str]]]:
    """All swaps, by the lines of the code (from 0) and the names."""
    swaps = patch.edits(rng(0, "test", ""), ALL)
    assert len(set(swaps)) == len(swaps)
    return {names_of(patch, one) for one in swaps}


def names_of(patch: Patch, edit: Edit) -> frozenset[tuple[int, str]]:
    """The lines of the code (from 0) with the names that the edit takes away there."""
    lines = [file.hunks.split("\n") for file in patch.rendered.files]
    return frozenset(
        (one.line - 1, lines[one.file][one.line][one.start : one.end]) for one in edit.replacements
    )


@pytest.mark.parametrize("path", PROGRAMS)
def test_uses_in_the_same_place_are_exchanged(path: str) -> None:
    swaps = found(patch_of(path, PROGRAMS[path]))
    assert all(frozenset(pair) in swaps for pair in ADMITTED)


@pytest.mark.parametrize("path", PROGRAMS)
@pytest.mark.parametrize("guard", REFUSED)
def test_what_is_refused(path: str, guard: str) -> None:
    assert frozenset(REFUSED[guard]) not in found(patch_of(path, PROGRAMS[path]))


@pytest.mark.parametrize("path", PROGRAMS)
def test_imports_comments_declarations_and_strings_stay(path: str) -> None:
    touched = {line for pair in found(patch_of(path, PROGRAMS[path])) for line, _ in pair}
    assert touched == {4, 5, 6, 7, 8}


@pytest.mark.parametrize("path", PROGRAMS)
def test_a_swap_exchanges_two_names_and_twice_is_none(path: str) -> None:
    patch = patch_of(path, PROGRAMS[path])
    for made in patch.edits(rng(1, "test", ""), 6):
        changed = patch.apply([made])
        assert changed != patch.rendered
        assert len(changed.text) == len(patch.rendered.text)
        lines = changed.files[0].hunks.split("\n")
        assert {name for _, name in names_of(patch, made)} == {one.text for one in made.replacements}
        assert all(one.text in lines[one.line] for one in made.replacements)
        assert not patch.raises_errors([made])
        before, after = patch.changed_lines(made)
        assert [f"+{line}" for line in after] == [lines[number] for _, number in sorted(made.lines)]
        again = Patch(changed)
        back = next(
            other
            for other in again.edits(rng(2, "test", ""), ALL)
            if again.apply([other]).text == patch.rendered.text
        )
        assert again.changed_lines(back) == (after, before)


def test_only_added_lines_change_and_the_old_side_does_not_come_back() -> None:
    patch = (
        "@@ -1,4 +1,4 @@ func around(left, right int) {\n \tkeep(left, right)\n-\tuse(right, left)\n"
        "+\tuse(left, right)\n+\tmore(left, other)\n \tkeep(left, right, other)\n-\tgone(other)\n"
    )
    read = Patch(render(change(("a.go", patch))))
    swaps = found(read)
    assert frozenset({(1, "use"), (3, "use")}) not in swaps
    assert all(line in {2, 3} for pair in swaps for line, _ in pair)
    assert frozenset({(2, "left"), (2, "right")}) not in swaps  # the removed line
    assert read.refused["old_side"] == 1
    assert frozenset({(3, "left"), (3, "other")}) in swaps
    assert frozenset({(2, "right"), (3, "other")}) in swaps


def test_a_consistent_renaming_is_no_swap() -> None:
    other = "@@ -9,0 +9,1 @@\n+\tboth(one, two)"
    alone = Patch(render(change(("a.go", f"@@ -1,0 +1,2 @@\n+\tf(one)\n+\tg(two)\n{other}"))))
    assert found(alone) == set()
    assert alone.refused["one_occurrence_each"] == 2
    held = Patch(render(change(("a.go", f"@@ -1,0 +1,3 @@\n+\tf(one)\n+\tg(two)\n+\th(one, 1)\n{other}"))))
    assert {frozenset({(0, "one"), (1, "two")}), frozenset({(1, "two"), (2, "one")})} <= found(held)


def test_two_swaps_may_be_one_renaming_together() -> None:
    code = "func f(a, b int) {\n\tg(one, 1)\n\tg(two, 2)\n\th(one, 3)\n\th(two, 4)\n}\n"
    patch = patch_of("a.go", code)
    lines = patch.rendered.files[0].hunks.split("\n")

    def place(line: int, name: str) -> Occurrence:
        start = lines[line].index(name)
        return Occurrence(0, line, start, start + len(name), name)

    first = swap("swap-name", place(2, "one"), place(3, "two"))
    second = swap("swap-name", place(4, "one"), place(5, "two"))
    assert not patch.is_renaming([], [first])
    assert patch.is_renaming([first], [second])
    assert patch.is_renaming([], [first, second])
    assert patch.is_renaming([first], [first])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.go", "func f() {\n\tstop(one)\n\tstop(two)\n\tif one { two() }\n}\n"),
        ("a.py", "def f():\n    stop(one)\n    stop(two)\n    if one: two()\n"),
        ("a.rs", "fn f() {\n    stop(one);\n    stop(two);\n    if one { two() }\n}\n"),
        ("a.rb", "def f\n  stop(one)\n  stop(two)\n  two(1) if one\nend\n"),
        ("a.java", "class A { void f() {\n    stop(one);\n    stop(two);\n    if (one) two(); } }\n"),
    ],
)
def test_the_order_of_statements_alone_is_no_difference(path: str, code: str) -> None:
    assert frozenset({(1, "one"), (2, "two")}) not in found(patch_of(path, code))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.go", "x := T{Foo: one, Bar: one}\ny := T{Foo: two}\nz := T{Bar: three}\n"),
        ("a.py", "x = T(foo=one, bar=one)\ny = T(foo=two)\nz = T(bar=three)\n"),
        ("a.js", "x = {foo: one, bar: one}\ny = {foo: two}\nz = {bar: three}\n"),
    ],
)
def test_keys_are_exchanged_with_keys_and_not_in_one_literal_for_nothing(path: str, code: str) -> None:
    keys, values = {"foo", "bar"}, {"one", "two"}
    swaps = {frozenset((line, name.lower()) for line, name in pair) for pair in found(patch_of(path, code))}
    assert frozenset({(0, "foo"), (0, "bar")}) not in swaps
    assert frozenset({(1, "foo"), (2, "bar")}) in swaps
    assert frozenset({(0, "foo"), (2, "bar")}) in swaps
    names = [{name for _, name in pair} for pair in swaps]
    assert not any(pair & keys and pair & values for pair in names)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("look(depth, width)", True),
        ("look(depth < width)", True),
        ("look(depth.top, width)", False),
        ("look(width)", False),
    ],
)
def test_no_name_comes_to_stand_beside_itself(line: str, refused: bool) -> None:
    """``depth < depth`` tells a wrong choice without the text."""
    code = (
        f"def measure(depth, width, height):\n    {line}\n    use(height)\n    use(depth)\n    use(width)\n"
    )
    patch = patch_of("measure.py", code)
    assert found(patch)
    assert bool(patch.refused["beside_itself"]) == refused


def test_exported_names_are_exchanged_with_exported_ones() -> None:
    names = found(patch_of("a.go", "f(Alpha, beta)\ng(beta, Alpha, Gamma)\nh(Gamma, 1)\n"))
    assert {frozenset(name for _, name in pair) for pair in names} == {frozenset({"Alpha", "Gamma"})}


def test_names_of_another_function_stay_there() -> None:
    code = (
        "func f(a int) {\n\tuse(a, b)\n\tuse(b, a, 1)\n}\n\nfunc g(c int) {\n\tuse(c, d)\n\tuse(d, c, 1)\n}\n"
    )
    names = {frozenset(name for _, name in pair) for pair in found(patch_of("a.go", code))}
    assert names == {frozenset("ab"), frozenset("cd")}


def test_what_does_not_parse_is_no_use() -> None:
    patch = "@@ -4,2 +4,4 @@ func f() {\n+\tone, two)\n+\tcall(one, two)\n \t}\n }"
    swaps = found(Patch(render(change(("a.go", patch)))))
    assert frozenset({(1, "one"), (1, "two")}) in swaps
    assert not any((0, "two") in pair for pair in swaps)


def test_files_without_a_grammar_have_no_swaps() -> None:
    assert found(patch_of("notes.md", PROGRAMS["a.py"])) == set()
    assert found(patch_of("Makefile", PROGRAMS["a.py"])) == set()


def test_columns_count_characters() -> None:
    code = 'def f(один, два):\n    s = "é😀"; g(один, два)\n    return h(два, один, 1)\n'
    patch = patch_of("a.py", code)
    made = next(made for made in patch.edits(rng(0, "test", ""), ALL) if len(made.lines) == 1)
    line = next(iter(made.lines))[1]
    assert patch.apply([made]).files[0].hunks.split("\n")[line] in {
        '+    s = "é😀"; g(два, один)', "+    return h(один, два, 1)",
    }  # fmt: skip


@given(st.integers(min_value=0, max_value=10_000))
def test_pairs_are_numbered(number: int) -> None:
    earlier, later = _pair(number)
    assert 0 <= earlier < later
    assert later * (later - 1) // 2 + earlier == number


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(PROGRAMS)), st.integers(), st.integers(min_value=1, max_value=50))
def test_drawing_depends_on_the_generator_alone(path: str, seed: int, most: int) -> None:
    first, second = (patch_of(path, PROGRAMS[path]).edits(rng(seed, "test", ""), most) for _ in range(2))
    assert first == second
    assert len(first) <= most


@settings(max_examples=30, deadline=None)
@given(st.integers(), st.sampled_from(sorted(PROGRAMS)))
def test_words_are_exchanged_as_the_paper_says(seed: int, path: str) -> None:
    rendered = render(
        change((path, added(PROGRAMS[path])), ("b.txt", "@@ -1,2 +1,1 @@\n one two\n-three four"))
    )
    texts = word_swaps(rendered, rng(seed, "test", ""), 3)
    assert len({*texts, rendered.text}) == 4
    gold = rendered.text
    for text in texts:
        assert sorted(text.split()) == sorted(gold.split()) or sorted(text) == sorted(gold)
        assert len(text) == len(gold)
        changed = [
            (old, new) for old, new in zip(gold.split("\n"), text.split("\n"), strict=True) if old != new
        ]
        assert len(changed) in {1, 2}
        assert all(old[0] == new[0] and old[0] in "+- " for old, new in changed)


def test_a_patch_with_one_word_has_no_others() -> None:
    rendered = render(change(("a.txt", "@@ -1,1 +1,2 @@\n same\n+same\n+1 2")))
    assert word_swaps(rendered, rng(0, "test", ""), 3) == []
