"""Long files: from analysis to the choice, work grows with the file and not with its square."""

from __future__ import annotations

import cProfile
import random
from pathlib import Path

import pytest

from caretbench.build.projects.project_analysis import analyse_project
from caretbench.build.projects.project_storage import store_project
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.projects import project as project_module
from caretbench.projects.code_search import TokenSearch
from caretbench.projects.project import snapshot_scopes
from caretbench.projects.settings import project_rules
from caretbench.suites.simcopilot.build.tasks import ProjectMiner, SampledCandidate, TaskSampling, balanced_sample
from caretbench.syntax import SourceFile
from caretbench.syntax.analysis import analyse

FUNCTION = '''\
def total{0}(orders, limit):
    """Of the orders."""
    found = {0}
    for order in orders:  # in their order
        if order > limit + {0}:
            found += round(order * {0} / 10)
    return found if found else -{0}


LAST = total{0}([1, 2, 3], {0})
'''
"""Ten lines: names of the file, a docstring, a comment, and statements of the file itself between functions."""


def chosen(lines: int) -> int:
    """How many candidates of a file are chosen."""
    source = SourceFile("a.py", "".join(FUNCTION.format(n) for n in range(lines // 10)))
    miner = ProjectMiner(analyse([source]))
    return len(miner.sample_candidates(miner.find_candidates(["a.py"]), TaskSampling(limit=60), ["a.py"]))


def calls(lines: int) -> int:
    """How many calls that takes; unlike time, they do not depend on what else the machine does."""
    profile = cProfile.Profile()
    assert profile.runcall(chosen, lines) == 60
    return sum(entry.callcount for entry in profile.getstats())


def test_mining_takes_work_in_proportion_to_the_file() -> None:
    calls(200)  # what is made once: queries, rules
    assert calls(1600) < 5 * calls(400)


def test_a_choice_among_many_candidates_of_one_file_moves_few_of_them() -> None:
    many = [SampledCandidate(f"c{n}", "a.py", (("infill", "statement", "class"),)) for n in range(4000)]
    profile = cProfile.Profile()
    assert len(set(profile.runcall(balanced_sample, many, limit=200))) == 200
    assert sum(entry.callcount for entry in profile.getstats()) < 40 * len(many)


def test_a_text_with_an_index_finds_what_reading_it_finds() -> None:
    draw = random.Random(5)  # noqa: S311
    words = [draw.choice("ab(") for _ in range(3000)]
    words[1000:1060] = words[200:260] = words[2000:2060]
    read_through, indexed = TokenSearch(" ".join(words)), TokenSearch(" ".join(words))
    for _ in range(60):
        list(indexed.find(["b"] * 3))
    for _ in range(40):
        start, length = draw.randrange(2900), draw.randrange(16, 60)
        for tokens in (words[start : start + length], [*words[start : start + length], "missing"]):
            read_through._scanned = 0  # it is never given an index
            assert list(indexed.find(tokens)) == list(read_through.find(tokens))
    assert len(list(indexed.find(words[200:250]))) == 3
    assert "_grams" in vars(indexed)
    assert "_grams" not in vars(read_through)


def test_a_project_can_raise_the_bound_and_its_tasks_still_find_their_contexts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "long.py").write_text(FUNCTION.format(1) * 3)
    (tmp_path / "p" / "short.py").write_text(FUNCTION.format(2))
    store = SnapshotStore(tmp_path / "store")
    taken = store_project(tmp_path / "p", store)
    rules = project_rules()
    bounded = rules.model_copy(update={"files": rules.files.model_copy(update={"max_lines": 20})})
    monkeypatch.setattr(project_module, "project_rules", lambda: bounded)
    refused = analyse_project(taken, ["python"]).skipped["long.py"]
    assert refused.startswith("30 lines; files of more than 20 are not mined")
    assert "`most_lines = 30` in caretbench.toml" in refused
    assert analyse_project(taken, ["python"], max_lines=30).mined == {"python": ("long.py", "short.py")}
    assert set(snapshot_scopes(taken.snapshot.id, store, required_file="short.py").files) == {"short.py"}
    assert set(snapshot_scopes(taken.snapshot.id, store, required_file="long.py").files) == {"long.py", "short.py"}
