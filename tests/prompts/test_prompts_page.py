"""The page about prompts names every strategy."""

from __future__ import annotations

from pathlib import Path

from caretbench.prompts.registry import BUILT_IN_STRATEGIES

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "prompts.md").read_text("utf-8")


def test_every_strategy_of_ours_is_on_the_page() -> None:
    for entry in BUILT_IN_STRATEGIES:
        assert f"| `{entry.name}` | {entry.kind} |" in PAGE
