"""The pages name one count of references that pass."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from caretbench.suites.devbench.layout import categories

ROOT = Path(__file__).parents[3]
EVIDENCE = ROOT / "docs" / "evidence" / "devbench.md"
BUNDLES = ROOT / "docs" / "reference" / "bundles.md"

PER_LANGUAGE = 300


def table(page: Path, head: str) -> Iterator[list[str]]:
    """The rows of the table with this head, as lists of cells."""
    lines = page.read_text("utf-8").split(head, 1)[1].splitlines()[2:]
    for line in takewhile(lambda line: line.startswith("|"), lines):
        yield [cell.strip() for cell in line.strip("|").split("|")]


def problems(text: str) -> set[str]:
    """Ids such as ``api_usage/1, 7; low_context/3``, written out."""
    found = set()
    for part in text.split(";"):
        category, _, numbers = part.strip().partition("/")
        assert category in categories(), part
        found |= {f"{category}/{number.strip()}" for number in numbers.split(",")}
    return found


def test_the_count_of_references_is_the_same_on_each_page() -> None:
    evidence = dict(row[:2] for row in table(EVIDENCE, "| language | references that pass, of 300 |"))
    stated = {row[0]: row[1] for row in table(BUNDLES, "| language | pass | why the others do not |")}
    assert evidence == stated
    assert len(stated) == 6


def test_each_reference_that_fails_is_named_once() -> None:
    failing: dict[str, list[str]] = {}
    language = ""
    for row in table(EVIDENCE, "| language | cause | problems |"):
        language = row[0] or language
        failing.setdefault(language, []).extend(problems(row[2]))
    passing = dict(row[:2] for row in table(EVIDENCE, "| language | references that pass, of 300 |"))
    assert {name: PER_LANGUAGE - int(count) for name, count in passing.items()} == {
        name: len(ids) for name, ids in failing.items()
    }
    assert all(len(ids) == len(set(ids)) for ids in failing.values())
