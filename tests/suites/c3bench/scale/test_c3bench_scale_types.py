"""Specifications as JSON, and errors of malformed ones."""

from __future__ import annotations

import pytest

from caretbench.suites.c3bench.scale import ScaleSpecification, SpecificationError, verify, verify_published


def test_specifications_are_json() -> None:
    specification = ScaleSpecification(kind="lines", n=3, unit="statement")
    assert ScaleSpecification.model_validate_json(specification.model_dump_json()) == specification


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "specification: kind: it is missing"),
        ({"kind": "line"}, "specification: kind: expected 'span_rest_of_line', 'span_node', 'lines' or 'block', but"),
        ({"kind": "lines", "n": 0}, "specification: n: Input should be greater than or equal to 1"),
        ({"kind": "lines", "n": "3"}, "specification: n: Input should be a valid integer"),
        ({"kind": "lines", "n": 3, "unit": "word"}, "specification: unit: expected 'code_line'"),
        ({"kind": "span_rest_of_line", "size": 2}, "specification: size: there is no such field"),
        (
            {"kind": "span_rest_of_line", "language": "go"},
            "specification: language: Go: Scale-Control Completion is not",
        ),
        ({"kind": "span_rest_of_line", "language": "klingon"}, "specification: language: unknown language 'klingon'"),
        ([], "specification: expected an object with fields"),
        (None, "specification: expected an object with fields"),
    ],
)
def test_malformed_specifications_are_one_line_that_names_the_field(fields: object, message: str) -> None:
    for check in (verify, verify_published):
        with pytest.raises(SpecificationError) as caught:
            check("", "x", "", fields)  # type: ignore[operator]
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
