"""Instructions about scale, and the specifications that they state."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.suites.c3bench.scale.scale_types import NODE_CLASSES, BlockNode, ScaleSpecification, scale_instructions
from tests.support.scale_instructions import stated_specification

UNITS = st.sampled_from(["code_line", "statement"])
NUMBERS = st.integers(1, 40)
SPECIFICATIONS = st.one_of(
    st.just({"kind": "span_rest_of_line"}),
    st.builds(lambda node: {"kind": "span_node", "node": node}, st.sampled_from(NODE_CLASSES)),
    st.builds(lambda n, unit: {"kind": "lines", "n": n, "unit": unit}, NUMBERS, UNITS),
    st.builds(lambda node: {"kind": "block", "node": node}, st.sampled_from(get_args(BlockNode))),
    st.builds(
        lambda node, n, unit: {"kind": "block", "node": node, "header_in_prefix": True, "n": n, "unit": unit},
        st.sampled_from(get_args(BlockNode)),
        NUMBERS,
        UNITS,
    ),
    st.builds(
        lambda node: {"kind": "block", "node": node, "header_in_prefix": True}, st.sampled_from(get_args(BlockNode))
    ),
)


@given(SPECIFICATIONS)
def test_every_wording_states_its_specification(fields: dict[str, Any]) -> None:
    specification = ScaleSpecification.model_validate(fields)
    wordings = scale_instructions(specification)
    assert len(set(wordings)) >= 3
    for wording in wordings:
        assert stated_specification(wording) == specification, wording


@pytest.mark.parametrize("text", ["", "Write some code.", "Write exactly three statements.", "Write exactly 3 lines."])
def test_other_texts_state_nothing(text: str) -> None:
    assert stated_specification(text) is None


def test_the_unit_is_named() -> None:
    [first, *_] = scale_instructions(ScaleSpecification(kind="lines", n=3))
    assert first == "Write exactly 3 lines of code (not counting blank and comment lines)."
    [first, *_] = scale_instructions(ScaleSpecification(kind="lines", n=1, unit="statement"))
    assert first == "Write exactly 1 statement (one with a block counts once)."


def test_a_function_of_java_is_a_method() -> None:
    found = [
        scale_instructions(ScaleSpecification(language=language, kind="block", node="function"))[0]
        for language in ("python", "java")
    ]
    assert found == ["Write only one function.", "Write only one method."]
