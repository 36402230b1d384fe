import pytest

from caretbench.errors import DataError
from caretbench.people.releases.release import set_licence


def test_the_licence_of_a_set_joins_those_of_its_problems() -> None:
    found = set_licence({"a": "MIT", "b": None, "c": "MIT OR GPL-2.0", "d": "MIT"}, "ISC", "set")
    assert found.expression == "ISC AND MIT AND (MIT OR GPL-2.0)"
    assert found.problems == {"ISC": 1, "MIT": 2, "MIT OR GPL-2.0": 1}
    assert found.terms["MIT OR GPL-2.0"] == "keep the copyright notice"


def test_problems_with_a_licence_of_their_own_are_told_apart() -> None:
    assert set_licence({"a": "MIT", "b": None}, "ISC", "set").unstated == ("b",)
    assert set_licence({"a": "MIT OR GPL-2.0", "b": None}, "ISC", "set").expression == "ISC AND (MIT OR GPL-2.0)"


def test_one_licence_is_not_put_in_brackets() -> None:
    assert set_licence({"a": "MIT OR GPL-2.0"}, None, "set").expression == "MIT OR GPL-2.0"


def test_an_own_licence_does_not_replace_a_stated_one() -> None:
    with pytest.raises(DataError, match=r"set: .*\(a\) .*CC-BY-ND-4\.0"):
        set_licence({"a": "CC-BY-ND-4.0", "b": "MIT"}, "MIT", "set")
