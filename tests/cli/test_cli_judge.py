"""`judge` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from caretbench import cli
from caretbench.cli import judge
from caretbench.files import DataError
from caretbench.models import ClientOptions
from caretbench.people.review.records import ReviewItem
from caretbench.problem import Completion, Usage
from caretbench.reports.judged.scores import NOT_VALIDATED
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from caretbench.suites import load_suite
from tests.support.command_run import in_this_process as caretbench
from tests.support.fakes import FakeClient, failure
from tests.support.model_server import ModelServer, answer, error
from tests.support.simulated_people import decide_all

GOOD = '{"reasoning": "fits", "relevance": 4, "helpfulness": 3}'


class Judges:
    """Stands in for the providers."""

    def __init__(self) -> None:
        self.opened: list[FakeClient] = []
        self.options: list[ClientOptions] = []
        self.reply: Any = GOOD

    def open(self, spec: str, options: ClientOptions) -> FakeClient:
        usage = Usage(input_tokens=1000, output_tokens=100)
        client = FakeClient(lambda _request, _sample: self.reply, name=spec, accepts=["chat"], usage=usage)
        self.opened.append(client)
        self.options.append(options)
        return client


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> Judges:
    found = Judges()
    monkeypatch.setattr(judge, "open_client", found.open)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run of two problems in two languages, three completions each, two of them the same text; not scored."""
    house = load_suite("devbench")
    loaded = house.load("starter")
    chosen = [
        next(problem for problem in loaded.problems if problem.caret.language == language)
        for language in ("python", "java")
    ]
    made = RunFolder(tmp_path / "run")
    made.path.mkdir()
    made.write_manifest(
        Manifest(
            suite="devbench", policy="raw@2", profile="default",
            data=DataInfo(name=loaded.name, hash=loaded.hash, problems=len(loaded.problems), selected=2),
        )
    )  # fmt: skip
    made.write_problems(chosen)
    rows = [
        Completion(problem_id=problem.id, model="m", sample=sample, text=text)
        for problem in chosen
        for sample, text in enumerate(("one\n", "two\n", "one\n"))
    ]
    made.completions_path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows))
    return made


class Done:
    def __init__(self, folder: RunFolder, *arguments: str) -> None:
        result = CliRunner().invoke(cli.app, ["judge", str(folder.path), *arguments])
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        self.error = result.exception


def test_a_run_is_judged_and_shown(folder: RunFolder, judges: Judges) -> None:
    done = Done(folder, "-m", "judge=fake/judge", "--connections", "3", "--no-controls")
    assert done.code == 0, done.err
    assert judges.options[0].connections == 3
    assert len(judges.opened[0].asked) == 4
    assert NOT_VALIDATED in done.out
    assert "7.00" in done.out
    assert "4 distinct texts of 6" in done.err
    assert {row.judge for row in folder.judgements()} == {"fake/judge"}
    assert not folder.report_path.exists()  # the run is not scored
    again = Done(folder, "-m", "fake/judge", "--no-controls", "--json")
    assert judges.opened[1].asked == []
    [section] = json.loads(again.out)
    assert section["validity"] == NOT_VALIDATED
    [column] = section["columns"]
    assert (column["model"], column["answers"], column["rated"]) == ("m", 6, 6)
    assert column["value"]["value"] == 7.0


def test_choices_reach_the_stage(folder: RunFolder, judges: Judges) -> None:
    done = Done(
        folder, "-m", "first=fake/a", "-m", "fake/b", "--repeats", "2", "--select", "language=java",
        "--max-tokens", "50", "--temperature", "0", "--seed", "4", "--control-problems", "1", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    sampling = judges.opened[0].asked[0].sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p, sampling.seed) == (50, 0, None, 4)
    rows = list(folder.judgements())
    assert {row.judge for row in rows} == {"first", "fake/b"}
    assert {row.repeat for row in rows} == {0, 1}
    assert all("java" in row.problem_id for row in rows)


def test_what_would_be_asked(folder: RunFolder, judges: Judges, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."fake/*"]\ninput_per_million = 1\noutput_per_million = 1\n')
    before = sorted(folder.path.iterdir())
    done = Done(folder, "-m", "fake/a", "--dry-run", "--no-controls", "--prices", str(prices), "--json")
    [row] = json.loads(done.out)
    assert (row["completions"], row["distinct_texts"], row["to_ask"], row["stored"]) == (6, 4, 4, 0)
    assert row["expected_cost"] == pytest.approx((row["input_tokens"] + 1200) / 1e6)
    assert row["worst_cost"] == pytest.approx((row["input_tokens"] + 4 * 8192) / 1e6)
    assert judges.opened[0].asked == []
    assert sorted(folder.path.iterdir()) == before
    assert "no price" in Done(folder, "-m", "fake/a", "--dry-run").out


def test_a_limit_of_the_cost(folder: RunFolder, judges: Judges, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."fake/*"]\ninput_per_million = 0\noutput_per_million = 1000\n')
    limited = ("-m", "fake/a", "--no-controls", "--max-tokens", "1000", "--prices", str(prices), "--max-cost", "1.15")
    done = Done(folder, *limited)
    assert done.code == 1
    assert "were not asked for want of money" in done.err
    assert sum(row.cost or 0 for row in folder.judgements()) <= 1.15
    assert len(list(folder.judgements())) == 2
    assert len(judges.opened[0].asked) == 2
    again = Done(folder, *limited)
    assert again.code == 1
    assert judges.opened[1].asked == []  # what the run cost before counts


def test_what_did_not_come_ends_with_one(folder: RunFolder, judges: Judges) -> None:
    judges.reply = failure("no answer")
    done = Done(folder, "-m", "fake/a", "--no-controls")
    assert done.code == 1
    assert "4 judgements did not come" in done.err
    assert str(folder.judge_errors_path) in done.err
    judges.reply = "I like it"
    done = Done(folder, "-m", "fake/a", "--no-controls")
    assert done.code == 1
    assert "4 judgements could not be read" in done.err
    assert not folder.judge_errors_path.exists()
    judges.reply = GOOD
    assert Done(folder, "-m", "fake/a", "--no-controls").code == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "no judge; name one"),
        (("-m", "gpt-4o"), "expected PROVIDER/MODEL"),
        (("-m", "fake/a", "-m", "judge=fake/a"), "occurs twice"),
        (("-m", "fake/a", "--max-cost", "1"), "no price is known for fake/a"),
        (("-m", "fake/a", "--criterion", "beauty"), "devbench-paper@1, devbench-quality@1"),
        (("-m", "fake/a", "--select", "language=cobol"), "cobol"),
    ],
)
def test_mistakes_are_named(folder: RunFolder, judges: Judges, arguments: tuple[str, ...], complaint: str) -> None:
    done = Done(folder, *arguments)
    assert isinstance(done.error, ValueError | KeyError | DataError)
    assert complaint in str(done.error)
    assert not folder.judgements_path.exists()


def test_a_folder_that_is_no_run(tmp_path: Path, judges: Judges) -> None:
    done = Done(RunFolder(tmp_path), "-m", "fake/a")
    assert isinstance(done.error, DataError)
    assert "not a run's folder" in str(done.error)


def test_people_rate_the_same_texts(folder: RunFolder, judges: Judges, tmp_path: Path) -> None:
    place = str(tmp_path / "review")
    made = caretbench("review", "new", place, "--protocol", "completion-quality", "--run", str(folder.path))
    assert made.returncode == 0, made.stderr
    assert "4 of 4 distinct" in made.stderr

    def rule(item: ReviewItem, _person: str) -> dict[str, int | str]:
        return {"relevance": int(item.shown.span == "one\n") + 2 * int(item.language == "java"), "helpfulness": 1}

    decide_all(tmp_path / "review", ["ann", "bob", "cyd"], rule, simulated=False)
    assert caretbench("review", "export", place).returncode == 0
    done = Done(folder, "-m", "fake/a", "--no-controls")
    assert "not validated against people: needs 10 items that ann and others rated, found 4" in " ".join(
        done.out.split()
    )
    assert "Judges compared with people" in done.out


def test_a_judge_behind_a_socket(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-your-business")
    script = [answer("I cannot say"), error(500)]
    with ModelServer(script, answer=GOOD) as server:
        done = Done(
            folder, "-m", "openai/gpt-4o-mini", "--no-controls", "--base-url", f"{server.url}/v1", "--connections", "1"
        )
    assert done.code == 0, (done.err, done.error)
    rows = list(folder.judgements())
    assert len({row.key for row in rows}) == len(rows) == 4
    assert sorted(row.attempts for row in rows) == [1, 1, 1, 2]
    assert {tuple(row.values.values()) for row in rows} == {(4.0, 3.0)}
    body = server.requests[0].body
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reasoning", "relevance", "helpfulness"]
    for path in folder.path.iterdir():
        assert "sk-none" not in path.read_text()
