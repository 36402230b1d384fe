"""Score formulas, applied to averages as a user types them."""

from __future__ import annotations

import json

import pytest

from tests.support.command_run import in_this_process as caretbench

LLAMA = ["gmcq-easy=0.803", "gmcq-hard=0.476", "mpr-gen=7.23", "reverse-qa=3.74", "reverse-qa-hallu=0.965"]


@pytest.mark.parametrize(
    ("averages", "score"),
    [
        (LLAMA, "0.4822"),
        (["reverse-qa=3.67", "GMCQ-Easy=89.2%", "gmcq-hard=0.868", "mpr-gen=7.41", "reverse-qa-hallu=94.6%"], "0.5844"),
    ],
)
def test_the_papers_averages_give_the_papers_scores(averages: list[str], score: str) -> None:
    run = caretbench("formula", "efcb", *averages)
    assert (run.returncode, run.stdout) == (0, f"EFCB score: {score}\n")


def test_the_formula_is_printed_without_averages() -> None:
    text = caretbench("formula", "efcb").stdout
    assert "(gmcq-easy + gmcq-hard + mpr-gen / 10 + reverse-qa / 10 + (1 - reverse-qa-hallu)) / 5" in text
    assert "mpr-gen: from 0 to 10" in text
    assert json.loads(caretbench("formula", "efcb", *LLAMA, "--json").stdout)["score"] == pytest.approx(0.4822)


@pytest.mark.parametrize(
    ("averages", "message"),
    [
        ([*LLAMA[:2], "mpr-gen=72", *LLAMA[3:]], "'mpr-gen=72': expected a number from 0 to 10"),
        (["gmcq-easy=803", *LLAMA[1:]], "expected a number from 0 to 1, or a percentage"),
        (["gmcq-easy=nan", *LLAMA[1:]], "expected a number from 0 to 1"),
        (["gmcq-easy=-0.1", *LLAMA[1:]], "expected a number from 0 to 1"),
        (LLAMA[:3], "no average for reverse-qa, reverse-qa-hallu; give reverse-qa=VALUE reverse-qa-hallu=VALUE"),
        ([*LLAMA, "bleu=1"], "expected NAME=VALUE with one of the names gmcq-easy, "),
        ([*LLAMA, LLAMA[0]], "gmcq-easy is given twice"),
        (["0.8"], "'0.8': expected NAME=VALUE"),
    ],
)
def test_a_wrong_average_is_named_with_its_remedy(averages: list[str], message: str) -> None:
    run = caretbench("formula", "efcb", *averages)
    assert run.returncode == 2
    assert message in run.stderr


def test_a_suite_without_a_formula_says_so() -> None:
    assert "no score formula" in caretbench("formula", "devbench").stderr
