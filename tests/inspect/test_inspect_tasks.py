"""``inspect eval caretbench/devbench``: the same numbers as ours, from one set of answers and one sandbox."""

import math
from pathlib import Path

import pytest
from inspect_ai.log import EvalLog, read_eval_log

from caretbench.cli.score import score
from caretbench.errors import DataError, UsageError
from caretbench.files import write_rows
from caretbench.inspect.tasks.answer_scorer import answer_scorer
from caretbench.inspect.tasks.inspect_logs import InspectLog, is_log
from caretbench.inspect.tasks.suite_tasks import inspect_task
from caretbench.problem import Completion
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from caretbench.suites.answer_kinds import ERROR_KINDS_SCORER
from tests.support.inspect_runs import answering, numbers, run

devbench = inspect_task("devbench")

IDS = (
    "python/api_usage/latency-percentiles",
    "python/code2nl_nl2code/flag-spikes",
    "javascript/low_context/compose-middleware",
    "javascript/low_context/map-with-limit",
)
SELECT = "id=" + "|".join(IDS)


def answer(identity: str, epoch: int) -> str:
    """Right, nearly right, wrong and empty, so that every problem has another rate."""
    reference = {problem.id: problem.reference for problem in load_suite("devbench").load("starter").problems}[identity]
    place = IDS.index(identity)
    if epoch <= place:
        return reference
    return reference[: len(reference) // 2] if epoch == 3 else "" if epoch == 2 else "raise SystemExit(3)\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    folder = tmp_path_factory.mktemp("logs")
    return run(devbench(select=SELECT, prompt="fill", policy="raw", samples=3), answering(answer), folder)


@pytest.fixture(scope="module")
def from_log(log: EvalLog, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The run that our own score stage makes of the log."""
    folder = tmp_path_factory.mktemp("run")
    score("devbench", completions=[Path(log.location)], baseline="none", policy="raw", output=folder,
          select=SELECT, html=False, as_json=True)  # fmt: skip
    return RunFolder(folder)


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The same answers, never near Inspect."""
    folder = tmp_path_factory.mktemp("hand")
    rows = [
        Completion(problem_id=identity, model="m", parameters="p", sample=epoch - 1, text=answer(identity, epoch))
        for identity in IDS
        for epoch in (1, 2, 3)
    ]
    write_rows(folder / "m.jsonl", rows)
    score("devbench", completions=[folder / "m.jsonl"], baseline="none", policy="raw", output=folder / "run",
          select=SELECT, html=False, as_json=True)  # fmt: skip
    return RunFolder(folder / "run")


def rows_of(folder: RunFolder) -> dict[tuple[str, int], dict[str, object]]:
    """What the score stage says of each answer: the outcome, and all values in one mapping."""
    rows: dict[tuple[str, int], dict[str, object]] = {}
    for row in folder.scores():
        if row.model != "reference":
            said = rows.setdefault((row.problem_id, row.sample), {})
            if row.scorer == ERROR_KINDS_SCORER:
                said["error_kinds"] = [name for name, value in row.values.items() if value]
                continue
            said |= dict(row.values) | ({"outcome": row.outcome} if row.outcome else {})
    return rows


def test_row_by_row_the_same_to_the_last_digit(log: EvalLog, from_log: RunFolder, by_hand: RunFolder) -> None:
    theirs = {}
    for sample in read_eval_log(log.location).samples or []:
        scored = sample.scores["caret"]
        values = {name: value for name, value in scored.value.items() if name != "verdict"}
        theirs[str(sample.id), sample.epoch - 1] = values | {
            name: scored.metadata[name] for name in ("outcome", "error_kinds")
        }
    assert len(theirs) == 12
    assert theirs == rows_of(from_log) == rows_of(by_hand)
    assert len({row["outcome"] for row in theirs.values()}) > 2
    assert any(row["error_kinds"] for row in theirs.values())


def test_the_same_rates_and_means(log: EvalLog, from_log: RunFolder, by_hand: RunFolder) -> None:
    found = numbers(log)
    for folder in (from_log, by_hand):
        summary = summarise_run(load_run_folder(folder.path))
        (column,) = (column for column in summary.columns if not column.baseline)
        ours = {f"pass@{k}": estimate.value for k, estimate in column.overall.pass_at.items()}
        assert ours == {name: found[name] for name in ("pass@1", "pass@2", "pass@3")}
        similarity = {name: estimate.value for name, estimate in column.overall.similarity.items()}
        assert similarity["cosine_full_text"] == pytest.approx(found["cosine"], rel=1e-14)
        assert similarity["line0_mean"] == pytest.approx(found["line0_match"], rel=1e-14)
        assert similarity["indel_similarity_mean"] == pytest.approx(found["indel_similarity"], rel=1e-14)
        assert column.coverage == found["coverage"] == 1.0


def test_a_refused_answer_is_not_run() -> None:
    scorer = answer_scorer("devbench", "starter", execute=False)
    problem = scorer.problem(IDS[0])
    prepared = scorer.prepare(problem, "pass\n" * 120_000)
    assert prepared.request is None
    assert prepared.refusal is not None
    assert prepared.refusal.startswith("refused: ")
    assert "600,000 characters, more than 500,000" in prepared.refusal
    assert scorer.prepare(problem, "").request is not None


def test_passes_are_counted_by_hand(log: EvalLog) -> None:
    # 0, 1, 2 and 3 of 3 samples pass.
    found = numbers(log)
    assert found["pass@1"] == pytest.approx((0 + 1 / 3 + 2 / 3 + 1) / 4)
    assert found["pass@2"] == pytest.approx((0 + 2 / 3 + 1 + 1) / 4)
    assert found["pass@3"] == pytest.approx(3 / 4)


def test_a_log_becomes_rows_with_all_that_it_knows(log: EvalLog, from_log: RunFolder) -> None:
    rows = [row for row in from_log.completions() if row.model == "mockllm/model"]
    assert len(rows) == 12
    first = rows[0]
    assert first.prompt == "fill@1"
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.answers) == (100, 7, 1)
    assert first.finish_reason == "stop"
    (info,) = [info for info in from_log.manifest().models if info.model == "mockllm/model"]
    assert info.source == "model"
    assert info.parameters == first.parameters
    assert info.settings["sampling"] == {"max_tokens": 800, "temperature": 0.2, "top_p": 1.0}
    assert summarise_run(load_run_folder(from_log.path)).usage[0].output_tokens == 84


def test_messages_say_which_sample_they_are(log: EvalLog) -> None:
    for sample in read_eval_log(log.location).samples or []:
        asked = sample.messages[-2]
        assert asked.metadata["sample_id"] == sample.id
        assert asked.metadata["epoch"] == sample.epoch


def test_the_viewer_shows_verdict_and_similarity_and_trusts_no_model(log: EvalLog) -> None:
    viewer = log.eval.viewer
    assert viewer.trust_content is False
    columns = [column.id for column in viewer.task_samples_view.columns]
    assert "score__caret__passed" in columns
    assert "score__caret__cosine" in columns


def test_a_log_of_other_problems_is_refused(log: EvalLog) -> None:
    path = Path(log.location)
    assert is_log(path)
    with pytest.raises(DataError, match="other problems"):
        InspectLog(path, "devbench", "another hash")
    with pytest.raises(DataError, match="of caretbench/other"):
        InspectLog(path, "other", "x")


def test_a_damaged_log_is_one_clear_line(log: EvalLog, tmp_path: Path) -> None:
    damaged = tmp_path / "half.eval"
    damaged.write_bytes(Path(log.location).read_bytes()[:500])
    assert is_log(damaged)
    with pytest.raises(DataError, match="not a log"):
        InspectLog(damaged, "devbench", "x")
    assert not is_log(tmp_path / "absent.eval")


def test_what_cannot_be_asked_or_did_not_come_lowers_the_coverage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is unpromptable, one meets an error of the provider, one is an answer."""
    from caretbench.prompts.registry import FillStrategy
    from caretbench.prompts.strategy import UnpromptableError

    render = FillStrategy.render

    def refusing(self, caret, budget):
        if "latency" in caret.prefix:
            raise UnpromptableError("the text holds a sentinel")
        return render(self, caret, budget)

    monkeypatch.setattr(FillStrategy, "render", refusing)

    def half(identity: str, epoch: int) -> str:
        if "flag-spikes" in identity:
            raise RuntimeError("the provider is not well")
        return answer(identity, 1)

    chosen = "id=" + "|".join(IDS[:3])
    log = run(devbench(select=chosen, prompt="fill"), answering(half), tmp_path)
    found = numbers(log)
    assert found["coverage"] == pytest.approx(1 / 3)
    assert found["pass@1"] == 1.0
    assert not math.isnan(found["cosine"])
    by_id = {str(sample.id): sample for sample in read_eval_log(log.location).samples or []}
    assert by_id[IDS[0]].error is None
    assert by_id[IDS[0]].scores["caret"].reason == "unpromptable"
    assert by_id[IDS[1]].error is not None
    house = load_suite("devbench").load("starter")
    rows = InspectLog(Path(log.location), "devbench", house.hash)
    assert [row.problem_id for row in rows.completions({problem.id for problem in house.problems})] == [IDS[2]]
    assert rows.unanswered == {"provider": 1, "unpromptable": 1}


def test_options_are_checked_before_anything_is_asked() -> None:
    with pytest.raises(ValueError, match="profile 'papre'"):
        devbench(profile="papre")
    with pytest.raises(ValueError, match="max_tokens"):
        devbench(max_tokens=0)
    with pytest.raises(ValueError, match="no label 'colour'"):
        devbench(select="colour=red")
    with pytest.raises(UsageError, match="unknown preset"):
        devbench(preset="nobody")


def test_a_preset_draws_and_options_win_over_it() -> None:
    task = devbench(preset="devbench-paper", max_tokens=100, select=["language=python", "category=low_context"])
    assert task.epochs == 5
    assert (task.config.max_tokens, task.config.temperature, task.config.top_p) == (100, 0.2, 1.0)
    assert {sample.metadata["category"] for sample in task.dataset} == {"low_context"}
