"""The number of problems that finds a wanted difference: by a stored run, by the data, and in `run --detect`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from caretbench import cli
from caretbench.errors import UsageError
from caretbench.files import write_rows
from caretbench.metrics.paired import Pair
from caretbench.metrics.power import power_of
from caretbench.problem import Score
from caretbench.reports.results.detection import Detection, detection_of
from caretbench.runs.plans.config import SuiteConfig
from caretbench.runs.plans.suite_settings import ResolvedSuite
from caretbench.runs.run_folder import ModelInfo, RunFolder
from caretbench.runs.runner import begun_limit, group_sizes


def benchmark_of(root: Path, **settings: object) -> ResolvedSuite:
    return ResolvedSuite.from_config(SuiteConfig(name="devbench", **settings), root=root)  # type: ignore[arg-type]


def store(resolved: ResolvedSuite, folder: Path, passes: dict[str, set[int]], limit: int | None = None) -> Path:
    """Store a run in which each model passes the problems with these numbers."""
    files = RunFolder(folder)
    folder.mkdir(parents=True)
    selection = resolved.selection.__class__(limit=limit)
    files.write_manifest(resolved.manifest().model_copy(update={"selections": [selection]}))
    files.write_problems(resolved.problems)
    write_rows(files.completions_path, [])
    scores = [
        Score(
            problem_id=problem.id, model=model, sample=0, scorer="execution@1", policy=resolved.policy.key,
            profile="default", outcome="passed" if number in right else "failed",
            values={"passed": float(number in right)},
        )
        for model, right in passes.items()
        for number, problem in enumerate(resolved.problems)
    ]  # fmt: skip
    write_rows(files.scores_path, scores)
    return folder


def test_without_a_stored_run_the_spread_and_the_groups_decide(tmp_path: Path) -> None:
    resolved = benchmark_of(tmp_path)
    assert group_sizes(resolved.problems) == [1] * 72
    # By the exact test; (1.96 + 0.84)^2 x .30^2 / .15^2 = 31.4 is of normal differences.
    assert detection_of(resolved, 0.15, []).problems == 52
    assert detection_of(resolved, 0.05, []).problems is None


def test_problems_that_only_a_judge_decides_are_drawn_and_not_compared(tmp_path: Path) -> None:
    resolved = benchmark_of(tmp_path)
    judged = [problem.model_copy(update={"checks": ()}) for problem in resolved.problems[:36]]
    half = resolved._replace(problems=[*judged, *resolved.problems[36:]])
    assert detection_of(half, 0.3, []).problems == 50
    assert detection_of(resolved._replace(problems=judged), 0.15, []).problems is None


def test_the_disagreement_of_stored_models_decides(tmp_path: Path) -> None:
    resolved = benchmark_of(tmp_path)
    passes = {"a": set(range(36)), "b": set(range(3, 39))}
    folder = store(resolved, tmp_path / "earlier", passes)
    store(benchmark_of(tmp_path, select="language=python"), tmp_path / "smaller", {"a": {1, 2}, "b": set(range(3, 12))})
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("[")
    scores = Pair(*([float(number in passes[model]) for number in range(72)] for model in ("a", "b")))
    expected = power_of(scores, 0.2, seed=0).needed
    assert 10 < expected < 72
    folders = [folder, tmp_path / "smaller", tmp_path / "broken", tmp_path / "absent"]
    found = detection_of(resolved, 0.2, folders)
    assert found == Detection(expected, "the rate of disagreement in earlier, 1 pair of models")
    assert found != detection_of(resolved, 0.2, folders[1:])
    assert detection_of(resolved, 0.02, folders).problems is None


def test_problems_that_no_rate_counts_are_drawn_too(tmp_path: Path) -> None:
    resolved = benchmark_of(tmp_path)
    passes = {"a": set(range(36)), "b": set(range(2, 38)), "empty": set(range(36, 72))}
    without = store(resolved, tmp_path / "without", {name: passes[name] for name in "ab"})
    folder = store(resolved, tmp_path / "with", passes)
    files = RunFolder(folder)
    models = [ModelInfo(model="empty", source="baseline", parameters="none", settings={})]
    files.write_manifest(files.manifest().model_copy(update={"models": models}))
    scores = Pair(*([float(number in passes[model]) for number in range(36)] for model in "ab"))
    wanted = 2 * power_of(scores, 0.25, seed=0).needed
    assert detection_of(resolved, 0.25, [folder]).problems == wanted <= 72
    assert detection_of(resolved, 0.25, [without]).problems != wanted


def test_runs_of_one_model_or_of_other_data_decide_nothing(tmp_path: Path) -> None:
    resolved = benchmark_of(tmp_path)
    alone = store(resolved, tmp_path / "alone", {"a": set(range(36))})
    other = store(resolved, tmp_path / "other", {"a": set(range(36)), "b": set(range(9, 45))})
    manifest = RunFolder(other).manifest()
    data = manifest.data.model_copy(update={"hash": "0" * 64})
    RunFolder(other).write_manifest(manifest.model_copy(update={"data": data}))
    assert detection_of(resolved, 0.15, [alone, other]) == detection_of(resolved, 0.15, [])


def test_a_run_that_was_begun_keeps_its_limit(tmp_path: Path) -> None:
    resolved = benchmark_of(tmp_path)
    assert begun_limit(resolved) is None
    store(resolved, resolved.folder.path, {"a": {1}, "b": {2}}, limit=40)
    assert begun_limit(resolved) == 40
    assert begun_limit(benchmark_of(tmp_path, select="language=python")) is None


def test_the_option_sets_the_limit_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["run", "devbench", "-m", "command/true", "--detect", "15", "--dry-run"]
    done = CliRunner().invoke(cli.app, [*command, "--json"])
    assert done.exit_code == 0, done.stderr
    assert '"samples_wanted": 52' in done.stdout
    assert "--limit 52, of 72 problems" in done.stderr
    for more in (["--limit", "9"], ["--per-cell", "1"]):
        done = CliRunner().invoke(cli.app, [*command, *more])
        assert isinstance(done.exception, UsageError)
