"""The page about FIM formats says what the table of families says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from caretbench.prompts.fim.detection import families_without_fim, fim_formats
from caretbench.prompts.fim.format import FimFormat

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "fim.md").read_text("utf-8")


def code(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("\n", "↵") + "`"


def rows(entry: FimFormat) -> list[str]:
    """The lines of the page's table for one family."""
    told = f"as `{entry.detected_as}`" if entry.detected_as else "yes"
    return [
        "| "
        + " | ".join(
            (
                f"`fim/{entry.name}`" if order == entry.order else f"`fim/{entry.name}:{order}`",
                entry.title,
                code(entry.render("P", "S", language="python", path="F", order=order).text),
                "own form" if entry.file else "comments",
                ", ".join(code(stop) for stop in entry.stop),
                told,
            )
        )
        + " |"
        for order in entry.orders
    ]


def test_the_page_lists_every_family_as_the_data_have_it() -> None:
    expected = [row for entry in fim_formats().values() for row in rows(entry)]
    found = re.findall(r"^\| `fim/.*$", PAGE, re.MULTILINE)
    assert found == expected, "docs/reference/fim.md should hold these rows:\n" + "\n".join(expected)


@pytest.mark.parametrize("name", sorted(families_without_fim()))
def test_the_page_lists_every_family_without(name: str) -> None:
    entry = families_without_fim()[name]
    assert f"* {entry.title}: {entry.reason}." in PAGE


def test_the_page_says_which_families_need_a_first_token() -> None:
    needing = ", ".join(f"{entry.title} ({code(entry.bos)})" for entry in fim_formats().values() if entry.bos)
    assert needing.replace("\\|", "|") in PAGE.replace("\n", " ")
