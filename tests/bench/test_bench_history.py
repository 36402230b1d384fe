"""History of benches: rows, what is compared with what, verdicts, and summaries."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from caretbench.bench.bench import difference
from caretbench.bench.history import LAST, History, HistoryRow, write_summaries
from caretbench.errors import UsageError
from caretbench.problem import Score
from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.frame import LoadedRun, build_frame
from tests.support.report_runs import make_problem

ALPHA = 0.05 / 26


def row(date: str, value: float = 0.5, **changes: object) -> HistoryRow:
    whole = ReportedNumber(problems=40, value=value, low=value - 0.1, high=value + 0.1)
    fields = {"run": f"{date}-0", "date": date, "suite": "simcopilot", "model": "m", "data": "x", "alpha": ALPHA}
    return HistoryRow.model_validate({**fields, "all": whole, **changes})


def run_of(name: str, passes: list[bool], changed: int = 0) -> LoadedRun:
    problems = [
        make_problem("python", "api_usage", n).model_copy(update={"block_hash": "2" if n < changed else "1"})
        for n in range(len(passes))
    ]
    if name == "before":
        problems = [one.model_copy(update={"block_hash": "1"}) for one in problems]
    scores = [
        Score(problem_id=one.id, model="m", scorer="execution@1", policy="raw", profile="default",
              outcome="passed" if passed else "failed", values={"passed": float(passed)})
        for one, passed in zip(problems, passes, strict=True)
    ]  # fmt: skip
    manifest = {"data": {"hash": name}, "policy": "raw", "profile": "default", "isolation": {"level": "namespaces"}}
    return LoadedRun(name, manifest, problems, [], build_frame(problems, scores))


def test_the_last_bench_or_the_last_up_to_a_day_is_compared_with(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    history.add([row("2026-01-05"), row("2026-01-12")])
    history.add([row("2026-01-19"), row("2026-01-12", 0.7)])  # the same bench again takes its own place
    again = History(tmp_path / "history.jsonl")
    assert [(one.run, one.all.value) for one in again.rows] == [
        ("2026-01-05-0", 0.5), ("2026-01-12-0", 0.7), ("2026-01-19-0", 0.5),
    ]  # fmt: skip
    chosen = {than: again.before("2026-01-19-0", "simcopilot", "m", than) for than in (LAST, "2026-01-11")}
    assert {than: one and one.run for than, one in chosen.items()} == {
        LAST: "2026-01-12-0", "2026-01-11": "2026-01-05-0",
    }  # fmt: skip
    assert again.before("2026-01-05-0", "simcopilot", "m", LAST) is None
    with pytest.raises(UsageError, match=r"--than 2025-12-31: .* 2026-01-05"):
        again.before("2026-01-19-0", "simcopilot", "m", "2025-12-31")


@pytest.mark.parametrize(
    ("before", "after", "changed", "verdict"),
    [
        ([True] * 30, [False] * 20 + [True] * 10, 0, "worse"),
        ([False] * 20 + [True] * 10, [True] * 30, 0, "better"),
        ([True] * 30, [False] * 6 + [True] * 24, 0, "not distinguishable"),  # p .031, and a year has 52 weeks
        ([True] * 40, [False] * 20 + [True] * 20, 20, "not distinguishable"),  # the failures are about other blocks
        ([True] * 9, [False] * 9, 0, "cannot be decided"),  # 2 / 2^9 is more than alpha
    ],
)
def test_only_a_distinguishable_loss_on_equal_blocks_is_worse(
    before: list[bool], after: list[bool], changed: int, verdict: str
) -> None:
    found = difference(run_of("before", before), run_of("after", after, changed), "m", ALPHA)
    assert found["verdict"] == verdict
    assert (found["difference"] == 0) is (str(found["difference"]) == "0.0")


def test_summaries_have_the_trend_and_fail_where_it_is_worse(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    bad = {"than": "2026-01-05-0", "difference": -0.2, "low": -0.3, "high": -0.1, "p_value": 0.001, "verdict": "worse"}
    history.add([row("2026-01-05"), row("2026-01-12", 0.3, **bad)])
    write_summaries(tmp_path, history, "2026-01-12-0", ["codevbench: no tests"])
    text = (tmp_path / "summary.md").read_text("utf-8")
    assert "| simcopilot | m | 2026-01-12 | 30.0% (20.0 to 40.0, n = 40) | 2026-01-05-0 | -20.0 [" in text
    assert "| simcopilot | m | 2026-01-05 | 50.0% (40.0 to 60.0, n = 40) |  | first |" in text
    assert "* codevbench: no tests" in text
    suite = ElementTree.fromstring((tmp_path / "junit.xml").read_text("utf-8"))[0]  # noqa: S314  our own file
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("1", "1", "0")
    assert suite[0][0].attrib["message"] == "-20.0 [-30.0, -10.0] points, p 0.001: worse"
