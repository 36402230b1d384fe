from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.files import DataError
from caretbench.problem import Usage
from caretbench.runs.plans.prices import FREE, CostBudget, Price, Prices

MINI = Price(input_per_million=0.15, cached_input_per_million=0.075, output_per_million=0.60)


def test_a_request_costs_input_cached_input_and_output() -> None:
    usage = Usage(input_tokens=1000, cached_tokens=400, output_tokens=200)
    assert MINI.cost_per_answer(usage) == pytest.approx((600 * 0.15 + 400 * 0.075 + 200 * 0.60) / 1e6)


def test_answers_share_a_requests_cost() -> None:
    usage = Usage(input_tokens=1000, output_tokens=200, answers=5)
    assert MINI.cost_per_answer(usage) == pytest.approx((1000 * 0.15 + 200 * 0.60) / 1e6 / 5)


def test_cached_input_costs_as_much_where_nothing_is_said() -> None:
    plain = Price(input_per_million=1, output_per_million=2)
    assert plain.token_cost(1_000_000, 0, cached_tokens=500_000) == 1.0


def test_what_is_not_told_has_no_cost_and_what_is_free_costs_nothing() -> None:
    assert MINI.cost_per_answer(None) is None
    assert MINI.cost_per_answer(Usage(input_tokens=10)) is None
    assert FREE.cost_per_answer(None) == 0.0


def test_prices_are_found_by_name_then_by_the_longest_pattern(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        '[models."openai/gpt-4o-mini"]\ninput_per_million = 1\noutput_per_million = 1\n'
        '[models."openai/*"]\ninput_per_million = 2\noutput_per_million = 2\n'
        '[models."openai/gpt-4*"]\ninput_per_million = 3\noutput_per_million = 3\ncurrency = "USD"\n'
    )
    prices = Prices.load(path)
    found = [prices.find(spec) for spec in ("openai/gpt-4o-mini", "openai/o3", "openai/gpt-4.1", "mistral/small")]
    assert [price and price.input_per_million for price in found] == [1, 2, 3, None]
    assert prices.find("gguf//models/a.gguf") is FREE
    assert prices.find("command/my-completer --stdin") is FREE


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("models = 3\n", "models: Input should be"),
        ('[models."a"]\ninput_per_million = -1\noutput_per_million = 0\n', "input_per_million: Input should be"),
        ('[models."a"]\ninput_per_million = 1\n', "output_per_million: Field required"),
        ('[models."a"]\ninput_per_million = 1\noutput_per_million = 1\ncurrency = "EUR"\n', "currency"),
        ("[prices]\n", "models: Field required"),
        ("[models\n", "not TOML"),
    ],
)
def test_a_faulty_price_file_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(DataError, match="prices") as caught:
        Prices.load(path)
    assert complaint in str(caught.value)


def test_a_price_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/none\.toml: cannot be"):
        Prices.load(tmp_path / "none.toml")


def test_a_purse_is_never_overdrawn() -> None:
    budget = CostBudget(limit=1.0, spent=0.25)
    assert budget.reserve(0.5)
    assert not budget.reserve(0.5)  # 0.25 spent, 0.5 under way
    assert budget.reserve(0)  # what is free can always be asked
    budget.commit(0.5, 0.1)
    assert budget.reserve(0.5)
    assert budget.spent == pytest.approx(0.35)
    assert CostBudget().reserve(1e9)
