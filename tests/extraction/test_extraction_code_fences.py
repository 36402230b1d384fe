"""Code fences in answers."""

from __future__ import annotations

import re
import time

import pytest

from caretbench.extraction.code_fences import closed_fences


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("x = 1", []),
        ("```python\nx = 1\n```", ["x = 1\n"]),
        ("So:\n  ```\nx = 1\n\n  ``` \nand\n```\ny\n```\n", ["x = 1\n\n", "y\n"]),
        ("```\n```", [""]),
        ("```python\nx = '''\n    ```\n'''\n```", ["x = '''\n    ```\n'''\n"]),
        ("```python\nx = 1\n```\n```python\ny", ["x = 1\n"]),
        ("```one line```\nx\n```", []),
        ("```a\n```a\n```", ["```a\n"]),
    ],
)
def test_closed_fences_are_found(text: str, contents: list[str]) -> None:
    assert closed_fences(text) == contents


def test_the_form_of_the_opening_line_can_be_narrower() -> None:
    assert closed_fences("```a b\nx\n```\ny\n```", re.compile("```[a-z]*")) == ["y\n"]


def test_many_fences_without_an_end_take_linear_time() -> None:
    start = time.process_time()
    assert closed_fences("```a\n" * 40_000) == []
    assert time.process_time() - start < 2
