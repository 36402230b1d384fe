from __future__ import annotations

import os
import time
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from caretbench.errors import MachineError
from caretbench.files import sha256_json
from caretbench.models import ChatPrompt, FillPrompt, Message, ModelRequest, Sampling, TextPrompt
from caretbench.problem import Caret, Completion, ContextFile, MissingSample, Problem, Usage
from caretbench.prompts.registry import LeftToRightStrategy
from caretbench.runs.generate import GenerationStage, ModelUnderTest, prompt_text, stored_cost
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.request_stage import MAX_FAILED_REQUESTS, StageCounts
from caretbench.runs.run_folder import RunFolder
from tests.support.fakes import FakeClient, PlainStrategy, Reply, failure
from tests.support.make_problem import MakeProblem

DOLLAR = Price(input_per_million=0, output_per_million=1_000_000)
"""One dollar for each token of an answer."""


@pytest.fixture
def problems(make_problem: MakeProblem) -> list[Problem]:
    return [make_problem(f"python/low_context/{name}") for name in ("a", "b", "c", "d")]


def make_model(client: FakeClient, **fields: Any) -> ModelUnderTest:
    return ModelUnderTest(**{"name": "m", "client": client, "strategy": PlainStrategy()} | fields)


def generate(
    folder: Path, problems: Sequence[Problem], client: FakeClient, limit: float | None = None, **fields: Any
) -> StageCounts:
    stage = GenerationStage(problems, RunFolder(folder))
    return stage.run(make_model(client, **fields), CostBudget(limit, spent=stored_cost(RunFolder(folder))))


def completions(folder: Path) -> list[Completion]:
    return list(RunFolder(folder).completions())


def missing(folder: Path) -> list[MissingSample]:
    return list(RunFolder(folder).missing())


def names(rows: Sequence[Completion | MissingSample]) -> list[tuple[str, int]]:
    return [(row.problem_id.rpartition("/")[2], row.sample) for row in rows]


def test_every_sample_becomes_one_row(tmp_path: Path, problems: list[Problem]) -> None:
    usage = Usage(input_tokens=10, output_tokens=4, answers=2)
    client = FakeClient(usage=usage)
    counts = generate(tmp_path, problems, client, samples=2, price=Price(input_per_million=1, output_per_million=2))
    rows = completions(tmp_path)
    assert names(rows) == [(name, sample) for name in "abcd" for sample in (0, 1)]
    first = rows[0]
    assert (first.text, first.finish_reason, first.prompt, first.usage) == ("answer 0", "stop", "plain@1", usage)
    assert first.cost == pytest.approx(18 / 2 / 1e6)
    assert (counts.requested, counts.answered, counts.share) == (8, 8, 1.0)
    assert (counts.input_tokens, counts.output_tokens) == (40, 16)
    assert counts.cost == pytest.approx(8 * first.cost)
    assert missing(tmp_path) == []


def test_blanks_that_are_left_to_the_model_are_taken_off_its_answer(tmp_path: Path, make_problem: MakeProblem) -> None:
    client = FakeClient(lambda _request, sample: (" f(a)", "f(a)")[sample])
    generate(tmp_path, [make_problem(prefix="x = ")], client, samples=2, strategy=LeftToRightStrategy())
    assert [request.prompt.text for request in client.asked if isinstance(request.prompt, TextPrompt)] == ["x ="]
    assert [(row.text, row.prompt) for row in completions(tmp_path)] == [("f(a)", "left-to-right@3")] * 2


def test_only_what_is_missing_is_asked(tmp_path: Path, problems: list[Problem]) -> None:
    generate(tmp_path, problems[:2], FakeClient(), samples=1)
    again = FakeClient()
    generate(tmp_path, problems, again, samples=3)
    asked = [(identity.rpartition("/")[2], sample) for identity, sample in again.samples_asked]
    assert asked == [("a", 1), ("a", 2), ("b", 1), ("b", 2), *((name, s) for name in "cd" for s in range(3))]
    third = FakeClient()
    counts = generate(tmp_path, problems, third, samples=2)
    assert (third.asked, counts.stored, counts.answered) == ([], 8, 0)
    assert len({row.key for row in completions(tmp_path)}) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"sampling": Sampling(temperature=0.9)},
        {"client": FakeClient(identity={"weights": "other"})},
        {"client": FakeClient(context_tokens=2000)},
        {"prompt_tokens": 100},
        {"name": "other"},
    ],
)
def test_what_decides_an_answer_stands_in_its_key(
    tmp_path: Path, problems: list[Problem], change: dict[str, Any]
) -> None:
    generate(tmp_path, problems[:1], FakeClient())
    generate(tmp_path, problems[:1], **({"client": FakeClient()} | change))
    rows = completions(tmp_path)
    assert len({row.key for row in rows}) == 2


def test_the_settings_are_what_the_hash_is_of(problems: list[Problem]) -> None:
    client = FakeClient(context_tokens=1000, count=len)
    ask = make_model(client, sampling=Sampling(max_tokens=100, seed=3), preprocess=[Upper()])
    assert ask.settings == {
        "sampling": {"max_tokens": 100, "temperature": 0.2, "top_p": 1.0, "seed": 3},
        "prompt": "plain@1",
        "budget": {"tokens": 900, "count": "tokenizer"},
        "preprocess": ["upper@1"],
        "client": {"model": "fake/model"},
    }
    assert ask.parameters == sha256_json(ask.settings)[:16]
    assert ask.info.settings == ask.settings


class Upper:
    key = "upper@1"

    def __call__(self, caret: Caret) -> Caret:
        return caret.model_copy(update={"prefix": caret.prefix.upper()})


def test_preprocessing_changes_what_is_shown(tmp_path: Path, problems: list[Problem]) -> None:
    client = FakeClient()
    generate(tmp_path, problems[:1], client, preprocess=[Upper()])
    assert prompt_text(client.asked[0].prompt) == "DEF DOUBLE(X):\n"


def test_the_prompt_keeps_to_the_budget(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem(prefix="".join(f"line_{number} = 1\n" for number in range(100)))
    counted = FakeClient(context_tokens=200, count=len)
    generate(tmp_path / "counted", [problem], counted, sampling=Sampling(max_tokens=100))
    assert 80 < len(prompt_text(counted.asked[0].prompt)) <= 100
    estimated = FakeClient(context_tokens=200)
    generate(tmp_path / "estimated", [problem], estimated, sampling=Sampling(max_tokens=100))
    assert 280 < len(prompt_text(estimated.asked[0].prompt)) <= 300  # three bytes a token
    fewer = FakeClient(context_tokens=200)
    generate(tmp_path / "fewer", [problem], fewer, prompt_tokens=10, sampling=Sampling(max_tokens=100))
    assert len(prompt_text(fewer.asked[0].prompt)) <= 30


def test_what_cannot_be_asked_is_refused_at_once(problems: list[Problem]) -> None:
    with pytest.raises(ValueError, match="500 tokens"):
        make_model(FakeClient(context_tokens=500))
    with pytest.raises(ValueError, match=r"plain .*fake/model .*chat"):
        make_model(FakeClient(accepts=["chat"]))


def test_a_text_that_cannot_be_asked_is_missing_and_is_not_sent(
    tmp_path: Path, problems: list[Problem], make_problem: MakeProblem
) -> None:
    bad = make_problem("python/low_context/bad", prefix="x = '<FIM>'\n")
    for _ in range(2):
        client = FakeClient()
        counts = generate(tmp_path, [bad, problems[0]], client, samples=2)
        assert bad.id not in {request.id for request in client.asked}
        assert counts.missing == {"unpromptable": 2}
        assert [(row.kind, row.message, row.sample) for row in missing(tmp_path)] == [
            ("unpromptable", "the text holds <FIM>", 0), ("unpromptable", "the text holds <FIM>", 1),
        ]  # fmt: skip


@pytest.mark.parametrize("part", ["prefix", "suffix"])
def test_a_text_that_holds_a_control_token_of_the_model_cannot_be_asked(make_problem: MakeProblem, part: str) -> None:
    problem = make_problem()
    caret = problem.caret.model_copy(update={part: f"{getattr(problem.caret, part)}# <s> and </s>\n"})
    held = problem.model_copy(update={"id": "held", "shown": caret})
    client = FakeClient(control=frozenset({"<s>", "</s>", "[INST]"}), special=frozenset({"<table>"}))
    wanted = list(make_model(client).pending_samples([problem, held], {}))
    assert [(entry.prompt is None, entry.fault) for entry in wanted] == [
        (False, ""),
        (True, "the prompt contains the control token '<s>' of fake/model"),
    ]


def test_the_most_frequent_message_of_failures_is_shown(tmp_path: Path, problems: list[Problem]) -> None:
    def failing(request: ModelRequest, _sample: int) -> Reply:
        return failure("slow down" if request.id[-1] == "a" else "no such path")

    assert generate(tmp_path, problems, FakeClient(failing)).usual_message == "no such path"


def test_failures_are_tried_again_and_leave_when_the_sample_comes(tmp_path: Path, problems: list[Problem]) -> None:
    def flaky(request: ModelRequest, sample: int) -> Reply:
        return failure("busy") if (request.id[-1], sample) in {("b", 1), ("d", 0)} else "fine"

    counts = generate(tmp_path, problems, FakeClient(flaky), samples=2)
    assert names(missing(tmp_path)) == [("b", 1), ("d", 0)]
    assert (counts.missing, counts.share, counts.usual_message) == ({"provider": 2}, 0.75, "busy")

    def once_more(request: ModelRequest, sample: int) -> Reply:
        return failure("still busy", "timeout") if request.id[-1] == "d" else "fine"

    second = FakeClient(once_more)
    generate(tmp_path, problems, second, samples=2)
    assert len(second.samples_asked) == 2
    [left] = missing(tmp_path)
    assert (left.kind, left.message, left.problem_id[-1]) == ("timeout", "still busy", "d")
    generate(tmp_path, problems, FakeClient(), samples=2)
    assert missing(tmp_path) == []
    assert len(completions(tmp_path)) == 8


def test_errors_of_other_parameters_and_problems_stay(tmp_path: Path, problems: list[Problem]) -> None:
    broken = FakeClient(lambda _request, _sample: failure())
    generate(tmp_path, problems[:1], broken, sampling=Sampling(seed=1))
    generate(tmp_path, problems[1:2], broken)
    generate(tmp_path, problems[2:], FakeClient())
    assert names(missing(tmp_path)) == [("a", 0), ("b", 0)]


def test_a_key_stands_once_in_the_errors_whenever_the_stage_is_stopped(tmp_path: Path, problems: list[Problem]) -> None:
    class StopError(Exception):
        pass

    def stops_at(name: str) -> FakeClient:
        def reply(request: ModelRequest, _sample: int) -> Reply:
            if request.id.endswith(name):
                raise StopError
            return failure("no")

        return FakeClient(reply)

    for name in "bcbdacd":
        with pytest.raises(StopError):
            generate(tmp_path, problems, stops_at(name))
        assert max(Counter(names(missing(tmp_path))).values(), default=1) == 1
    assert names(missing(tmp_path)) == [("a", 0), ("b", 0), ("c", 0)]


def test_a_stopped_stage_drops_stale_errors_the_next_time(tmp_path: Path, problems: list[Problem]) -> None:
    generate(tmp_path, problems[:1], FakeClient(lambda _request, _sample: failure()))
    [stale] = missing(tmp_path)
    generate(tmp_path, problems[:1], FakeClient())
    folder = RunFolder(tmp_path)
    folder.errors_path.write_text(stale.model_dump_json() + "\n")  # as a kill before the end leaves it
    generate(tmp_path, problems[1:], FakeClient(), sampling=Sampling(seed=5))
    assert missing(tmp_path) == []


def test_money_is_never_overspent_and_what_is_left_over_is_used(tmp_path: Path, problems: list[Problem]) -> None:
    usage = Usage(input_tokens=0, output_tokens=1)
    client = FakeClient(usage=usage, window=8)
    common: dict[str, Any] = {"price": DOLLAR, "sampling": Sampling(max_tokens=4)}
    counts = generate(tmp_path, problems, client, limit=6.0, **common)
    # The worst case is 4 dollars each: a is under way alone, then 5 dollars are left, so b, then c; for d 3 are left.
    assert names(completions(tmp_path)) == [("a", 0), ("b", 0), ("c", 0)]
    assert [(row.problem_id[-1], row.kind) for row in missing(tmp_path)] == [("d", "budget")]
    assert counts.missing == {"budget": 1}
    more = FakeClient(usage=usage)
    assert generate(tmp_path, problems, more, limit=6.0, **common).missing == {"budget": 1}
    assert more.asked == []  # what was spent before counts
    assert generate(tmp_path, problems, more, limit=7.0, **common).share == 1.0
    assert missing(tmp_path) == []


def test_an_unpromptable_problem_after_the_budget_is_no_budget_failure(
    tmp_path: Path, problems: list[Problem], make_problem: MakeProblem
) -> None:
    bad = make_problem("python/low_context/bad", prefix="<FIM>\n")
    counts = generate(tmp_path, [problems[0], bad, problems[1]], FakeClient(), limit=0.5, price=DOLLAR)
    assert counts.missing == {"budget": 2, "unpromptable": 1}


def test_an_answer_without_usage_counts_as_its_worst_case(tmp_path: Path, problems: list[Problem]) -> None:
    sampling = Sampling(max_tokens=4)
    counts = generate(tmp_path, problems, FakeClient(), limit=9.0, price=DOLLAR, sampling=sampling)
    assert (counts.answered, counts.unpriced, counts.cost) == (2, 2, 0.0)
    assert completions(tmp_path)[0].cost is None


def test_money_of_requests_whose_end_is_not_known_counts_as_spent(tmp_path: Path, problems: list[Problem]) -> None:
    common: dict[str, Any] = {"price": DOLLAR, "sampling": Sampling(max_tokens=4)}
    usage, spent = Usage(input_tokens=0, output_tokens=1), list[float]()

    def dies_at_the_second(request: ModelRequest, _sample: int) -> Reply:
        spent.append(stored_cost(RunFolder(tmp_path)))  # what a process that is killed here leaves
        if len(spent) == 2:
            raise KeyboardInterrupt
        return request.id

    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path, problems, FakeClient(dies_at_the_second, usage=usage), **common)
    assert spent == [4.0, 5.0]
    assert stored_cost(RunFolder(tmp_path)) == 5.0
    counts = generate(tmp_path, problems, FakeClient(usage=usage), limit=9.0, **common)
    # 4 dollars are left; one answer makes them 3.
    assert (counts.answered, counts.missing) == (1, {"budget": 2})
    assert "completions.reserved.jsonl" in missing(tmp_path)[0].message
    late = FakeClient(lambda _request, _sample: failure(kind="timeout"), usage=usage)
    generate(tmp_path, problems[2:3], late, **common)
    assert stored_cost(RunFolder(tmp_path)) == 10.0, "two answers, one request that was killed, one that timed out"
    generate(tmp_path, problems, FakeClient(usage=usage), **common)
    assert stored_cost(RunFolder(tmp_path)) == 12.0


def test_no_file_of_reservations_remains_where_all_costs_are_known(tmp_path: Path, problems: list[Problem]) -> None:
    common: dict[str, Any] = {"price": DOLLAR, "samples": 3, "sampling": Sampling(max_tokens=4)}
    generate(tmp_path, problems, FakeClient(usage=Usage(input_tokens=0, output_tokens=3, answers=3)), **common)
    assert not list(tmp_path.glob("*.reserved.jsonl"))
    assert stored_cost(RunFolder(tmp_path)) == pytest.approx(12.0)


def test_the_worst_case_counts_bytes_where_no_tokenizer_is_known() -> None:
    price = Price(input_per_million=1_000_000, output_per_million=0)
    prompt = TextPrompt(text="é" * 10)
    assert make_model(FakeClient(), price=price).worst_cost(prompt, 2) == 2 * (20 + 32)
    assert make_model(FakeClient(count=lambda _text: 3), price=price).worst_cost(prompt, 2) == 2 * (3 + 32)
    assert make_model(FakeClient()).worst_cost(prompt, 2) == 0


def test_a_model_that_never_answers_is_not_asked_for_everything(tmp_path: Path, make_problem: MakeProblem) -> None:
    many = [make_problem(f"python/low_context/{number}") for number in range(MAX_FAILED_REQUESTS + 30)]
    client = FakeClient(lambda _request, _sample: failure("wrong key", "refused"))
    counts = generate(tmp_path, many, client)
    assert len(client.asked) == MAX_FAILED_REQUESTS
    assert counts.missing == {"refused": MAX_FAILED_REQUESTS, "provider": 30}
    assert counts.usual_message == "wrong key"
    assert len(missing(tmp_path)) == len(many)
    assert "20 requests" in missing(tmp_path)[-1].message


def test_a_model_that_cannot_be_asked_ends_its_turn(tmp_path: Path, problems: list[Problem]) -> None:
    class Locked(FakeClient):
        def submit(self, requests: Any) -> Any:
            waiting = iter(requests)
            for _ in range(2):
                yield self._outcome(next(waiting), 0)
            next(waiting)
            raise MachineError("fake/model cannot be asked: 401")

    counts = generate(tmp_path, problems, Locked())
    assert (counts.answered, counts.missing, counts.stop_reason) == (
        2,
        {"provider": 2},
        "fake/model cannot be asked: 401",
    )
    assert names(missing(tmp_path)) == [("c", 0), ("d", 0)]
    assert missing(tmp_path)[1].message == "not asked: fake/model cannot be asked: 401"


def test_no_key_reaches_the_errors(tmp_path: Path, problems: list[Problem], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret-value")
    generate(tmp_path, problems[:1], FakeClient(lambda _r, _s: failure("401: very-secret-value is wrong")))
    assert "very-secret-value" not in (tmp_path / "errors.jsonl").read_text()


def test_half_a_character_and_nothing_at_all_can_be_stored(tmp_path: Path, problems: list[Problem]) -> None:
    replies: list[Reply] = ["half \ud83d", None, "", failure("bad \udc00")]
    client = FakeClient(lambda _request, sample: replies[sample])
    generate(tmp_path, problems[:1], client, samples=4)
    assert [row.text for row in completions(tmp_path)] == ["half \ud83d", None, ""]
    assert missing(tmp_path)[0].message == "bad �"


def test_a_client_that_says_nothing_of_a_sample_leaves_it_missing(tmp_path: Path, problems: list[Problem]) -> None:
    class Silent(FakeClient):
        def submit(self, requests: Any) -> Any:
            for request in requests:
                if not request.id.endswith("b"):
                    yield self._outcome(request, 0)

    generate(tmp_path, problems, Silent())
    assert names(missing(tmp_path)) == [("b", 0)]


def test_a_client_that_answers_twice_is_a_fault_of_ours(tmp_path: Path, problems: list[Problem]) -> None:
    class Doubling(FakeClient):
        def submit(self, requests: Any) -> Any:
            for request in requests:
                yield self._outcome(request, 0)
                yield self._outcome(request, 0)

    with pytest.raises(RuntimeError, match="or twice"):
        generate(tmp_path, problems, Doubling())
    assert len(completions(tmp_path)) == 1


def test_the_text_of_a_prompt_is_all_of_it() -> None:
    chat = ChatPrompt(messages=(Message(role="system", text="a"), Message(role="user", text="b")))
    fill = FillPrompt(
        prefix="p", suffix="s", language="python", instruction="i", files=(ContextFile(path="f", text="t"),)
    )
    assert (prompt_text(chat), prompt_text(fill)) == ("a\nb", "i\np\ns\nf\nt")


@pytest.mark.long
def test_the_stage_costs_little_and_keeps_nothing(tmp_path: Path, make_problem: MakeProblem) -> None:
    """At most 0.5 ms of CPU for each of 20,000 completions, and memory that does not grow with their texts."""
    some = [make_problem(f"python/low_context/{number}") for number in range(4000)]
    client = Instant(lambda _request, _sample: "    return 2 * x\n" * 40, usage=Usage(input_tokens=9, output_tokens=9))
    before = time.process_time()
    generate(tmp_path / "cpu", some, client, samples=5)
    stored_cost = time.process_time() - before
    assert len(completions(tmp_path / "cpu")) == 20_000
    assert stored_cost / 20_000 < 0.5e-3
    peaks = []
    for part in (some[:400], some):
        tracemalloc.start()
        generate(tmp_path / str(len(part)), part, client, samples=5)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 4_000_000 < os.path.getsize(tmp_path / "cpu" / "completions.jsonl")  # noqa: PTH202


class Instant(FakeClient):
    """Keeps nothing of what it was asked."""

    def submit(self, requests: Any) -> Any:
        for request in requests:
            for sample in request.samples:
                yield self._outcome(request, sample)
