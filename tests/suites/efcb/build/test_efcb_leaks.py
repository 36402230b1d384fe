from __future__ import annotations

from caretbench.problem import ChoiceCheck, NoSplice, Problem, Provenance, Question
from caretbench.suites.efcb.build.problem_building import leak_report
from caretbench.suites.efcb.choices import INSTRUCTION
from caretbench.suites.efcb.lexical_similarity import SHAPE_SCORES, AttackQuestion, choice_credit
from caretbench.suites.efcb.problem_metadata import seeded_random


def asked(number: int, choices: tuple[str, ...], correct: int, query: str = "mend the parser") -> Problem:
    return Problem(
        id=f"r/gmcq-easy-random/{number}", suite="efcb", shown=Question(text=INSTRUCTION + query, choices=choices),
        splice=NoSplice(), reference="ABCD"[correct], checks=(ChoiceCheck(correct=correct),),
        labels={"task": "gmcq-easy", "tier": "random", "repository": "o/r", "query": "title_and_description",
                "rotation": 0.0},
        cluster=f"o/r@{number}", provenance=Provenance(source="o/r"),
    )  # fmt: skip


def patch(words: str) -> str:
    return f"lib/{words.split()[0]}.py\n@@ -1 +1,2 @@\n context\n+{words}\n---\n"


def by_attack(problems: list[Problem]) -> dict[str, tuple[float, bool]]:
    return {leak.attack: (leak.accuracy, leak.exceeds_limit) for leak in leak_report(problems)}


def test_what_stands_always_in_one_place_or_is_longest_stops_a_build() -> None:
    problems = [
        asked(n, (patch(f"alpha {n} and so on and on"), *(patch(f"w{i} {n}") for i in range(3))), 0) for n in range(40)
    ]
    found = by_attack(problems)
    assert found["always A"] == (1.0, True)
    assert found["longest"] == (1.0, True)
    assert found["always B"] == (0.0, False)
    assert found["shortest"] == (0.0, False)


def test_fair_choices_pass_every_limit() -> None:
    draw = seeded_random(5, "test", "fair")
    problems = []
    for number in range(200):
        texts = [patch(f"word{draw.randrange(9999)} {draw.randrange(10, 99)} mend") for _ in range(4)]
        problems.append(asked(number, (*texts,), number % 4))
    limits = [leak for leak in leak_report(problems) if leak.kind == "limit"]
    assert len(limits) == 7
    assert [(leak.attack, leak.accuracy) for leak in limits if leak.exceeds_limit] == []
    assert {round(leak.standard_error, 9) for leak in limits} == {round((0.25 * 0.75 / 200) ** 0.5, 9)}


def test_a_factorial_of_two_changes_gives_consensus_nothing() -> None:
    words = ["one", "two", "three", "four", "five", "six"]

    def swapped(*pairs: tuple[int, int]) -> str:
        found = list(words)
        for left, right in pairs:
            found[left], found[right] = found[right], found[left]
        return " ".join(found)

    choices = (swapped(), swapped((0, 1)), swapped((3, 4)), swapped((0, 1), (3, 4)))
    found = SHAPE_SCORES["consensus"](AttackQuestion("", choices, "r"))
    assert len(set(found)) == 1
    assert [choice_credit(found, place) for place in range(4)] == [0.25] * 4
    edits = (" ".join(words), "x two three four five six", "one x three four five six", "one two x four five six")
    assert choice_credit(SHAPE_SCORES["consensus"](AttackQuestion("", edits, "r")), 0) == 1.0


def test_words_are_floors_and_stop_nothing() -> None:
    others = (patch("other a"), patch("thing b"), patch("stuff c"))
    problems = [asked(n, (others[0], patch(f"parser{n} mend"), *others[1:]), 1, f"mend parser{n}") for n in range(40)]
    found = {leak.attack: leak for leak in leak_report(problems)}
    assert found["TF-IDF"].accuracy == 1.0
    assert not any(leak.exceeds_limit for leak in found.values() if leak.kind == "floor")


def test_of_rotations_the_first_alone_counts() -> None:
    first = [asked(n, (*(patch(f"w{n} {i}") for i in range(4)),), n % 4) for n in range(8)]
    turned = [
        problem.model_copy(update={"id": problem.id + "/r1", "labels": {**problem.labels, "rotation": 1.0}})
        for problem in first
    ]
    assert leak_report([*first, *turned]) == leak_report(first)
