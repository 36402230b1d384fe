"""Every reason why a change has no question, or a question is refused, is explained on the page of the suite."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from caretbench.suites.efcb.build import problem_building
from caretbench.suites.efcb.build.changes import FILTERS, NEAR_DUPLICATE_FILTER
from caretbench.suites.efcb.build.choices.gmcq_hard import NoPairReason, NoTextReason
from caretbench.suites.efcb.build.masked_problems import NoWindowReason
from tests.support.efcb_changes import build_tasks, records

SUITE = Path(problem_building.__file__).parents[1]
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "efcb.md"
WORD = re.compile(r"[a-z]+(?:_[a-z]+)+")


def explained() -> set[str]:
    """Return the names in the first cells of the page's tables whose heads speak of reasons or filters."""
    found: set[str] = set()
    for table in re.findall(r"(?:^\|.*\n)+", PAGE.read_text("utf-8"), re.MULTILINE):
        head, _, *rows = table.splitlines()
        if re.search(r"\b(?:reason|filter)\b", head):
            cells = [row.strip("| ").split(" | ") for row in rows]
            place = 1 if head.startswith("| verdict") else 0
            found.update(name for cell in cells for name in re.findall(r"`(\w+)`", cell[place]))
    return found


def words(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and WORD.fullmatch(part.value):
            yield part.value


def is_a_reason(node: ast.Assign | ast.Return) -> bool:
    """Whether a statement returns a text, or gives one to a variable that is named after reasons."""
    if isinstance(node, ast.Return):
        return isinstance(node.value, ast.Constant)
    target = node.targets[0]
    inner = target.value if isinstance(target, ast.Subscript) else target
    return isinstance(inner, ast.Name) and inner.id in {"reason", "reasons", "missing"}


def of_changes() -> set[str]:
    """Return the reasons that the suite's modules give to changes."""
    found = {*FILTERS} | {
        NEAR_DUPLICATE_FILTER,
        *(get_args(NoWindowReason) + get_args(NoPairReason) + get_args(NoTextReason)),
    }
    for path in SUITE.rglob("*.py"):
        text = path.read_text("utf-8")
        if "Rejected" not in text and "reasons" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "RejectedChange.from_pull_request":
                found.update(word for argument in node.args[2:3] for word in words(argument))
            elif isinstance(node, ast.Assign | ast.Return) and is_a_reason(node):
                found.update(words(node))
    return found


def of_the_gate() -> set[str]:
    """Return the reasons with which the gate refuses or doubts a question: what precedes a colon."""
    tree = ast.parse((SUITE / "build" / "builder.py").read_text("utf-8"))
    calls = [part for part in ast.walk(tree) if isinstance(part, ast.Call) and ast.unparse(part.func).endswith(".note")]
    notes = {part for call in calls for part in ast.walk(call)}  # what a build prints on its way
    texts = [part.value for part in ast.walk(tree) if isinstance(part, ast.Constant) and part not in notes]
    return {found[1] for text in texts if isinstance(text, str) and (found := re.match(r"([a-z_]+): ", text))}


def test_the_search_finds_the_reasons_of_every_task() -> None:
    assert of_changes() >= {
        "bot", "no_description", "near_duplicate", "no_grammar", "deleted_twin", "holds_a_mask", "no_title",
        "too_few_edits", "no_fair_pair", "no_query", "too_few_candidates",
        "no_set", "too_few_words",
    }  # fmt: skip
    assert of_the_gate() >= {"near_duplicate", "reference_fails", "copying_answers", "too_small_to_test"}


def test_every_reason_is_explained() -> None:
    missing = sorted((of_changes() | of_the_gate()) - explained())
    assert not missing, f"docs/reference/efcb.md explains no such reasons: {missing}"


def test_every_reason_of_a_build_was_found(tmp_path: Path) -> None:
    rows = (build_tasks(tmp_path) / "rejected.jsonl").read_text().splitlines()
    given = {found[1] for row in rows if (found := re.search(r'"reason":"(\w+)"', row))}
    assert given, f"{len(records(16))} changes without a reject tell nothing"
    assert given <= of_changes()
