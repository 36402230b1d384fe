import pytest

from caretbench.build.sources.licences import RedistributionError, redistribution_rules, redistribution_terms
from caretbench.files import read_packaged_toml


def test_every_licence_that_sources_recognise_has_a_rule() -> None:
    names = {
        entry["name"].lower() for entry in read_packaged_toml("caretbench.build.sources", "licences.toml")["licence"]
    }
    assert names <= redistribution_rules().keys()


@pytest.mark.parametrize(
    "expression",
    ["MIT", "mit", "Apache-2.0", "GPL-3.0-or-later", "GPL-2.0-only", "GPL-2.0+", "MIT AND Apache-2.0",
     "(MIT OR SSPL-1.0)", "SSPL-1.0 OR MIT", "GPL-3.0 WITH Classpath-exception-2.0", "MIT, ISC",
     "(MIT OR BUSL-1.1) AND (ISC OR CC-BY-ND-4.0)", "MIT and ISC", "((MIT))", "BUSL-1.1 AND MIT OR ISC"],
)  # fmt: skip
def test_these_may_be_passed_on(expression: str) -> None:
    assert redistribution_terms(expression)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("CC-BY-NC-ND-4.0", "no derivatives"), ("BUSL-1.1", "purposes"), ("NOASSERTION", "not known"),
        ("MIT AND CC-BY-ND-4.0", "no derivatives"), ("SSPL-1.0 OR Proprietary", "purposes.*not known"),
        ("MITX", "not known"), ("", "not known"), ("(MIT OR Apache-2.0) AND CC-BY-NC-ND-4.0", "no derivatives"),
        ("MIT WITH Commons-Clause", "'MIT WITH Commons-Clause' is not known"), ("MIT AND (ISC", "not known"),
        ("MIT ISC", "'MIT ISC' is not known"), ("MIT OR", "not known"), ("MIT)", "not known"), ("AND", "not known"),
        ("BUSL-1.1 OR CC-BY-ND-4.0", "purposes.*no derivatives"),
    ],
)  # fmt: skip
def test_these_may_not(expression: str, reason: str) -> None:
    with pytest.raises(RedistributionError, match=reason):
        redistribution_terms(expression)
