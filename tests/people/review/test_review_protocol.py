"""Protocols: CaretBench's own are sound, and a user's mistakes are named by field."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.files import DataError
from caretbench.people.review.protocol import ReviewProtocol, load_protocol, protocol_names
from tests.support.review_server import SEVERAL

OWN = """
name = "own"
version = 1
title = "t"
subject = "problem"
people = 1
settlement = {{ rule = "majority", question = "keep" }}
{more}
[[questions]]
name = "keep"
kind = "choice"
text = "Keep?"
options = [{{ value = "yes", text = "Yes", key = "{first}" }}, {{ value = "no", text = "No", key = "{second}" }}]
"""


def own(folder: Path, first: str = "y", second: str = "z", more: str = "") -> str:
    path = folder / "own.toml"
    path.write_text(OWN.format(first=first, second=second, more=more))
    return str(path)


def test_the_protocols_of_the_issue_are_there() -> None:
    assert list(protocol_names()) == [
        "c3-instruction", "completion-quality", "devbench-instance", "efcb-answer", "efcb-choice", "event-codes",
        "reference-check", "simcopilot-block",
    ]  # fmt: skip


@pytest.mark.parametrize("name", protocol_names())
def test_every_protocol_has_guidelines_and_a_source(name: str) -> None:
    protocol = load_protocol(name)
    assert protocol.name == name
    assert len(protocol.guidelines.splitlines()) > 4
    assert protocol.guidelines.startswith(f"# {protocol.title}")
    for question in protocol.questions:
        assert question.text.endswith("?")


@pytest.mark.parametrize(("name", "people", "rule"), [
    ("devbench-instance", 2, "adjudicate"),  # DevBench 2.3: two people, a third settles
    ("completion-quality", 3, "mean"),  # DevBench 3.3: three people, averaged
    ("simcopilot-block", 3, "majority"),  # SimCopilot, appendix A
    ("c3-instruction", 5, "majority"),  # C3-Bench 2.3.3: five developers
])  # fmt: skip
def test_people_and_settlement_are_the_papers(name: str, people: int, rule: str) -> None:
    protocol = load_protocol(name)
    assert (protocol.people, protocol.settlement.rule) == (people, rule)


def test_the_papers_shares_of_rejections_are_complete() -> None:
    reasons = load_protocol("devbench-instance").question("reason")
    assert reasons is not None
    assert [option.paper_share for option in reasons.options] == [0.32, 0.28, 0.23, 0.17, None]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"second": "y"}, "questions.0: keep: two options have the key 'y'"),
        ({"first": "u"}, "the key 'u' is the page's (undo); choose another"),
        ({"more": "mix = { controls = 0.1 }"}, "mix asks for controls or a warm-up, but the protocol has no controls"),
        ({"more": 'shows = ["author"]'}, "shows.0"),
    ],
)
def test_mistakes_name_file_and_field(tmp_path: Path, changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(DataError) as caught:
        load_protocol(own(tmp_path, **changes))
    assert str(caught.value).startswith(f"{tmp_path / 'own.toml'}: ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_users_own_protocol_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("# How\n")
    assert load_protocol(own(tmp_path)).guidelines == "# How\n"


@pytest.mark.parametrize(
    ("answers", "is_right"),
    [
        ({"topics": "x", "keep": "yes"}, True),
        ({"topics": "x+z", "keep": "yes"}, True),
        ({"topics": "x+y", "keep": "yes"}, True),  # a text may be missing
        ({"topics": "x+y", "keep": "yes", "why": "since"}, True),
        ({"topics": "x", "keep": "yes", "why": "since"}, False),  # not asked
        ({"topics": "z+x", "keep": "yes"}, False),  # one order, so that equal answers are equal
        ({"topics": "x+x", "keep": "yes"}, False),
        ({"topics": "", "keep": "yes"}, False),
        ({"topics": "w", "keep": "yes"}, False),
        ({"topics": 1, "keep": "yes"}, False),
        ({"keep": "yes"}, False),
        ({"topics": "y", "keep": "yes", "why": 3}, False),
        ({"topics": "y", "keep": "yes", "why": "x" * 20_001}, False),
        ({"topics": "x", "keep": "yes+no"}, False),
    ],
)
def test_several_values_and_words_are_answers(answers: dict[str, str], is_right: bool) -> None:
    assert (SEVERAL.faults(answers, "") is None) == is_right


def test_nothing_is_settled_by_words() -> None:
    value = SEVERAL.model_dump(mode="json")
    with pytest.raises(ValueError, match="why"):
        ReviewProtocol.model_validate(value | {"settlement": {"rule": "majority", "question": "why"}})
    value["questions"][2]["when"] = {"why": "since"}
    with pytest.raises(ValueError, match="why"):
        ReviewProtocol.model_validate(value)
