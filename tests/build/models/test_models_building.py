from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from caretbench import api
from caretbench.build.build_models import (
    NO_MODELS,
    AnswersMissingError,
    BuildJob,
    BuildModels,
    BuildRequest,
    ExpectedRequests,
)
from caretbench.build.builder import Builder
from caretbench.build.models.build import build
from caretbench.build.models.config import BuildModelsConfig, models_by_role
from caretbench.build.models.dry_run import BuildForecast, dry_run
from caretbench.build.models.stored_models import MissingBuildAnswer, StoredBuildModels, stored_answers
from caretbench.errors import MachineError
from caretbench.execution.dispatcher import AnyRequest
from caretbench.files import DataError
from caretbench.models import ChatPrompt, ClientOptions, FillPrompt, ModelRequest, Sampling, TextPrompt
from caretbench.problem import Problem, Profile, Usage
from caretbench.progress import Progress
from caretbench.runs.generate import prompt_text
from caretbench.runs.plans.config import SamplingConfig
from caretbench.runs.plans.prices import Prices
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import BuildResult, ProblemSet
from tests.support.fakes import FakeClient, Reply, failure

ROLES = {"generator": "writes", "checker": "checks"}
PRICES = Prices.parse({"models": {"fake/*": {"input_per_million": 0, "output_per_million": 1_000_000}}}, "here")
"""One dollar for each token of an answer."""


def models_config(*options: str, **fields: Any) -> BuildModelsConfig:
    return BuildModelsConfig(models=models_by_role("two", ROLES, options or ["generator=fake/a"]), **fields)


def requests(*keys: str, **fields: Any) -> list[BuildRequest]:
    return [BuildRequest(**({"key": key, "prompt": f"write {key}"} | fields)) for key in keys]


class Opened:
    """Opens fake clients, and keeps them."""

    def __init__(self, reply: Callable[[ModelRequest, int], Reply] | None = None, **fields: Any) -> None:
        self.reply = reply or (lambda request, _sample: f"[{prompt_text(request.prompt)}]")
        self.fields = fields
        self.clients: list[FakeClient] = []

    def __call__(self, spec: str, options: ClientOptions) -> FakeClient:
        self.options = options
        self.clients.append(FakeClient(self.reply, name=spec, **self.fields))
        return self.clients[-1]

    @property
    def texts(self) -> list[str]:
        """Everything that was sent."""
        return [prompt_text(request.prompt) for client in self.clients for request in client.asked]


@contextmanager
def asker(folder: Path, opened: Opened, chosen: BuildModelsConfig | None = None) -> Iterator[BuildModels]:
    with StoredBuildModels(chosen or models_config(), folder, opened, Progress()) as found:
        yield found


def test_every_request_is_answered_once(tmp_path: Path) -> None:
    opened = Opened(usage=Usage(input_tokens=3, output_tokens=2, answers=1))
    with asker(tmp_path, opened, models_config(prices=PRICES)) as models:
        assert models.roles == {"generator"}
        answers = models.ask("generator", requests("a", "b"))
        assert answers == {"a": "[write a]", "b": "[write b]"}
        assert models.ask("generator", requests("b")) == {"b": "[write b]"}
    again = Opened()
    with asker(tmp_path, again, models_config(prices=PRICES)) as models:
        assert models.ask("generator", requests("a", "b")) == answers
    assert (opened.texts, again.texts) == (["write a", "write b"], [])
    rows = list(stored_answers(tmp_path).values())
    assert [(row.role, row.request, row.model, row.text, row.cost) for row in rows] == [
        ("generator", "a", "fake/a", "[write a]", 2.0),
        ("generator", "b", "fake/a", "[write b]", 2.0),
    ]
    assert rows[0].settings["client"] == {"model": "fake/a"}
    assert all(client.closed for client in opened.clients)
    assert not (tmp_path / "errors.jsonl").exists()


@pytest.mark.parametrize(
    ("fields", "changed"),
    [
        ({"prompt": "another"}, {}),
        ({"sampling": Sampling(seed=1)}, {}),
        ({}, {"sampling": SamplingConfig(max_tokens=7)}),
        ({}, {"models": models_by_role("two", ROLES, ["generator=fake/b"])}),
    ],
)
def test_another_question_has_another_key(tmp_path: Path, fields: dict[str, Any], changed: dict[str, Any]) -> None:
    with asker(tmp_path, Opened()) as models:
        models.ask("generator", requests("a"))
    opened = Opened()
    with asker(tmp_path, opened, BuildModelsConfig(**({"models": models_config().models} | changed))) as models:
        models.ask("generator", requests("a", **fields))
    assert len(opened.texts) == 1
    assert len(stored_answers(tmp_path)) == 2


def test_options_replace_the_sampling_of_a_suite(tmp_path: Path) -> None:
    opened = Opened()
    chosen = models_config(sampling=SamplingConfig(max_tokens=7, temperature="none"))
    with asker(tmp_path, opened, chosen) as models:
        models.ask("generator", requests("a", sampling=Sampling(temperature=0.5, top_p=0.9)))
    assert opened.clients[0].asked[0].sampling == Sampling(max_tokens=7, temperature=None, top_p=0.9)
    with pytest.raises(ValueError, match="temperature"):
        SamplingConfig(temperature=-1.0)


def test_a_missing_answer_stops_the_build_and_is_asked_again(tmp_path: Path) -> None:
    def reply(request: ModelRequest, _sample: int) -> Reply:
        return failure("a bad day", "timeout") if request.id == "b" else "fine"

    with (
        asker(tmp_path, Opened(reply)) as models,
        pytest.raises(AnswersMissingError, match=r"1 of 3 .*\(timeout 1\): a bad day.*errors"),
    ):
        models.ask("generator", requests("a", "b", "c"))
    assert '"request":"b"' in (tmp_path / "errors.jsonl").read_text()
    opened = Opened()
    with asker(tmp_path, opened) as models:
        assert models.ask("generator", requests("a", "b", "c"))["a"] == "fine"
    assert opened.texts == ["write b"]
    assert not (tmp_path / "errors.jsonl").exists()


def test_errors_of_questions_that_are_not_asked_any_more_go(tmp_path: Path) -> None:
    with asker(tmp_path, Opened(lambda *_: failure())) as models, pytest.raises(AnswersMissingError):
        models.ask("generator", requests("a"))
    with asker(tmp_path, Opened()) as models:
        models.ask("generator", requests("a", prompt="another"))
    assert not (tmp_path / "errors.jsonl").exists()


def test_a_suite_may_go_on_without_an_answer(tmp_path: Path) -> None:
    def reply(request: ModelRequest, _sample: int) -> Reply:
        return failure() if request.id == "a" else "fine"

    with asker(tmp_path, Opened(reply)) as models:
        with pytest.raises(AnswersMissingError):
            models.ask("generator", requests("a"))
        models.ask("generator", requests("b"))
    assert '"request":"a"' in (tmp_path / "errors.jsonl").read_text()


def test_a_killed_build_keeps_what_was_answered(tmp_path: Path) -> None:
    def reply(request: ModelRequest, _sample: int) -> Reply:
        if request.id == "b":
            raise KeyboardInterrupt
        return "before"

    with pytest.raises(KeyboardInterrupt), asker(tmp_path, Opened(reply)) as models:
        models.ask("generator", requests("a", "b"))
    with (tmp_path / "asked.jsonl").open("a") as stream:
        stream.write('{"schema_version":1,"role":"gene')  # torn
    opened = Opened()
    with asker(tmp_path, opened) as models:
        assert models.ask("generator", requests("a", "b"))["a"] == "before"
    assert opened.texts == ["write b"]


def test_the_budget_is_of_the_whole_build(tmp_path: Path) -> None:
    usage = Usage(input_tokens=1, output_tokens=3, answers=1)
    cheap = {"sampling": Sampling(max_tokens=4)}
    with asker(tmp_path, Opened(usage=usage), models_config(prices=PRICES, max_cost=20.0)) as models:
        models.ask("generator", requests("a", "b", **cheap))
    opened = Opened(usage=usage)
    with (
        asker(tmp_path, opened, models_config(prices=PRICES, max_cost=10.0)) as models,
        pytest.raises(AnswersMissingError, match=r"1 of 4 .*\(budget 1\).*--max-cost"),
    ):
        models.ask("generator", requests("a", "b", "c", "d", **cheap))
    assert opened.texts == ["write c"]


def test_no_text_is_the_empty_text(tmp_path: Path) -> None:
    with asker(tmp_path, Opened(lambda *_: None)) as models:
        assert models.ask("generator", requests("a")) == {"a": ""}
    assert [row.text for row in stored_answers(tmp_path).values()] == [None]


def test_prompts_are_those_that_the_model_takes(tmp_path: Path) -> None:
    chat, text = Opened(), Opened(accepts=["text"])
    for folder, opened in (("chat", chat), ("text", text)):
        with asker(tmp_path / folder, opened) as models:
            models.ask("generator", requests("a"))
    assert isinstance(chat.clients[0].asked[0].prompt, ChatPrompt)
    assert isinstance(text.clients[0].asked[0].prompt, TextPrompt)
    fill = FillPrompt(prefix="a", suffix="b", language="python")
    with asker(tmp_path, text) as models, pytest.raises(ValueError, match=r"fake/a .*text.* fill"):
        models.ask("generator", requests("a", prompt=fill))


def test_one_model_is_open_at_a_time(tmp_path: Path) -> None:
    opened = Opened()
    with asker(tmp_path, opened, models_config("generator=fake/a", "checker=fake/b")) as models:
        models.ask("generator", requests("a"))
        models.ask("checker", requests("a"))
        assert [client.closed for client in opened.clients] == [True, False]
    assert [client.name for client in opened.clients] == ["fake/a", "fake/b"]
    assert {(row.role, row.model) for row in stored_answers(tmp_path).values()} == {
        ("generator", "fake/a"),
        ("checker", "fake/b"),
    }


def test_several_models_of_a_role_are_asked_by_name(tmp_path: Path) -> None:
    several = models_by_role("two", ROLES, ["generator=fake/a", "generator=b=fake/b"], ("generator",))
    opened = Opened()
    with asker(tmp_path, opened, BuildModelsConfig(models=several)) as models:
        assert models.names("generator") == ("fake/a", "b")
        found = models.ask_each("generator", {"fake/a": requests("x"), "b": requests("x", "y")})
        assert found == {"fake/a": {"x": "[write x]"}, "b": {"x": "[write x]", "y": "[write y]"}}
        with pytest.raises(ValueError, match=r"generator: .*\(fake/a, b\)"):
            models.ask("generator", requests("x"))
        with pytest.raises(ValueError, match="-m generator=c"):
            models.ask_each("generator", {"c": requests("x")})
    assert [(client.name, len(client.asked)) for client in opened.clients] == [("fake/a", 1), ("fake/b", 2)]


def test_each_model_is_asked_before_a_missing_answer_counts(tmp_path: Path) -> None:
    several = models_by_role("two", ROLES, ["generator=fake/a", "generator=fake/b"], ("generator",))

    def reply(request: ModelRequest, _sample: int) -> Reply:
        return failure("gone") if request.id == "x" else "fine"

    opened = Opened(reply)
    with asker(tmp_path, opened, BuildModelsConfig(models=several)) as models:
        asked = {"fake/a": requests("x"), "fake/b": requests("y")}
        with pytest.raises(AnswersMissingError, match="fake/a: 1 of 1"):
            models.ask_each("generator", asked)
    again = Opened()
    with asker(tmp_path, again, BuildModelsConfig(models=several)) as models:
        models.ask_each("generator", asked)
    assert (opened.texts, again.texts) == (["write x", "write y"], ["write x"])


def test_wrong_questions_are_refused(tmp_path: Path) -> None:
    with asker(tmp_path, Opened()) as models:
        with pytest.raises(ValueError, match="this build needs a model: -m checker=PROVIDER/MODEL"):
            models.ask("checker", requests("a"))
        with pytest.raises(ValueError, match="'a' occurs twice"):
            models.ask("generator", requests("a", "a"))
    with pytest.raises(ValueError, match="-m tester="):
        NO_MODELS.ask("tester", [])


def test_two_builds_do_not_ask_for_one_folder(tmp_path: Path) -> None:
    with asker(tmp_path, Opened()) as models, asker(tmp_path, Opened()) as others:
        models.ask("generator", requests("a"))
        with pytest.raises(DataError, match=r"/asked\.jsonl: another caretbench"):
            others.ask("generator", requests("b"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["fake/a"], r"expected ROLE=PROVIDER/MODEL; roles of build two: generator \(writes\); checker"),
        (["writer=fake/a"], "roles of build two: generator"),
        (["judge=fake/a"], "roles of build two: generator"),
        (["generator=fake/a", "generator=fake/b"], "the role 'generator' has a model already"),
        (["generator=nothing"], "expected PROVIDER/MODEL"),
    ],
)
def test_only_roles_of_the_suite_are_named(options: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models_by_role("two", ROLES, options)


def test_two_models_of_a_role_have_two_names() -> None:
    options = ["generator=fake/a", "generator=fake/a"]
    with pytest.raises(ValueError, match=r"'fake/a' already.*-m generator=NAME=fake/a"):
        models_by_role("two", ROLES, options, ("generator",))


def test_a_role_of_a_suite_is_a_reserved_name() -> None:
    with pytest.raises(ValueError, match=r"'painter', .*reserved: judge, generator"):
        models_by_role("two", {"painter": "paints"}, [])


@pytest.mark.parametrize(
    ("options", "fields", "message"),
    [
        (["generator=gguf/a", "checker=fake/b"], {"local_only": True}, "--local-only: fake/b is asked over"),
        (
            ["generator=gguf/a"],
            {"local_only": True, "options": ClientOptions(base_url="http://there")},
            "--local-only: http://there is not on this machine",
        ),
        (
            ["generator=fake/a", "checker=other/b"],
            {"options": ClientOptions(base_url="http://there")},
            "--base-url: the models have several providers",
        ),
        (["generator=fake/a"], {"max_cost": 1.0}, "no price is known for fake/a"),
    ],
)
def test_models_are_refused_before_anything_is_read(options: list[str], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models_config(*options, **fields)


# --- whole builds, and their dry runs -------------------------------------------------------------------------------


class Two(Suite):
    name = "two"
    title = "Two"
    about = "two steps"
    strata = ("language",)

    def load(self, source: str) -> ProblemSet:
        raise NotImplementedError

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> AnyRequest | None:
        raise NotImplementedError


class TwoSteps(Builder):
    """Writes a text of each source, and has each text checked."""

    name = "two"
    about = "texts"
    roles: ClassVar[Mapping[str, str]] = ROLES

    def build(self, job: BuildJob) -> BuildResult:
        sources, output, options, progress, models = job
        progress("sources", len(sources), len(sources), str(options))
        output.mkdir(parents=True, exist_ok=True)
        (output / "begun").write_text("begun")
        texts = models.ask("generator", requests(*sources))
        checked = models.ask(
            "checker", [BuildRequest(key, f"check {text}", about="a text") for key, text in texts.items()]
        )
        (output / "problems").write_text("\n".join(checked.values()))
        return BuildResult(("done",), {"problems": len(checked)})


BOTH = ("generator=fake/a", "checker=second=fake/b")


def whole(output: Path, opened: Opened, chosen: BuildModelsConfig) -> BuildResult:
    return build(TwoSteps(Two()), ["x", "y"], output, {}, chosen, opened, Progress())


def rehearsed(output: Path, opened: Opened, chosen: BuildModelsConfig) -> BuildForecast:
    return dry_run(TwoSteps(Two()), ["x", "y"], output, {}, chosen, opened, Progress())


def test_later_questions_may_be_made_of_earlier_answers(tmp_path: Path) -> None:
    opened = Opened()
    assert whole(tmp_path, opened, models_config(*BOTH)).numbers == {"problems": 2}
    assert opened.texts == ["write x", "write y", "check [write x]", "check [write y]"]
    assert (tmp_path / "problems").read_text() == "[check [write x]]\n[check [write y]]"


def test_a_model_that_never_answers_is_not_kept_for_later_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TwoSteps, "remembers_models", True)
    models = ("generator=openai/gpt-4o", "checker=openai/gpt-4p")
    fails = {"openai/gpt-4p"}

    def opened(spec: str, _options: ClientOptions) -> FakeClient:
        return FakeClient(lambda *_: failure("no such model", "provider") if spec in fails else "fine", name=spec)

    place = tmp_path / "models.json"
    with pytest.raises(AnswersMissingError, match="no such model"):
        build(TwoSteps(Two()), ["x"], tmp_path, {}, models_config(*models), opened, Progress())
    assert not place.exists()
    fails.clear()
    build(TwoSteps(Two()), ["x"], tmp_path, {}, models_config(*models), opened, Progress())
    assert "gpt-4p" in place.read_text()
    fails.add("openai/gpt-4p")  # a bad day of a model that has answered
    with pytest.raises(AnswersMissingError):
        build(TwoSteps(Two()), ["x", "y"], tmp_path, {}, models_config(*models), opened, Progress())
    assert place.exists()


def test_a_missing_key_is_reported_before_a_source_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caretbench.build.load_builder", lambda _name: TwoSteps(Two()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MachineError, match=r"openai/gpt-4o: .*OPENAI_API_KEY"):
        api.build_problems("two", ["x"], tmp_path / "out", models={"generator": "fake/a", "checker": "openai/gpt-4o"})
    assert not (tmp_path / "out").exists()
    opened = Opened()  # a client of one's own needs no key that is known here
    named = {"generator": "fake/a", "checker": "openai/gpt-4o"}
    assert api.build_problems("two", ["x"], tmp_path / "out", models=named, opener=opened).numbers == {"problems": 1}


def test_a_build_without_roles_is_given_no_models(tmp_path: Path) -> None:
    class Plain(TwoSteps):
        roles: ClassVar[Mapping[str, str]] = {}

    with pytest.raises(ValueError, match="-m generator="):
        build(Plain(Two()), ["x"], tmp_path / "out", {}, BuildModelsConfig(), Opened(), Progress())


def test_a_dry_run_sends_and_writes_nothing(tmp_path: Path) -> None:
    opened, output = Opened(), tmp_path / "out"
    sampled = SamplingConfig(max_tokens=5)
    found = rehearsed(output, opened, models_config(*BOTH, prices=PRICES, sampling=sampled, max_cost=50.0))
    assert (opened.texts, output.exists(), found.complete) == ([], False, False)
    assert [(text.role, text.key, text.text) for text in found.texts] == [
        ("generator", "x", "write x"),
        ("generator", "y", "write y"),
    ]
    [row] = found.roles.values()  # what the checker is asked is not known yet
    assert (row.place, row.requests, row.stored, row.characters) == ("remote", 2, 0, 14)
    assert (row.tokens_in, row.tokens_out, row.cost) == (6, 10, 10.0)


def test_a_dry_run_goes_as_far_as_the_answers_do(tmp_path: Path) -> None:
    usage = Usage(input_tokens=1, output_tokens=1, answers=1)
    reply = Opened(lambda request, _: failure() if request.id == "y" else "fine", usage=usage)
    with pytest.raises(AnswersMissingError):
        whole(tmp_path, reply, models_config(*BOTH, prices=PRICES))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    found = rehearsed(tmp_path, Opened(), models_config(*BOTH, prices=PRICES))
    assert ([text.key for text in found.texts], found.roles["generator"].stored) == (["y"], 1)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}
    whole(tmp_path, Opened(usage=usage), models_config(*BOTH, prices=PRICES))
    found = rehearsed(tmp_path, Opened(), models_config(*BOTH, prices=PRICES))
    assert (found.complete, found.texts, found.spent) == (True, [], 4.0)
    assert {role: (row.model, row.requests, row.stored) for role, row in found.roles.items()} == {
        "generator": ("fake/a", 2, 2),
        "checker": ("second", 2, 2),
    }


def test_a_dry_run_names_the_place_of_every_model(tmp_path: Path) -> None:
    there = Opened(identity={"address": "http://there/v1"})
    assert rehearsed(tmp_path, there, models_config()).roles["generator"].address == "http://there/v1"
    assert rehearsed(tmp_path, there, models_config("generator=gguf/a")).roles["generator"].place == "local"
    with pytest.raises(ValueError, match=r"^--dry-run: no model"):
        rehearsed(tmp_path, Opened(), BuildModelsConfig())


def test_a_row_says_what_is_missing() -> None:
    fields = dict.fromkeys(("role", "request", "prompt", "model", "parameters", "kind", "message"), "x")
    assert MissingBuildAnswer.model_validate(fields).key == ("x",) * 5


def test_a_dry_run_lists_each_model_of_a_role(tmp_path: Path) -> None:
    class Several(TwoSteps):
        def build(self, job: BuildJob) -> BuildResult:
            names = job.models.names("generator")
            job.models.ask_each("generator", {name: requests(*job.sources) for name in names})
            return BuildResult((), {})

    several = models_by_role("two", ROLES, ["generator=fake/a", "generator=gguf/b"], ("generator",))
    chosen = BuildModelsConfig(models=several)
    found = dry_run(Several(Two()), ["x", "y"], tmp_path, {}, chosen, Opened(), Progress())
    assert {key: (row.place, row.requests) for key, row in found.roles.items()} == {
        "generator=fake/a": ("remote", 2),
        "generator=gguf/b": ("local", 2),
    }
    assert [(text.row, text.key) for text in found.texts] == [
        (f"generator={name}", key) for name in ("fake/a", "gguf/b") for key in ("x", "y")
    ]


class Rounds(TwoSteps):
    """Knows how many requests it needs in all."""

    def build(self, job: BuildJob) -> BuildResult:
        options = job.options
        try:
            return super().build(job)
        except AnswersMissingError as error:
            error.expected = ExpectedRequests(
                "generator", int(options["n"]), 4 * int(options["n"]), "least", "most", 10
            )
            raise


def test_a_dry_run_prices_the_whole_build(tmp_path: Path) -> None:
    prices = Prices.parse({"models": {"fake/*": {"input_per_million": 1e6, "output_per_million": 1e6}}}, "here")
    chosen = models_config(*BOTH, prices=prices, sampling=SamplingConfig(max_tokens=5))
    found = [
        dry_run(Rounds(Two()), ["x", "y"], tmp_path / "out", {"n": count}, chosen, Opened(), Progress()).whole
        for count in (5, 50)
    ]
    assert [one and (one.least_requests, one.most_requests) for one in found] == [(5, 20), (50, 200)]
    # 3 tokens of the prompt and 5 of an answer; at most 4 bytes for each of the 7 + 10 characters, a token each.
    assert [one and (one.least_cost, one.most_cost) for one in found] == [(5 * 8, 20 * 73), (50 * 8, 200 * 73)]
    unpriced = dry_run(Rounds(Two()), ["x"], tmp_path / "out", {"n": 5}, models_config(), Opened(), Progress()).whole
    assert unpriced is not None
    assert (unpriced.least_cost, unpriced.most_cost) == (None, None)


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("generator=server/toy@http://10.0.0.9:8000/v1", "server/toy"),
        ("generator=server/@http://10.0.0.9", "server"),
        ("generator=own=server/toy@http://10.0.0.9", "own"),
        ("generator=command//home/ann/bin/model --key 1", "command/model"),
        ("generator=gguf//home/ann/tiny.gguf", "gguf/tiny.gguf"),
        ("generator=openai/gpt-4o", "openai/gpt-4o"),
    ],
)
def test_the_name_of_a_model_has_no_address(option: str, name: str) -> None:
    [model] = models_config(option).models["generator"]
    assert model.name == name
