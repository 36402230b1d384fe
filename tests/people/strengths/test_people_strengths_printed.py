"""Strengths by printed tables: what the paper says of DeepSeek-V3, and what its numbers cannot bear."""

import pytest

from caretbench.errors import DataError
from caretbench.people.strengths.printed_claims import (
    BORNE,
    CONTRADICTED,
    COSINE,
    NO_NUMBER,
    PASSES,
    PRINTED,
    UNDECIDED,
    CheckedClaim,
    printed_claims,
    printed_tables,
)
from caretbench.people.strengths.printed_strengths import PrintedStrengths, printed_strengths


@pytest.fixture(scope="module")
def deepseek() -> PrintedStrengths:
    return printed_strengths("DeepSeek-V3")


def claim_of(found: PrintedStrengths, words: str) -> CheckedClaim:
    [one] = [claim for claim in found.claims if words in claim.text]
    return one


def test_the_page_says_what_the_paper_says_where_the_numbers_bear_it(deepseek: PrintedStrengths) -> None:
    assert deepseek.sentences[0] == "DeepSeek-V3 passes 75.3% of all problems: sixth of nine."
    assert deepseek.sentences[1] == (
        "Category pattern matching: more similar, fewer pass. DeepSeek-V3 is the most similar of nine (cosine 0.75) "
        "and fifth by passes (73.3%): four models are less similar and pass more."
    )
    [cpp] = [text for text in deepseek.sentences if text.startswith("Language C++: seventh of nine (77.8%), worse")]
    assert "not distinguishable" in cpp
    assert any(text.startswith("Language Python: third of nine (72.7%), better") for text in deepseek.sentences)


def test_ties_are_told(deepseek: PrintedStrengths) -> None:
    said = " ".join(deepseek.sentences)
    assert "Language JavaScript: more similar, fewer pass. DeepSeek-V3 is with GPT-4o the most similar of nine" in said
    assert "Category low context: more similar, fewer pass. DeepSeek-V3 is with GPT-4.1 mini the most similar" in said
    assert "Language TypeScript: fifth (level with GPT-4o) of nine (65.2%)" in said
    assert said.count("is the most similar of nine") == 7


@pytest.mark.parametrize(
    ("words", "verdict", "numbers"),
    [
        ("Claude 3.7 Sonnet (cosine).", PRINTED, "DeepSeek-V3 0.75, Claude 3.7 Sonnet 0.70"),
        ("(first line)", UNDECIDED, "DeepSeek-V3 60.0%, Claude 3.7 Sonnet 53.0%"),
        ("pattern matching DeepSeek-V3 passes less", UNDECIDED, "+2.4 points [-4."),
        ("passes less often than Claude 3.7 Sonnet in translation", BORNE, "+11.4 points"),
        ("seventh in C++", PRINTED, "seventh of nine (77.8%)"),
        ("excels in Python", PRINTED, "third of nine"),
        ("excels in syntax completion", CONTRADICTED, "sixth of nine (77.30%)"),
        ("memorises patterns", NO_NUMBER, "a reason"),
        ("models (passes).", CONTRADICTED, "8 to 18 % below the mean of the others; 20 to 30 % for 0 of 9"),
        ("models (cosine).", PRINTED, "17 to 29 % below the mean of the others; 20 to 30 % for 8 of 9"),
        (
            "strongest category",
            PRINTED,
            "81.2%, next code purpose 79.6%; highest for 6 of 9 models, not for DeepSeek-V3",
        ),
        ("most challenging category", PRINTED, "58.5%, next pattern matching 69.7%; lowest for 9 of 9 models"),
    ],
)
def test_each_sentence_of_the_paper_has_its_verdict(
    deepseek: PrintedStrengths, words: str, verdict: str, numbers: str
) -> None:
    claims = [claim for claim in deepseek.claims if words in claim.text and claim.text.startswith(("In pat", "Low"))]
    claim = claims[0] if words == "Claude 3.7 Sonnet (cosine)." else claim_of(deepseek, words)
    assert claim.verdict == verdict
    assert numbers in claim.numbers
    assert (claim in deepseek.not_borne) is (verdict in (UNDECIDED, CONTRADICTED, NO_NUMBER))


def test_typescript_is_below_the_other_languages_by_less_than_the_paper_says() -> None:
    below = printed_tables().below_others(("language", "typescript"))
    assert len(below) == 9
    assert min(below.values()) == pytest.approx(0.082, abs=0.001)  # Claude 4 Sonnet
    assert max(below.values()) == pytest.approx(0.181, abs=0.001)  # GPT-4o


def test_sentences_about_other_models_are_theirs(deepseek: PrintedStrengths) -> None:
    assert not any("Minstral" in claim.text or "Claude 4" in claim.text for claim in deepseek.claims)
    gap = claim_of(printed_strengths("Minstral 3B"), "35 points")
    assert gap.verdict == CONTRADICTED
    assert gap.numbers.endswith("34.4 points")
    first = claim_of(printed_strengths("claude-4-sonnet"), "passes most")
    assert first.verdict == PRINTED


def test_a_model_far_from_the_others_is_told_from_them() -> None:
    found = printed_strengths("Minstral 3B")
    assert found.sentences[-1].startswith("An unpaired test tells Minstral 3B from the mean of the others in: ")
    assert all(part.distinguishable and part.rate < part.others for part in found.parts)


def test_every_sentence_names_models_and_parts_of_the_tables() -> None:
    tables = printed_tables()
    for claim in printed_claims():
        if claim.rule != "cause":
            cells = tables.cells(claim.metric, claim.where)
            assert cells, claim.text
            assert set(claim.models) <= set(cells), claim.text
    assert len(tables.models()) == 9
    assert {part[0] for part in tables.parts(PASSES)} == {part[0] for part in tables.parts(COSINE)}


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(DataError, match="no such model; Claude 4 Sonnet, "):
        printed_strengths("nobody")
