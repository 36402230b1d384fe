"""`judge` on questions about changes: scripted judges behind a real socket."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from caretbench import cli
from caretbench.problem import Completion, Problem, Profile, Score
from caretbench.reports.judged.judged_texts import JudgedRun, judged_values
from caretbench.reports.judged.scores import NOT_VALIDATED
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from tests.support.command_run import in_this_process as caretbench
from tests.support.model_server import Behaviour, ModelServer, Recorded, answer, silence
from tests.support.questions import CHANGES, question_problem, question_problems
from tests.support.rule_judges import agreeing, contrary, kind_of
from tests.support.simulated_people import all_items, decide_all

SCORES, CLAIMS = "efcb-description@1", "efcb-claims@1"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-your-business")


def false(problem: Problem) -> str:
    """An invention, another one for each change."""
    return f"Title: {problem.cluster}: sell shoes\n\nBody: It sells shoes."


def make_folder(path: Path, profile: Profile = "default") -> RunFolder:
    """A run of all tasks of three changes; the model answers once with the truth and once with an invention."""
    folder, problems = RunFolder(path), question_problems()
    path.mkdir()
    folder.write_manifest(
        Manifest(
            suite="efcb", policy="raw@2", profile=profile,
            data=DataInfo(name="d", hash="h", problems=len(problems), selected=len(problems)),
        )
    )  # fmt: skip
    folder.write_problems(problems)
    rows = [
        Completion(problem_id=problem.id, model="m", sample=sample, text=text)
        for problem in problems
        for sample, text in enumerate((problem.reference, false(problem)))
    ]
    folder.completions_path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows))
    return folder


def prompt_of(request: Recorded) -> str:
    return str(request.body["messages"][-1]["content"])


def replying(rule: Callable[[str], str]) -> Callable[[Recorded, int], str]:
    return lambda request, _choice: rule(prompt_of(request))


class Done:
    def __init__(self, folder: RunFolder, server: ModelServer, *arguments: str) -> None:
        options = ("-m", "openai/gpt-4o-mini", "--base-url", f"{server.url}/v1", "--connections", "4")
        result = CliRunner().invoke(cli.app, ["judge", str(folder.path), *options, *arguments])
        self.code, self.out, self.err, self.error = (result.exit_code, result.stdout, result.stderr, result.exception)

    def sections(self) -> dict[str, dict[str, Any]]:
        """What was printed as JSON, by criterion."""
        return {section["criterion"]: section for section in json.loads(self.out)}


def test_an_agreeing_judge(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run")
    with ModelServer(answer=replying(agreeing)) as server:
        done = Done(folder, server, "--json")
        assert done.code == 0, (done.err, done.error)
        asked_once = len(server.requests)
        schemas = {
            body["response_format"]["json_schema"]["name"]
            for request in server.requests
            if "response_format" in (body := request.body)
        }
        again = Done(folder, server)
        assert len(server.requests) == asked_once
    assert schemas == {"efcb_masked", "efcb_description", "efcb_claims", "efcb_claim_support"}
    assert {request.body["temperature"] for request in server.requests} == {0}
    sections = done.sections()
    assert list(sections) == [CLAIMS, SCORES, "efcb-masked@1"]
    for key, mean in ((SCORES, (10 + 2) / 2), ("efcb-masked@1", (10 + 1) / 2)):
        [column] = sections[key]["columns"]
        assert (column["answers"], column["rated"], column["value"]["value"]) == (6, 6, pytest.approx(mean))
        [judge] = sections[key]["judges"]
        assert {name: control["right"] for name, control in judge["controls"].items()} == {
            "reference": 1.0, "other-reference": 1.0, "empty": 1.0,
        }  # fmt: skip
        assert judge["in_order"] is True
        assert (judge["consistency"]["same"], judge["consistency"]["order_effect"]) == (1.0, 0.0)
        assert judge["consistency"]["both_orders"] == judge["texts"]
    [column] = sections[CLAIMS]["columns"]
    assert column["value"]["value"] == 0.5
    [judge] = sections[CLAIMS]["judges"]
    assert (judge["precision"], judge["recall"], judge["in_order"]) == (1.0, 1.0, True)
    assert set(judge["controls"]) == {"reference", "false-claim", "other-reference"}
    for section in sections.values():
        assert section["validity"] == NOT_VALIDATED
    for title in ("Judge scores", "Calibration by controls", "Consistency over repeats", "Judges"):
        assert f"{title}, {SCORES} ({NOT_VALIDATED})" in again.out


def test_a_contrary_judge_is_found_out(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run")
    with ModelServer(answer=replying(contrary)) as server:
        done = Done(folder, server, "--json", "--repeats", "1")
        asked_once = len(server.requests)
        told = Done(folder, server, "--repeats", "1").out
        assert len(server.requests) == asked_once
    assert "wrong" in told
    assert done.code == 0, (done.err, done.error)  # three controls prove nothing yet
    assert f"by {SCORES}: too few controls (3; 33 are needed)" in done.err
    assert done.err.count("no EFCB score contains them") == 3
    sections = done.sections()
    for key in (SCORES, "efcb-masked@1"):
        [judge] = sections[key]["judges"]
        assert judge["in_order"] is False
        assert {control["right"] for control in judge["controls"].values()} == {0.0}
    [judge] = sections[CLAIMS]["judges"]
    assert (judge["controls"]["reference"]["right"], judge["in_order"]) == (0.0, False)
    assert judge["precision"] < 0.7


def test_under_the_paper_profile_the_published_judges_are_asked(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run", "paper")
    with ModelServer(answer=replying(agreeing)) as server:
        done = Done(folder, server, "--json")
    assert done.code == 0, (done.err, done.error)
    assert {kind_of(prompt_of(request)) for request in server.requests} == {"similarity", "flag"}
    assert all("response_format" not in request.body for request in server.requests)
    sections = done.sections()
    assert list(sections) == ["efcb-hallucination-paper@1", "efcb-similarity-paper@1"]
    [column] = sections["efcb-similarity-paper@1"]["columns"]
    assert column["answers"] == 12
    assert {part["labels"]["task"]: part["value"]["value"] for part in column["strata"]["task"]} == {
        "mpr-gen": 6.5, "reverse-qa": 6.5,
    }  # fmt: skip
    [judge] = sections["efcb-hallucination-paper@1"]["judges"]
    assert (judge["precision"], judge["recall"]) == (1.0, 1.0)
    values = judged_values(JudgedRun.of_folder(folder), {})
    assert values.height == 18
    assert values["judged"].null_count() == 0
    hallucinations = values.filter(values["problem_id"].str.contains("hallu"))
    assert sorted(hallucinations["judged"].to_list()) == [0.0] * 3 + [1.0] * 3


def test_malformed_answers_are_asked_again(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run")
    seen: dict[str, int] = {}

    def twice_wrong(request: Recorded) -> Behaviour | None:
        text = prompt_of(request)
        seen[text] = seen.get(text, 0) + 1
        return (
            answer(["Gladly: {", '{"claims": ["", 3], "verdict": "maybe"}'][seen[text] - 1]) if seen[text] < 3 else None
        )

    with ModelServer(twice_wrong, answer=replying(agreeing)) as server:
        done = Done(folder, server, "--json", "--no-controls", "--select", "task=reverse-qa-hallu")
    assert done.code == 0, (done.err, done.error)
    assert {row.attempts for row in folder.judgements()} == {3}
    [section] = done.sections().values()
    assert section["judges"][0]["tried_again"] == section["judges"][0]["judgements"]
    assert section["columns"][0]["value"]["value"] == 0.5


def test_scores_out_of_range_are_missing_and_the_run_fails(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run", "paper")

    def eleven(text: str) -> str:
        return "11" if "bounds" in text and kind_of(text) == "similarity" else agreeing(text)

    rules = [eleven]
    with ModelServer(answer=replying(lambda text: rules[-1](text))) as server:
        done = Done(folder, server, "--json", "--no-controls")
        assert done.code == 1
        assert "2 judgements could not be read; coverage 83.3%, below" in done.err
        [column] = done.sections()["efcb-similarity-paper@1"]["columns"]
        assert (column["answers"], column["rated"], column["value"]["value"]) == (12, 10, pytest.approx(6.5))
        faults = [row for row in folder.judgements() if row.fault]
        assert [row.fault for row in faults] == ["similarity is not between 0 and 10"] * 2
        assert {row.text for row in faults} == {"11"}
        rules.append(agreeing)
        before = len(server.requests)
        assert Done(folder, server, "--no-controls").code == 0
        assert len(server.requests) == before + 2
    assert all(row.values for row in folder.judgements())


def test_few_that_are_missing_are_told_and_do_not_fail_the_run(tmp_path: Path) -> None:
    folder, problems = make_folder(tmp_path / "run", "paper"), [question_problem("reverse-qa", "cache")]
    folder.write_problems(problems)
    rows = [
        Completion(problem_id=problems[0].id, model="m", sample=sample, text=f"answer {sample}.")
        for sample in range(60)
    ]
    folder.completions_path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows))
    with ModelServer(answer=replying(lambda text: "-1" if "answer 7." in text else "5")) as server:
        done = Done(folder, server, "--no-controls")
    assert done.code == 0
    assert "1 judgements could not be read; coverage 98.3%" in done.err


def test_a_slow_judge(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run")
    chosen = ("--no-controls", "--select", "task=reverse-qa-hallu", "--connections", "8")
    stuck = ["sell shoes"]

    def asleep(request: Recorded) -> Behaviour | None:
        text = prompt_of(request)
        if kind_of(text) == "claims" and any(part in text for part in stuck):
            return silence(60)
        return answer(agreeing(text), pause_s=0.05)

    with ModelServer(asleep) as server:
        done = Done(folder, server, *chosen, "--timeout", "5", "--retries", "0", "--json")
        assert done.code == 1, (done.err, done.error)
        assert {row.kind for row in folder.missing_judgements()} == {"timeout"}
        [column] = done.sections()[CLAIMS]["columns"]
        assert (column["answers"], column["rated"]) == (6, 3)
        stuck.clear()
        before = len(server.requests)
        again = Done(folder, server, *chosen, "--json")
        assert again.code == 0, (again.err, again.error)
        asked_again = [kind_of(prompt_of(request)) for request in server.requests[before:]]
        assert asked_again == ["claims"] * 3 + ["support"] * 3
    assert again.sections()[CLAIMS]["columns"][0]["value"]["value"] == 0.5


# --- without asking ---------------------------------------------------------------------------------------------


def test_what_would_be_asked(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run")
    before = sorted(folder.path.iterdir())
    with ModelServer(answer=replying(agreeing)) as server:
        rows = json.loads(Done(folder, server, "--dry-run", "--no-controls", "--json").out)
        assert {row["criterion"]: (row["distinct_texts"], row["judgements"]) for row in rows} == {
            "efcb-masked@1": (6, 12), SCORES: (6, 12), CLAIMS: (6, 6 + 6 * 8),
        }  # fmt: skip
        assert "into statements: 8" in Done(folder, server, "--dry-run").out
        assert server.requests == []
        assert sorted(folder.path.iterdir()) == before
        assert Done(folder, server, "--no-controls").code == 0
        rows = json.loads(Done(folder, server, "--dry-run", "--no-controls", "--json").out)
    assert [(row["to_ask"], row["stored"] == row["judgements"]) for row in rows] == [(0, True)] * 3


def test_people_rate_answers(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run")
    with ModelServer(answer=replying(agreeing)) as server:
        chosen = ("--no-controls", "--select", "task=reverse-qa|reverse-qa-hallu")
        for number, criterion in enumerate(("efcb-description", "efcb-claims")):
            place = tmp_path / criterion
            made = caretbench(
                "review", "new", str(place), "--protocol", "efcb-answer", "--run", str(folder.path),
                "--criterion", criterion, *chosen[1:],
            )  # fmt: skip
            assert made.returncode == 0, made.stderr
            items = list(all_items(place))
            assert len(items) == 6
            assert all(
                item.shown.reference and "patch.diff" in [file.path for file in item.shown.files] for item in items
            )
            names = ("hallucination",) if number else ("intent", "scope", "key_facts", "title")
            right = {item.id: int(place_ % 2 or "shoes" not in item.shown.span) for place_, item in enumerate(items)}
            decide_all(place, "abc", lambda item, _name: dict.fromkeys(names, right[item.id]), simulated=False)  # noqa: B023
            assert caretbench("review", "export", str(place)).returncode == 0
        done = Done(folder, server, *chosen, "--json")
    for section in done.sections().values():
        [people] = section["people"]
        assert (people["texts"], people["raters"]) == (6, 3)
        assert section["validity"].startswith("not validated against people: needs 10 items that a and others rated")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--criterion", "devbench-quality"), "devbench-quality@1 is not about the problems of this run"),
        (("--criterion", "efcb-claim-support"), "judges the statements that another criterion finds"),
        (("--select", "task=gmcq-easy"), "a judge is asked nothing about them"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    folder = make_folder(tmp_path / "run")
    with ModelServer() as server:
        assert complaint in str(Done(folder, server, *arguments).error)


def test_another_criterion_may_be_asked_for(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run")
    with ModelServer(answer=replying(agreeing)) as server:
        chosen = ("--criterion", "efcb-hallucination-paper", "--select", "task=reverse-qa-hallu", "--no-controls")
        done = Done(folder, server, *chosen, "--json")
    assert done.code == 0, (done.err, done.error)
    [section] = done.sections().values()
    assert section["columns"][0]["value"]["value"] == 0.5
    assert len(CHANGES) == section["columns"][0]["value"]["problems"]
    assert judged_values(JudgedRun.of_folder(folder), {}).height == 0  # not what the problems' checks name


# --- the report -------------------------------------------------------------------------------------------------


def test_the_report_of_a_scored_run_shows_what_judges_said(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run")
    folder.scores_path.write_text(
        "".join(
            Score(
                problem_id=row.problem_id, model=row.model, sample=row.sample, scorer="test@1", policy="raw@2",
                profile="default", values={"length": float(len(row.text or ""))},
            ).model_dump_json()
            + "\n"
            for row in folder.completions()
        )
    )  # fmt: skip

    def stubborn(text: str) -> str:
        return "nothing" if kind_of(text) == "claims" and "shoes" in text else agreeing(text)

    with ModelServer(answer=replying(stubborn)) as server:
        done = Done(folder, server)
    assert done.code == 1
    page = folder.report_path.read_text()
    assert f"controls, {CLAIMS} ({NOT_VALIDATED})" in page
    assert f"m: 50.0% of the answers have a value by {CLAIMS}, below 98%; this run has failed" in page
    shown = CliRunner().invoke(cli.app, ["report", str(folder.path), "--format", "csv"])
    assert shown.exit_code == 0, shown.exception
    lines = list(csv.DictReader(io.StringIO(shown.stdout)))
    values = {
        (f"{line['scope']} {line['labels']}".rstrip(), line["metric"]): line["value"]
        for line in lines
        if line["metric"].startswith("efcb-")
    }
    assert float(values["all", f"{CLAIMS}:coverage"]) == 0.5
    assert float(values["controls", f"{CLAIMS}:recall"]) == 1.0
    assert float(values["task task=reverse-qa", f"{SCORES}:total"]) == pytest.approx(6.0)
    notes = {line["note"] for line in lines if line["metric"].startswith("efcb-")}
    assert all(note.startswith("not validated against people; ") for note in notes)
    assert any("(3; 33 are needed)" in note for note in notes)
