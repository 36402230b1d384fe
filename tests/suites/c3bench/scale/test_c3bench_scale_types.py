"""Specifications as JSON, and errors of malformed ones."""

from __future__ import annotations

import pytest

from caretbench.errors import UsageError
from caretbench.suites.c3bench.scale import ScaleSpecification, verify, verify_published


def test_specifications_are_json() -> None:
    specification = ScaleSpecification(kind="lines", n=3, unit="statement")
    assert ScaleSpecification.model_validate_json(specification.model_dump_json()) == specification


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "specification: kind: Field required"),
        ({"kind": "line"}, "specification: kind: Input should be 'span_rest_of_line', 'span_node', 'lines' or 'block'"),
        ({"kind": "lines", "n": 0}, "specification: n: Input should be greater than or equal to 1"),
        ({"kind": "lines", "n": "3"}, "specification: n: Input should be a valid integer"),
        ({"kind": "lines", "n": 3, "unit": "word"}, "specification: unit: Input should be 'code_line'"),
        ({"kind": "span_rest_of_line", "size": 2}, "specification: size: Extra inputs are not permitted"),
        ({"kind": "span_rest_of_line", "language": "go"}, "Go: Scale-Control Completion is not"),
        ({"kind": "span_rest_of_line", "language": "klingon"}, "unknown language 'klingon'"),
        ([], "specification: row: Input should be a valid dictionary"),
        (None, "specification: row: Input should be a valid dictionary"),
    ],
)
def test_malformed_specifications_are_one_line_that_names_the_field(fields: object, message: str) -> None:
    for check in (verify, verify_published):
        with pytest.raises(UsageError) as caught:
            check("", "x", "", fields)  # type: ignore[operator]
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
