"""What bites in Inspect, each trap a test: our tasks do not step into it."""

import gc
import subprocess
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import anyio
import pytest
from inspect_ai import Epochs
from inspect_ai.model import get_model
from inspect_ai.scorer import SampleScore, Score

from caretbench.errors import MachineError
from caretbench.execution.execution_types import Limits, Status
from caretbench.execution.local_executor import ProgramRunner
from caretbench.inspect import evaluate
from caretbench.inspect.tasks import answer_scorer
from caretbench.inspect.tasks.scorer import numbers as metric
from caretbench.inspect.tasks.suite_tasks import inspect_task
from caretbench.profiles import ProfileRule
from caretbench.suites import suite_names
from caretbench.suites.devbench.suite import DevBenchProfile
from tests.support.fakes import FakeExecutor
from tests.support.inspect_runs import answering, numbers, run
from tests.support.model_server import ModelServer

devbench = inspect_task("devbench")

ONE = "id=python/api_usage/latency-percentiles"
TWO = f"{ONE}|python/low_context/refresh-stale-token"
SIMILARITIES = {
    "accepted_prefix", "cosine", "line0_match", "exact_match", "indel_similarity", "levenshtein_similarity",
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_scorer() -> Iterator[None]:
    """Scorers are kept for the process; a test's own executor must not stay in one."""
    answer_scorer.cached_answer_scorer.cache_clear()
    yield
    answer_scorer.cached_answer_scorer.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, executor: FakeExecutor) -> FakeExecutor:
    monkeypatch.setattr(answer_scorer, "open_executor", lambda *_, **__: executor)
    return executor


# --- max_tokens is 1 where nobody says it -------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(answer="    return None\n") as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url + "/v1")
        monkeypatch.setenv("LOCAL_API_KEY", "not-a-key")
        yield server


def completions(name: str = "starcoder2-3b"):
    return get_model(f"openai-api-completions/local/{name}", memoize=False)


def test_the_trap_is_there(server: ModelServer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Inspect uses what is deprecated
        anyio.run(completions().generate, "def f():")
        gc.collect()  # which finds the connection that Inspect leaves open
    assert server.requests[0].body["max_tokens"] == 1


def test_every_request_says_how_it_is_drawn(server: ModelServer, tmp_path: Path) -> None:
    run(devbench(select=ONE, execute=False), completions(), tmp_path)
    (request,) = server.requests
    assert request.path == "/v1/completions"
    drawn = {name: request.body[name] for name in ("max_tokens", "temperature", "top_p")}
    assert drawn == {"max_tokens": 800, "temperature": 0.2, "top_p": 1.0}
    assert request.body["prompt"].startswith("<fim_prefix>")
    assert request.body["stop"]


def test_options_of_the_task_and_of_inspect_win(server: ModelServer, tmp_path: Path) -> None:
    run(devbench(select=ONE, execute=False, max_tokens=64, seed=7, samples=2), completions(), tmp_path)
    assert [request.body["max_tokens"] for request in server.requests] == [64, 64]
    assert sorted(request.body["seed"] for request in server.requests) == [7, 8]
    run(devbench(select=ONE, execute=False), completions(), tmp_path, max_tokens=33)
    assert server.requests[-1].body["max_tokens"] == 33


def test_a_model_of_unknown_format_is_refused_before_anything_is_sent(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--prompt"):
        evaluate("caretbench/devbench", completions("nobody-knows-it"), log_dir=str(tmp_path), display="none")
    assert server.requests == []


def test_without_a_sandbox_nothing_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = use(monkeypatch, FakeExecutor(lambda _request: Status.PASSED))
    monkeypatch.setattr(executor, "isolation", lambda: (_ for _ in ()).throw(MachineError("no sandbox here")))
    with pytest.raises(MachineError, match="no sandbox here"):
        devbench(select=ONE)


# --- of two metrics with one name the second vanishes; reducers touch every value ---------------------------------


def test_every_metric_is_in_the_results_and_no_reducer_touches_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrong = "    wrong_answer = 1\n"
    use(monkeypatch, FakeExecutor(lambda asked: Status.FAILED if wrong in asked.source else Status.PASSED))

    def answer(identity: str, epoch: int) -> str:
        # 2 of 4 of the first problem pass, 4 of 4 of the second
        return wrong if "latency" in identity and epoch > 2 else f"    right_answer = {epoch}\n"

    task = devbench(select=TWO, prompt="fill", policy="raw", samples=4)
    log = run(task, answering(answer), tmp_path, epochs=Epochs(4, ["mean", "pass_at_2", "max"]))
    found = numbers(log)  # asserts that there is one score only
    assert set(found) == {"pass@1", "pass@2", "pass@3", "pass@4", "coverage", "excluded"} | SIMILARITIES
    assert log.results.scores[0].reducer is None
    assert found["pass@1"] == pytest.approx((2 / 4 + 1) / 2)
    assert found["pass@2"] == pytest.approx((1 - 1 / 6 + 1) / 2)  # C(2, 2) / C(4, 2) = 1/6
    assert found["pass@3"] == found["pass@4"] == 1.0
    assert not log.reductions
    assert log.results.headline.metric == "pass@1"


def row(
    identity: str, passed: float, verdict: float, cosine: float, profile: str = "default", *, first_lines: bool = False
) -> SampleScore:
    value = {"passed": passed, "verdict": verdict, "cosine": cosine, "line0_match": float(cosine > 0.5)}
    return SampleScore(
        score=Score(value=value, metadata={"profile": profile, "first_lines": first_lines}), sample_id=identity
    )


NAN = float("nan")


def test_rows_without_a_verdict_are_in_no_rate_and_in_the_coverage() -> None:
    rows = [
        row("a", 1, 1, 0.5), row("a", 0, 1, 0.7),
        row("b", 1, 1, 0.2), row("b", NAN, 0, 0.4),  # the sandbox failed
        row("c", NAN, NAN, 1.0), row("c", NAN, NAN, 1.0),  # left out: the reference does not pass
        row("d", NAN, 0, NAN), row("d", NAN, 0, NAN),  # no answer
    ]  # fmt: skip
    found = metric()(rows)
    assert found["pass@1"] == pytest.approx((0.5 + 1) / 2)
    assert found["pass@2"] == 1.0  # only a has two verdicts
    assert found["coverage"] == pytest.approx(3 / 6)
    assert found["excluded"] == 1
    assert found["cosine"] == pytest.approx((0.6 + 0.3 + 1.0) / 3)


def test_the_paper_folds_in_its_own_way() -> None:
    values = [("a", 1, 1, 0.2), ("a", 0, 1, 0.9), ("b", 1, 1, 0.1)]
    found = metric()([row(*value, "paper", first_lines=True) for value in values])
    assert found["line0_match_any"] == 0.5
    assert found["pass@2"] == 1.0  # b has one sample, and it passed
    full = metric()([row(*value, "paper") for value in values])
    assert (full["line0_match"], full["pass@2"]) == (0.25, 1.0)  # a suite that compares full texts


# --- what timed out is run again --------------------------------------------------------------------------------


def test_each_program_runs_once_for_its_verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def decide(request):
        return Status.TIMEOUT if "while True" in request.source else Status.PASSED

    executor = use(monkeypatch, FakeExecutor(decide))
    task = devbench(select=TWO, prompt="fill", policy="raw", samples=2)
    log = run(task, answering(lambda _identity, epoch: f"while True: {epoch}\n"), tmp_path)
    runs = Counter(request.source for request in executor.asked)
    assert set(runs.values()) == {1}
    assert len(runs) == 2 + 4  # the references, and each of the answers
    assert numbers(log)["pass@1"] == 0.0
    assert numbers(log)["coverage"] == 1.0


def test_a_real_program_that_hangs_is_run_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limits = Limits(cpu_s=1.0, wall_s=20.0)
    monkeypatch.setattr(DevBenchProfile, "limits", ProfileRule("Limits", paper=limits, default=limits))
    sources: list[str] = []
    really = ProgramRunner.run

    def counted(self, request, *arguments, **more):
        sources.append(request.source)
        return really(self, request, *arguments, **more)

    monkeypatch.setattr(ProgramRunner, "run", counted)
    task = devbench(select=ONE, prompt="fill", policy="raw", use_cache=False)
    log = run(task, answering(lambda *_: "[]\n    while True: pass\n"), tmp_path)
    (sample,) = log.samples
    assert sample.scores["caret"].metadata["outcome"] == "timeout"
    assert sum("while True: pass" in source for source in sources) == 1


# --- the realtime log, and the entry point whose failing import is only a warning ---------------------------------


def test_no_realtime_log_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task = devbench(select=ONE, prompt="fill", execute=False)
    log = run(task, answering(lambda *_: "x"), tmp_path)
    assert log.eval.config.log_realtime is False
    assert numbers(log).keys() == {"excluded"} | SIMILARITIES
    assert run(task, answering(lambda *_: "x"), tmp_path, log_realtime=True).eval.config.log_realtime is True


def test_the_entry_point_resolves() -> None:
    (entry,) = entry_points(group="inspect_ai", name="caretbench")
    registry = entry.load()
    assert set(registry.TASKS) == set(suite_names())
    assert {"ask", "caret", "numbers", "fim", "gguf", "command"} <= set(registry.__all__)


@pytest.mark.long
def test_a_newcomer_on_the_command_line(tmp_path: Path) -> None:
    completer = tmp_path / "completer.py"
    completer.write_text("import json, sys\njson.load(sys.stdin)\nprint(json.dumps({'text': 'x'}))\n")
    inspect = Path(sysconfig.get_path("scripts")) / "inspect"
    done = subprocess.run(
        [inspect, "eval", "caretbench/devbench", "--model", f"command/{sys.executable} {completer}",
         "-T", "select=language=python,category=low_context", "-T", "execute=false", "--limit", "1",
         "--display", "plain"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "entry point" not in (done.stdout + done.stderr).lower()
    assert "cosine" in done.stdout
    assert len(list((tmp_path / "logs").glob("*.eval"))) == 1
