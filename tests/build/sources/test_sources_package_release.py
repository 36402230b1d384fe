from __future__ import annotations

import pytest

from caretbench.build.sources.fetching.project_folders import comparable_version


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("1.2", "1.2.0", True),
        ("v1.0", "1", True),
        ("1.0-RC1", "1.0rc1", True),
        ("1.0.0_alpha2", "1.0a2", True),
        ("1.0.post1", "1.0-post1", True),
        ("1.0+local.1", "1.0+local-1", True),
        ("1.10", "1.1", False),
        ("1.0-1", "1.0.1", False),
        ("1.0b", "1.0b0", True),
        ("2004D", "2004d", True),
        ("1.0a1", "1.0b1", False),
        ("1.0", "1.0.post1", False),
    ],
)
def test_spellings_of_a_version(one: str, other: str, equal: bool) -> None:
    assert (comparable_version(one) == comparable_version(other)) is equal


def test_a_number_that_python_does_not_read_is_a_version_all_the_same() -> None:
    """``int`` refuses more than 4,300 digits; file names come from foreign indexes."""
    assert comparable_version("1" * 5000) == "1" * 5000
