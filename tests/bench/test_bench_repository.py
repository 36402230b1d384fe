"""A repository from ``init`` to its second bench, with real builds and a model whose answers are known."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from caretbench.bench.bench import Bench
from caretbench.bench.initial_files import survey, write_files
from caretbench.bench.settings import STATE, bench_settings
from caretbench.errors import DataError, UsageError
from caretbench.models import ModelFailure, ModelRequest
from caretbench.runs.plans.roles import NamedModel
from tests.support.fakes import FakeClient, Reply
from tests.support.shop_project import written

SHOP = """\
def total(prices):
    found = 0
    for price in prices:
        if price > 0:
            found += round(price * 2)
    return found
"""
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1, -1, 3]) == 8\n"
MODELS = [NamedModel("m", "fake/m")]


def fingerprint(root: Path) -> dict[str, str]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and STATE not in path.parts)
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_init_writes_what_is_missing_and_changes_nothing(tmp_path: Path) -> None:
    root = written(tmp_path / "shop", {"shop.py": SHOP, "test_shop.py": TEST})
    found = survey(root)
    assert {one.suite for one in found.fits if one.fits} == {"simcopilot", "codevbench"}
    assert write_files(root, found)[0] == [
        "caretbench.toml",
        ".github/workflows/caretbench.yml",
        ".gitlab/caretbench.yml",
    ]
    before = fingerprint(root)
    assert write_files(root, survey(root)) == ([], list(write_files(root, found)[1]))
    assert fingerprint(root) == before
    assert bench_settings(root).suites == ("simcopilot", "codevbench")
    (root / "caretbench.toml").write_text("[bench]\nproblem = 3\n", "utf-8")
    with pytest.raises(DataError, match=r"caretbench\.toml: problem"):
        bench_settings(root)


def test_a_repository_without_tests_does_not_fit(tmp_path: Path) -> None:
    root = written(tmp_path / "notes", {"notes.md": "# Notes\n"})
    with pytest.raises(DataError, match=r"simcopilot: .*language"):
        write_files(root, survey(root))


def test_a_model_that_is_not_there_is_named_before_anything_is_built(tmp_path: Path) -> None:
    root = written(tmp_path / "shop", {"shop.py": SHOP, "test_shop.py": TEST})
    with pytest.raises(DataError, match="absent"):
        Bench(root, bench_settings(root), [NamedModel("m", "gguf/absent.gguf")]).carry_out()
    assert not (root / STATE).exists()


def test_a_second_bench_builds_and_asks_only_what_is_new(tmp_path: Path) -> None:
    """With real builds, as stable ids, kept results and carried answers meet nowhere else."""
    root = written(tmp_path / "shop", {"shop.py": SHOP, "test_shop.py": TEST})
    (root / "caretbench.toml").write_text('[bench]\nsuites = ["simcopilot"]\nproblems = 8\n', "utf-8")
    asked: list[str] = []

    def reply(request: ModelRequest, _sample: int) -> str:
        asked.append(request.id)
        return "pass"

    def opener(spec: str, _options: object) -> FakeClient:
        return FakeClient(reply, name=spec)

    def run(**options: bool) -> tuple[object, ...]:
        found = Bench(root, bench_settings(root), MODELS, opener=opener).carry_out(**options)
        [row] = found.rows
        return (found.builds, row)

    before = fingerprint(root)
    steps, first = run()
    number = len(asked)
    assert (number, first.all.problems, first.all.value, first.verdict) == (number, number, 0.0, "first")
    assert steps
    steps, again = run()
    assert (steps, len(asked), again) == ({}, number, first)
    assert fingerprint(root) == before
    (root / "notes.md").write_text("Nothing that a test reads.\n", "utf-8")
    steps, later = run(new_only=True)
    assert "command" not in steps["simcopilot"]["steps"]
    assert (len(asked), later.than, later.old.problems, later.new) == (number, first.run, number, None)
    assert later.difference == 0
    with pytest.raises(UsageError, match="--than 'May'"):
        Bench(root, bench_settings(root), MODELS, than="May")

    # Two models of which one fails at a request: the summary names the failure once.
    def unlucky(request: ModelRequest, _sample: int) -> Reply:
        if request.id == asked[0]:
            return ModelFailure(request_id=request.id, samples=(0,), kind="provider", message="no answer")
        return "pass"

    both = [*MODELS, NamedModel("luck", "fake/luck")]
    found = Bench(root, bench_settings(root), both, opener=lambda spec, _: FakeClient(unlucky, name=spec)).carry_out()
    assert [row.model for row in found.rows] == ["m", "luck"]
    summary = (root / STATE / "summary.md").read_text("utf-8")
    assert summary.count("luck: coverage") == 1
    assert len({*found.notes}) == len(found.notes)
