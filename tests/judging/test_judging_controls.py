from __future__ import annotations

from caretbench.judging.answers import answer_key
from caretbench.judging.controls import CONTROLS, caret_controls, control_sample, control_totals
from caretbench.problem import Caret, Problem, Question
from tests.support.make_problem import MakeProblem


def problems(make_problem: MakeProblem) -> list[Problem]:
    return [
        make_problem(f"{language}/{number}", language=language, reference=f"{language} {number}\n")
        for language in ("python", "java")
        for number in range(7)
    ]


def test_every_control_of_every_problem(make_problem: MakeProblem) -> None:
    made = problems(make_problem)
    found = caret_controls(made)
    assert set(found) == {problem.id for problem in made}
    references = {problem.reference: problem.id for problem in made}
    for problem in made:
        texts = found[problem.id]
        assert tuple(texts) == CONTROLS
        assert texts["reference"] == problem.reference
        assert texts["reference-twice"] == problem.reference * 2
        assert texts["empty"] == ""
        other = references[texts["other-reference"]]
        assert other != problem.id
        assert other.split("/")[0] == problem.caret.language
    assert len({texts["other-reference"] for texts in found.values()}) == len(made)


def test_the_order_of_the_problems_does_not_matter(make_problem: MakeProblem) -> None:
    made = problems(make_problem)
    assert caret_controls(made) == caret_controls(made[::-1])
    assert control_sample(made, 5) == control_sample(made[::-1], 5)


def test_a_problem_alone_in_its_language_has_no_other(make_problem: MakeProblem) -> None:
    alone = make_problem(language="java", reference="x")
    assert caret_controls([alone, make_problem("p")])[alone.id] == {
        "reference": "x", "reference-twice": "x\nx", "empty": "",
    }  # fmt: skip


def test_an_equal_reference_is_no_other(make_problem: MakeProblem) -> None:
    made = [make_problem("a", reference="x\n"), make_problem("b", reference="x")]
    assert all("other-reference" not in texts for texts in caret_controls(made).values())


def test_an_empty_reference_has_no_worse_control_that_is_the_same(make_problem: MakeProblem) -> None:
    assert caret_controls([make_problem(reference="")]) == {"python/low_context/one": {"reference": ""}}


def test_a_question_has_no_controls(make_problem: MakeProblem) -> None:
    asked = make_problem().model_copy(update={"shown": Question(text="why?")})
    assert not isinstance(asked.shown, Caret)
    assert caret_controls([asked]) == {}
    assert control_sample([asked], 3) == []


def test_the_sample_is_even_over_the_languages(make_problem: MakeProblem) -> None:
    made = problems(make_problem)
    chosen = control_sample([*made, make_problem("one")], 6)
    assert sorted(problem.caret.language for problem in chosen) == ["java"] * 3 + ["python"] * 3
    assert len(control_sample(made, 100)) == len(made)


def test_only_problems_with_all_controls_judged_count(make_problem: MakeProblem) -> None:
    texts = {
        problem: {name: answer_key(text) for name, text in named.items()}
        for problem, named in caret_controls(problems(make_problem)[:3]).items()
    }
    totals = {(problem, answer): 5.0 for problem, named in texts.items() for answer in named.values()}
    del totals["python/1", texts["python/1"]["empty"]]
    assert control_totals(texts, totals) == {name: [5.0, 5.0] for name in CONTROLS}
