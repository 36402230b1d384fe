"""Options of builds that name their values."""

import pytest

from caretbench.build.project_tasks.block_miner import named_values
from caretbench.errors import UsageError


def test_values_by_name() -> None:
    assert named_values("--env NAME=VALUE", ["A=1", "B=x=y", "C="]) == {"A": "1", "B": "x=y", "C": ""}
    assert named_values("--env NAME=VALUE", None) == {}
    with pytest.raises(UsageError, match="'B'"):
        named_values("--env NAME=VALUE", ["A=1", "B"])
