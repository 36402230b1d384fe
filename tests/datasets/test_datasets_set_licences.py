import pytest

from caretbench.datasets.set_licences import (
    RedistributionError,
    redistribution_rules,
    redistribution_terms,
    set_licence,
)
from caretbench.errors import DataError
from caretbench.files import read_packaged_toml


def test_every_licence_that_sources_recognise_has_a_rule() -> None:
    names = {entry["name"] for entry in read_packaged_toml("caretbench.sources", "licences.toml")["licence"]}
    assert names <= redistribution_rules().keys()


@pytest.mark.parametrize(
    "expression",
    ["MIT", "mit", "Apache-2.0", "GPL-3.0-or-later", "GPL-2.0-only", "GPL-2.0+", "MIT AND Apache-2.0",
     "(MIT OR SSPL-1.0)", "SSPL-1.0 OR MIT", "GPL-3.0 WITH Classpath-exception-2.0", "MIT, ISC"],
)  # fmt: skip
def test_these_may_be_passed_on(expression: str) -> None:
    assert redistribution_terms(expression)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("CC-BY-NC-ND-4.0", "no derivatives"), ("BUSL-1.1", "purposes"), ("NOASSERTION", "not known"),
        ("MIT AND CC-BY-ND-4.0", "no derivatives"), ("SSPL-1.0 OR Proprietary", "purposes.*not known"),
        ("MITX", "not known"), ("", "not known"),
    ],
)  # fmt: skip
def test_these_may_not(expression: str, reason: str) -> None:
    with pytest.raises(RedistributionError, match=reason):
        redistribution_terms(expression)


def test_the_licence_of_a_set_joins_those_of_its_problems() -> None:
    found = set_licence({"a": "MIT", "b": None, "c": "MIT OR GPL-2.0", "d": "MIT"}, "ISC", "set")
    assert found.expression == "ISC AND MIT AND (MIT OR GPL-2.0)"
    assert found.problems == {"ISC": 1, "MIT": 2, "MIT OR GPL-2.0": 1}
    assert found.terms["MIT OR GPL-2.0"] == "keep the copyright notice"


def test_one_licence_is_not_put_in_brackets() -> None:
    assert set_licence({"a": "MIT OR GPL-2.0"}, None, "set").expression == "MIT OR GPL-2.0"


def test_an_own_licence_does_not_replace_a_stated_one() -> None:
    with pytest.raises(DataError, match=r"set: 1 problem \(a\) may not be passed on: CC-BY-ND-4.0"):
        set_licence({"a": "CC-BY-ND-4.0", "b": "MIT"}, "MIT", "set")
