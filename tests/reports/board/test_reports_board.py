"""Boards of scripted models: merging, ranks, weights, shifts, the site in Chromium, and the check of a submission."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import polars as pl
import pytest

from caretbench.api import score
from caretbench.errors import UsageError
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.files import DataError
from caretbench.reports.board.board import Board, BoardColumn, make_board, slug
from caretbench.reports.board.board_records import board_records, changes
from caretbench.reports.board.board_site import (
    measured_shifts,
    over_suites,
    parse_weights,
    printed_shifts,
    rank_shifts,
    spearman_interval,
    weighted_models,
    write_site,
)
from caretbench.reports.board.submission import check_submission
from caretbench.runs.plans.config import RunConfig, SuiteConfig
from caretbench.suites import load_problems, load_suite
from caretbench.suites.validity import GATE_VERSION, verdicts_path
from tests.support.axe import axe_script, serious_findings
from tests.support.command_run import CommandRun
from tests.support.report_browser import PAPER, PHONE, WIDE, chromium, cut_elements, needs_browser, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LABELS = "language=python,category=low_context|api_usage|pattern_matching"
PROBLEMS = [
    problem
    for problem in load_problems(load_suite("devbench"), "starter").problems
    if problem.label("language") == "python"
    and problem.label("category") in ("low_context", "api_usage", "pattern_matching")
]
WRONG = "raise ValueError"


def scored(folder: Path, name: str, answers: Mapping[str, str], **changes: str) -> Path:
    suite = SuiteConfig(name="devbench", select=LABELS, **changes)  # type: ignore[arg-type]
    score(RunConfig(suites=(suite,), output=folder), answers=answers, name=name)
    return folder


def answers_of(right: int) -> dict[str, str]:
    """The first answers are the references, the others are wrong."""
    return {one.id: one.reference if place < right else WRONG for place, one in enumerate(PROBLEMS)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of three models: two are always right, one never."""
    try:
        Sandbox().probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    root = tmp_path_factory.mktemp("board") / "runs"
    scored(root / "first", "right", answers_of(len(PROBLEMS)))
    scored(root / "second", "wrong", answers_of(0))
    scored(root / "third", "twin", answers_of(len(PROBLEMS)))
    return root


@pytest.fixture(scope="module")
def made(runs: Path) -> tuple[Board, pl.DataFrame]:
    return make_board([runs])


@pytest.fixture
def submission(runs: Path, tmp_path: Path) -> Path:
    root = tmp_path / "submission"
    shutil.copytree(runs / "first", root / "first")
    shutil.copytree(runs / "second", root / "second")
    write_site(*make_board([root]), root / "site", (), "us")
    return root


def test_runs_of_one_suite_are_one_column(made: tuple[Board, pl.DataFrame]) -> None:
    [column] = made[0].columns
    assert [(one.title, one.rank, one.worse, one.better) for one in column.models] == [
        ("right", "1–2", ("wrong",), ()), ("twin", "1–2", ("wrong",), ()), ("wrong", "3", (), ("right", "twin")),
    ]  # fmt: skip
    assert column.untold(column.models[0]) == ["twin"]
    assert column.family == 3
    assert {one.title: one.raw.value for one in column.models} == {"right": 1.0, "twin": 1.0, "wrong": 0.0}
    assert {one.coverage for one in column.models} == {1.0}
    assert all(date.fromisoformat(one.date) <= datetime.now(UTC).date() for one in column.models)
    assert sum(entry.model == "empty" for entry in column.entries) == 1
    rows = made[1].filter(pl.col("model") == "right")
    assert rows.height == len(PROBLEMS)
    assert rows["leads"].sum() == column.models[0].rate.problems


def test_a_row_has_the_command_that_makes_it(runs: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(runs / "first", tmp_path / "asked")
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    settings = {
        "sampling": {"max_tokens": 32, "temperature": 0.0}, "prompt": "chat@1", "instruction": "none@1",
        "budget": {"tokens": 512, "count": "estimate"}, "client": {"model": "server/right", "address": "http://here/v1"},
    }  # fmt: skip
    for info in manifest["models"]:
        if info["model"] == "right":
            info |= {"source": "model", "settings": settings}
    path.write_text(json.dumps(manifest), "utf-8")
    [entry] = make_board([folder])[0].columns[0].models
    assert entry.command == (
        "caretbench run devbench -m server/right --data starter --profile default --policy syntax@4 --max-tokens 32 "
        "--temperature 0.0 --top-p none --prompt chat --instruction none --prompt-tokens 512 --base-url http://here/v1 "
        f"--select '{LABELS}'"
    )
    assert entry.settings == {"max_tokens": 32, "temperature": 0.0}


def test_what_compare_refuses_stands_on_boards_apart(runs: Path, tmp_path: Path) -> None:
    other = scored(tmp_path / "paper", "right", answers_of(3), profile="paper")
    board, _ = make_board([runs / "first", other])
    assert sorted(one.profile for one in board.columns) == ["default", "paper"]
    assert [len(one.models) for one in board.columns] == [1, 1]
    paper = next(one for one in board.columns if one.profile == "paper")
    assert (paper.rule, paper.models[0].rate) == ("", paper.models[0].raw)


def test_other_answers_of_one_model_stand_apart(runs: Path, tmp_path: Path) -> None:
    again = scored(tmp_path / "again", "right", answers_of(2))
    [column] = make_board([runs / "first", again])[0].columns
    assert len(column.models) == 2
    assert "other answers" in column.notes[0]
    shutil.copytree(runs / "first", tmp_path / "copy")
    [column] = make_board([runs / "first", tmp_path / "copy"])[0].columns
    assert [one.title for one in column.models] == ["right"]


def test_kinds_of_prompt_are_apart(runs: Path, tmp_path: Path) -> None:
    fim = shutil.copytree(runs / "second", tmp_path / "fim")
    lines = (fim / "completions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    changed = [row | ({"prompt": "fim/starcoder@1"} if row["model"] == "wrong" else {}) for row in rows]
    (fim / "completions.jsonl").write_text("\n".join(map(json.dumps, changed)) + "\n", "utf-8")
    board, _ = make_board([runs / "first", fim])
    assert [(one.prompt, [entry.title for entry in one.models]) for one in board.columns] == [
        ("fim", ["wrong"]), ("recorded", ["right"]),
    ]  # fmt: skip
    assert all(any(entry.baseline for entry in one.entries) for one in board.columns)


def test_names_of_files_are_different() -> None:
    names = {slug("gpt-4o"), slug("GPT-4o"), slug("a/b"), slug("a b"), slug("a-b"), slug("x" * 200), slug("x" * 201)}
    assert len(names) == 7
    assert "gpt-4o" in names
    assert slug("a", "b") != slug("a", "c")


def test_a_model_below_a_baseline_on_its_own_problems_says_so(runs: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(runs / "first", tmp_path / "first")
    path = folder / "scores.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    checks = [row for row in rows if row["scorer"].startswith("execution@")]
    for row in checks:
        passed = row["model"] == "stub" and row["problem_id"] == PROBLEMS[0].id
        if row["model"] in ("right", "stub"):
            row |= {"outcome": "passed" if passed else "runtime_error", "values": {"passed": float(passed)}}
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    [entry] = make_board([folder])[0].columns[0].models
    assert (entry.raw.value, entry.below) == (0.0, "stub")
    kept = [row for row in rows if (row["model"], row["problem_id"]) != ("right", PROBLEMS[0].id)]
    path.write_text("\n".join(map(json.dumps, kept)) + "\n", "utf-8")
    [entry] = make_board([folder])[0].columns[0].models
    assert entry.below == ""


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path}: neither a"):
        make_board([tmp_path])


def test_the_same_input_gives_the_same_bytes(made: tuple[Board, pl.DataFrame], runs: Path, tmp_path: Path) -> None:
    write_site(*made, tmp_path / "one", (), "us")
    write_site(*make_board([runs / "third", runs / "first", runs / "second"]), tmp_path / "two", (), "us")
    write_site(*made, tmp_path / "two", (), "us")
    files = {path.relative_to(tmp_path / "one"): path.read_bytes() for path in (tmp_path / "one").rglob("*.*")}
    again = {path.relative_to(tmp_path / "two"): path.read_bytes() for path in (tmp_path / "two").rglob("*.*")}
    assert files == again
    assert {"index.html", "data.parquet", "data.csv", "board.json", "embed.html"} <= {path.name for path in files}
    packed = pl.read_parquet(tmp_path / "one" / "data.parquet")
    assert packed.equals(made[1])


def test_earlier_versions_are_kept(made: tuple[Board, pl.DataFrame], runs: Path, tmp_path: Path) -> None:
    write_site(*make_board([runs / "first"]), tmp_path, (), "us")
    before = (tmp_path / "board.json").read_bytes()
    index = write_site(*made, tmp_path, (), "us")
    assert (tmp_path / "history" / "0001.json").read_bytes() == before
    page = index.read_text("utf-8")
    assert "wrong@recorded is new" in page
    assert "rank 1 to 1–2" in page
    write_site(*made, tmp_path, (), "us")
    assert len([*(tmp_path / "history").iterdir()]) == 1


def test_records_are_valid_in_the_schema(made: tuple[Board, pl.DataFrame]) -> None:
    schema = json.loads(Path(__file__).with_name("every_eval_ever.schema.json").read_text("utf-8"))
    records = board_records(made[0], "us")
    assert [record["model_info"]["name"] for record in records] == ["right", "twin", "wrong"]
    for record in records:
        assert record["schema_version"] == schema["version"]
        jsonschema.validate(record, schema)
        [result] = record["evaluation_results"]
        command = result["generation_config"]["generation_args"]["execution_command"]
        assert f"--select '{LABELS}'" in command
    assert list(changes(records, records)) == []


def two_columns(made: tuple[Board, pl.DataFrame]) -> tuple[list[BoardColumn], pl.DataFrame]:
    [column], rows = made[0].columns, made[1]
    other = column.model_copy(update={"key": "other", "suite": "other", "title": "Other"})
    return [column, other], pl.concat([rows, rows.with_columns(board=pl.lit("other"))])


def test_suites_are_weighted_by_the_user_alone(made: tuple[Board, pl.DataFrame]) -> None:
    columns, rows = two_columns(made)
    assert over_suites(columns, "right", "wrong") == "better in 2, worse in 0 of 2"
    assert over_suites(columns, "right", "twin") == "better in 0, worse in 0 of 2"
    found = weighted_models(columns, rows, {"devbench": 3, "other": 1})
    assert [(one.title, one.value) for one in found] == [("right", 1.0), ("twin", 1.0), ("wrong", 0.0)]
    assert sum(one.first for one in found) == pytest.approx(1)
    assert found[-1].first == 0
    assert parse_weights("devbench=2,c3bench=0.5") == {"devbench": 2.0, "c3bench": 0.5}
    for text in ("devbench", "devbench=-1", "devbench=nan"):
        with pytest.raises(UsageError, match="expected SUITE=WEIGHT"):
            parse_weights(text)
    with pytest.raises(UsageError, match="names 0 columns"):
        weighted_models(columns, rows, {"missing": 1})


def test_ranks_shift_against_a_base(made: tuple[Board, pl.DataFrame]) -> None:
    found = rank_shifts("x", {"a": 3, "b": 2, "c": 1, "d": 0}, {"a": 1, "b": 2, "c": 3})
    assert (found.shifts, found.coefficient.text, found.coefficient.note) == (
        {"a": -2, "b": 0, "c": 2}, "-1.00", "n = 3",
    )  # fmt: skip
    columns, _ = two_columns(made)
    table = measured_shifts(columns, "other")
    assert [[field.text for field in row] for row in table.rows] == [
        ["right", "1", "+0"], ["twin", "2", "+0"], ["wrong", "3", "+0"], ["Spearman's r", "-", "1.00"],
    ]  # fmt: skip
    low, high = spearman_interval(0.6, 9) or (0, 0)
    assert (round(low, 3), round(high, 3)) == (-0.174, 0.916)
    assert spearman_interval(0.6, 4) is None


def test_the_papers_figure_by_its_ranks_and_tables() -> None:
    """Figure 5 of C3-Bench: the coefficient of its own ranks is not always the printed one."""
    table = printed_shifts("c3bench")
    assert table is not None
    cells = {row[0].text: [field.text for field in row[1:]] for row in table.rows}
    assert cells["cross code eval"] == ["-0.28", "-0.33", "-0.33", "-0.14", "-"]
    assert cells["safim"] == ["-0.04", "0.01", "-", "-", "-0.25"]
    assert printed_shifts("devbench") is None


def test_a_true_submission_is_confirmed(submission: Path) -> None:
    report = check_submission(submission, sample=3)
    assert (report.differences, report.unconfirmed) == ([], [])
    assert report.checked[1:] == [f"{name}: 3 of {len(PROBLEMS)} answers run again" for name in ("first", "second")]


def rewritten(path: Path, old: str, new: str, number: int = 1) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, number), "utf-8")


def test_a_changed_verdict_is_named(submission: Path) -> None:
    path = submission / "second" / "scores.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    row = next(row for row in rows if row["model"] == "wrong" and row["scorer"].startswith("execution@"))
    row |= {"outcome": "passed", "values": {"passed": 1.0}}
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    report = check_submission(submission)
    assert f"second: wrong on {row['problem_id']}, sample 0: passed in the run, failed here" in report.differences
    assert any(line.startswith("data.parquet: wrong on ") for line in report.differences)
    assert any(line.startswith("board.json: ") and "rate 0% to " in line for line in report.differences)


def test_a_changed_rate_is_named(submission: Path) -> None:
    path = submission / "site" / "board.json"
    records = json.loads(path.read_text("utf-8"))
    records[1]["evaluation_results"][0]["score_details"]["score"] = 0.5
    path.write_text(json.dumps(records), "utf-8")
    report = check_submission(submission, sample=1)
    assert any("wrong@recorded: " in line and "rate 50% to 0%" in line for line in report.differences)


def test_missing_rows_are_named(submission: Path) -> None:
    path = submission / "second" / "completions.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    mine = [line for line in lines if '"model":"wrong"' in line]
    path.write_text("".join(line for line in lines if line != mine[0]), "utf-8")
    report = check_submission(submission, sample=1)
    assert any("only a score" in line for line in report.differences)
    assert any("is incomplete" in line for line in report.differences)
    scores = submission / "first" / "scores.jsonl"
    kept = [line for line in scores.read_text("utf-8").splitlines(keepends=True) if '"model":"right"' not in line]
    scores.write_text("".join(kept), "utf-8")
    assert any("only an answer" in line for line in check_submission(submission, sample=1).differences)


def test_what_decides_which_problems_count_is_run_again(submission: Path) -> None:
    """An edited baseline or exclusion moves a rate without a change to the model's own rows."""
    hard, easy = (one.id for one in PROBLEMS[:2])
    manifest = submission / "second" / "manifest.json"
    stated = json.loads(manifest.read_text("utf-8"))
    stated["excluded"] = {"reference does not pass here": [hard]}
    manifest.write_text(json.dumps(stated), "utf-8")
    path = submission / "second" / "scores.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    row = next(
        row for row in rows
        if (row["model"], row["problem_id"]) == ("stub", easy) and row["scorer"].startswith("execution@")
    )  # fmt: skip
    row |= {"outcome": "passed", "values": {"passed": 1.0}}
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    differences = check_submission(submission).differences
    assert f"second: {hard}: excluded in the run, not here" in differences
    assert f"second: stub on {easy}, sample 0: passed in the run, failed here" in differences


def test_other_verdicts_of_the_gate_are_named(submission: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"problem_id": PROBLEMS[0].id, "verdict": "invalid", "gate": GATE_VERSION}
    for name in ("first", "second"):
        (submission / name / "validity.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    monkeypatch.setenv("CARETBENCH_CACHE", str(submission / "cache"))
    assert any("1 verdicts" in line for line in check_submission(submission).unconfirmed)
    stored = verdicts_path("devbench", load_problems(load_suite("devbench"), "starter").hash)
    stored.parent.mkdir(parents=True)
    stored.write_text(json.dumps(row | {"verdict": "valid"}) + "\n", "utf-8")
    line = f"first: {PROBLEMS[0].id}: the gate says invalid in the run, valid here"
    assert line in check_submission(submission, sample=1).differences


def test_choices_are_decided_again_and_what_only_a_judge_decides_is_not_missed(tmp_path: Path) -> None:
    suite = SuiteConfig(name="efcb", limit=20)
    problems = load_problems(load_suite("efcb"), "starter").problems
    config = RunConfig(suites=(suite,), baselines=("reference",), output=tmp_path / "efcb")
    score(config, answers={one.id: "A" for one in problems}, name="a")
    write_site(*make_board([tmp_path / "efcb"]), tmp_path / "site", (), "us")
    report = check_submission(tmp_path, sample=99)
    assert (report.differences, report.unconfirmed) == ([], [])
    assert report.checked[1].endswith(" answers run again")
    rewritten(tmp_path / "efcb" / "completions.jsonl", '"A"', '"E"', 99)
    assert any("passed in the run, failed here" in line for line in check_submission(tmp_path, sample=99).differences)


def test_without_the_data_nothing_is_confirmed(submission: Path) -> None:
    rewritten(submission / "first" / "manifest.json", '"hash": "', '"hash": "0')
    report = check_submission(submission, sample=1)
    assert any(
        line.startswith("first: nothing is confirmed: the run's data have the hash 0") for line in report.unconfirmed
    )
    done = CommandRun(submission, "--sample", "1", verb=("board", "check"))
    assert done.code == 1
    assert "nothing is confirmed" in done.err


def test_the_command_writes_the_site(runs: Path, tmp_path: Path) -> None:
    done = CommandRun(runs, "-o", tmp_path / "site", "--suite-weights", "devbench=1", verb=("board",))
    assert done.code == 0, done.err
    assert "Weighted by the user" in done.out
    assert (tmp_path / "site" / "index.html").is_file()
    assert "RUN is" in CommandRun("-o", tmp_path / "site", verb=("board",)).err


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def site(made: tuple[Board, pl.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the board's pages."""
    return write_site(*made, tmp_path_factory.mktemp("site"), (), "us")


@needs_browser
@pytest.mark.requires("axe")
@pytest.mark.parametrize("look", [WIDE, pytest.param(PHONE, marks=pytest.mark.long)])  # 10 CPU seconds each
def test_pages_in_chromium(browser: Browser, site: Path, look: tuple[int, str]) -> None:
    for path in (site, site.with_name("model-wrong.html"), *site.parent.glob("suite-*.html")):
        with opened(browser, path, look) as (page, said):
            assert serious_findings(page, axe_script()) == []
            assert cut_elements(page, paper=look == PHONE) == []
            assert page.evaluate("document.documentElement.scrollWidth") == look[0]
            assert said == []
    with opened(browser, site, look) as (page, _):
        page.locator("form.table-filter input").fill("twin")
        assert page.locator("#board .table-block").first.locator("tbody tr:visible").count() == 1
        page.locator("form.table-filter input").fill("")
        if look == WIDE:
            head = page.locator("th button", has_text="rank").first
            head.click()
            names = page.locator("#board .table-block").first.locator("tbody tr td:first-child")
            assert names.all_inner_texts()[-1] == "wrong"
            head.click()
            assert names.all_inner_texts()[0] == "wrong"
        page.locator("#board td a", has_text="wrong").first.click()
        assert page.locator("h1").inner_text() == "wrong"


@needs_browser
def test_pages_are_printed_and_embedded(browser: Browser, site: Path) -> None:
    host = site.with_name("host.html")
    host.write_text('<!doctype html><title>host</title><iframe src="embed.html" width="900" height="500"></iframe>')
    with opened(browser, site, PAPER) as (page, _):
        page.emulate_media(media="print")
        assert cut_elements(page, paper=True) == []
    with opened(browser, host, WIDE) as (page, said):
        assert page.frame_locator("iframe").locator("td", has_text="twin").first.is_visible()
        assert said == []
