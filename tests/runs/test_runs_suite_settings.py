"""Settings of a model for each suite: they apply where they fit, and are refused where they fit nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from caretbench.errors import DataError, UsageError
from caretbench.models import ClientOptions
from caretbench.runs.plans.config import RunConfig
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.session import Clients
from tests.support.fakes import FakeClient

SUITES = """
[[suites]]
name = "devbench"
select = "language=python"
limit = 2
{carets}

[[suites]]
name = "efcb"
limit = 4
{questions}
"""


def plan_of(tmp_path: Path, models: str, *, carets: str = "", questions: str = "", suites: str = SUITES) -> ResolvedRun:
    """The plan of a run file on DevBench and EFCB, or on other suites."""
    path = tmp_path / "two.toml"
    path.write_text(f'output = "{tmp_path}"\n' + models + suites.format(carets=carets, questions=questions))
    return ResolvedRun.from_config(RunConfig.load(path), path)


def prompts(plan: ResolvedRun, *kinds: str) -> dict[tuple[str, str], str]:
    """Keys of the prompt strategies by model and suite."""
    opened: list[ClientOptions] = []

    def opener(spec: str, options: ClientOptions) -> FakeClient:
        opened.append(options)
        return FakeClient(name=spec, accepts=kinds or ("chat", "fill"))  # type: ignore[arg-type]

    with Clients(plan, opener) as clients:
        infos = clients.check()
    assert all(options.uncut for options in opened[1::2])
    assert not any(options.uncut for options in opened[::2])
    return {
        (info.model, resolved.suite.name): str(info.settings["prompt"])
        for resolved, asked in zip(plan.suites, infos, strict=True)
        for info in asked
    }


def model(name: str, *settings: str) -> str:
    return "\n".join(["[[models]]", f'name = "{name}"', f'spec = "fake/{name}"', *settings, ""])


def test_each_suite_gets_the_prompt_of_its_problems(tmp_path: Path) -> None:
    assert prompts(plan_of(tmp_path, model("m"))) == {("m", "devbench"): "fill@1", ("m", "efcb"): "question@1"}


def test_the_models_own_prompt_applies_where_it_fits(tmp_path: Path) -> None:
    found = prompts(plan_of(tmp_path, model("m", 'prompt = "natural"') + model("n", 'prompt = "question-fill"')))
    assert found == {
        ("m", "devbench"): "natural@1", ("m", "efcb"): "question@1",
        ("n", "devbench"): "fill@1", ("n", "efcb"): "question-fill@1",
    }  # fmt: skip


def test_the_prompt_of_a_suite_goes_first(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, model("m", 'prompt = "natural"'), carets='prompt = "chat"', questions='prompt = "auto"')
    assert prompts(plan) == {("m", "devbench"): "chat@1", ("m", "efcb"): "question@1"}


def test_a_prompt_that_fits_no_suite_is_refused(tmp_path: Path) -> None:
    two = "".join(
        f'[[suites]]\nname = "devbench"\nprofile = "{name}"\nselect = "language=python"\nlimit = 2\n'
        for name in ("paper", "default")
    )
    plan = plan_of(tmp_path, model("m", 'prompt = "question"'), suites=two)
    with pytest.raises(ValueError, match=r"question cannot .*places"):
        prompts(plan)


@pytest.mark.parametrize(
    ("place", "setting", "complaint"),
    [
        (
            "questions",
            "chat",
            r"suites\.1\.prompt: the problems of efcb are questions, and chat is a prompt for places",
        ),
        ("carets", "question", r"suites\.0\.prompt: the problems of devbench are places in programs, and question is"),
        ("carets", "x", r"suites\.0\.prompt: unknown prompt 'x'"),
    ],
)
def test_a_suites_prompt_that_does_not_fit_names_its_key(
    tmp_path: Path, place: str, setting: str, complaint: str
) -> None:
    with pytest.raises(DataError, match=complaint):
        plan_of(tmp_path, model("m"), **{place: f'prompt = "{setting}"'})


def test_a_model_that_cannot_be_asked_for_one_suite_names_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, model("m"), carets='prompt = "fill"')
    with pytest.raises(ValueError, match=r"^m, devbench-starter-default: fake/m .*fill"):
        prompts(plan, "chat")


def test_instructions_and_contexts_apply_where_they_fit(tmp_path: Path) -> None:
    suites = SUITES.replace('name = "efcb"', 'name = "c3bench"')
    plan = plan_of(tmp_path, model("m", 'instruction = ["none", "comment"]'), suites=suites)
    with Clients(plan, lambda spec, _options: FakeClient(name=spec)) as clients:
        plain, instructed = clients.check()
    assert [info.settings.get("instruction") for info in plain] == [None]
    assert [info.settings["instruction"] for info in instructed] == ["none@1", "comment@1"]
    for setting, complaint in (
        ('instruction = ["none"]', "the problems of devbench and efcb have no instruction"),
        ('context = "retrieval"', "devbench shows its problems in one way only"),
    ):
        with pytest.raises(ValueError, match=complaint):
            plan_of(tmp_path, model("m", setting))


def test_a_baseline_belongs_to_the_suites_that_have_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'baselines = ["reference", "copy-context", "longest"]\n' + model("m"))
    assert plan.baselines == ["reference", "copy-context", "longest"]
    with pytest.raises(UsageError, match=r"'x'; devbench .*; efcb "):
        plan_of(tmp_path, 'baselines = ["x"]\n' + model("m"))
