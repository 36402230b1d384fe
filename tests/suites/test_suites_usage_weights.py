"""Files of weights: the tables, those that ship, and wrong files."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.suites.usage_weights import SHIPPED, read_weights

FILE = """\
name = "mine"
source = "our telemetry"
[block]
if = 1
[scenario]
full_block = 1
[cut]
token = 1
"""


@pytest.mark.parametrize("name", SHIPPED)
def test_weights_that_ship(name: str) -> None:
    weights = read_weights(name)
    assert weights.name == name
    assert weights.cut.empty == pytest.approx(0.25 * sum(weights.cut.model_dump().values()))


def test_usage_has_the_shares_that_the_paper_prints() -> None:
    usage = read_weights("usage")
    assert (usage.block.statement, usage.block.method) == (68.51, 5.71)
    control = sum(getattr(usage.block, name) for name in ("if_", "for_", "while_", "try_", "catch"))
    assert control == pytest.approx(6.53)
    assert usage.block.argument_list + usage.block.partial_line == pytest.approx(32.35)
    assert usage.line.whole == usage.line.partial


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("if = 1", "unless = 1"), "unless"),
        (("if = 1", "if = -1"), "finite numbers of 0 or more"),
        (("if = 1", "if = nan"), "finite numbers of 0 or more"),
        (("[cut]\ntoken = 1", "[cut]\ntokens = 1"), "tokens.*even.toml has all names"),
        (("if = 1", "if = 0"), "one of them is more than 0"),
        (("name = ", "name "), "TOML"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "weights.toml"
    path.write_text(FILE.replace(*change))
    with pytest.raises(DataError, match=message) as raised:
        read_weights(str(path))
    assert str(path) in str(raised.value)
    with pytest.raises(DataError, match=r"/none\.toml: no such"):
        read_weights(str(tmp_path / "none.toml"))


def test_shares_of_languages_and_categories_are_free_names(tmp_path: Path) -> None:
    path = tmp_path / "weights.toml"
    path.write_text(FILE + "[language]\ngo = 3\n[category]\napi_usage = 0.5\nlow_context = 0\n")
    weights = read_weights(str(path))
    assert weights.language == {"go": 3}
    assert weights.category == {"api_usage": 0.5, "low_context": 0}
    assert read_weights("even").language == {}


def test_a_file_may_have_one_table_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[language]\ngo = 3\n")
    weights = read_weights(str(path))
    assert (weights.name, weights.source, weights.language) == ("mine", str(path), {"go": 3})
    assert not any(weights.block.model_dump().values())


@pytest.mark.parametrize("shares", ["go = -1", "go = inf", "go = 0"])
def test_wrong_shares_of_languages_are_named(tmp_path: Path, shares: str) -> None:
    path = tmp_path / "weights.toml"
    path.write_text(f"{FILE}[language]\n{shares}\n")
    with pytest.raises(DataError, match="language: shares"):
        read_weights(str(path))
