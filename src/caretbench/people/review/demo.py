"""The review of ``caretbench review demo``: twelve starter problems of DevBench, two of each language."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.problem_items import problem_items
from caretbench.people.review.protocol import load_protocol
from caretbench.suites import load_problems, load_suite
from caretbench.suites.selection import Selection

DEMO_ITEMS: Final = 12


def demo_review(folder: Path) -> None:
    """Make the review of the demo, without a warm-up.

    Raises:
        DataError: the folder has a review already.
    """
    protocol = load_protocol("devbench-instance")
    protocol = protocol.model_copy(update={"mix": protocol.mix.model_copy(update={"warm_up": 0, "controls": 0.0})})
    suite = load_suite("devbench")
    problems = Selection(limit=DEMO_ITEMS).apply(suite, load_problems(suite, "starter").problems)
    ReviewDatabase.create(folder, protocol, problem_items(problems, protocol), seed=0).close()
