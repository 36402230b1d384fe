"""Table of the leak report: accuracy of attacks that do not understand the question, by tier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.suites.efcb.built_folder import MAX_STANDARD_ERRORS, Leak
from caretbench.suites.efcb.tables.model_rows import NO_VALUE, TASK_TITLES
from caretbench.suites.suite_types import Table


def leak_tables(leaks: Sequence[Leak]) -> Iterator[Table]:
    """Yield the table of attacks by tier; nothing without multiple-choice questions."""
    parts = list(dict.fromkeys((leak.task, leak.tier, leak.query) for leak in leaks))
    if not parts:
        return
    found = {(leak.kind, leak.attack, (leak.task, leak.tier, leak.query)): leak for leak in leaks}
    attacks = dict.fromkeys((leak.kind, leak.attack) for leak in leaks if leak.family in ("shape", "text"))
    sizes = {(leak.task, leak.tier, leak.query): leak.problems for leak in leaks}
    heads = [" ".join(filter(None, (TASK_TITLES[task], tier, query.replace("_", " ")))) for task, tier, query in parts]
    rows = [
        (attack, kind, *(_format_leak(found.get((kind, attack, part))) for part in parts)) for kind, attack in attacks
    ]
    yield Table(
        "efcb-leaks",
        f"Leak report: accuracy without understanding (!: above chance by more than {MAX_STANDARD_ERRORS:g} "
        "standard errors)",
        ("Attack", "Kind", *heads),
        (("questions", "", *(str(sizes[part]) for part in parts)), *rows),
        ("A limit reads the choices alone; a floor reads the words of the question, too.",),
    )


def _format_leak(leak: Leak | None) -> str:
    return NO_VALUE if leak is None else f"{leak.accuracy:.3f}{'!' if leak.exceeds_limit else ''}"
