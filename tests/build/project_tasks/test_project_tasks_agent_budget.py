"""Budget of the model that repairs set-ups, and what it is shown, without a sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from caretbench.build.build_models import BuildRequest
from caretbench.build.project_tasks.setup_agent import SetupAgent
from caretbench.build.projects.agent.recipe import Recipe, RecipeStore, RepairCase
from caretbench.build.projects.setup.project_setup import SetupError
from caretbench.errors import DataError
from caretbench.models import ChatPrompt
from tests.support.project_files import snapshot


class Scripted:
    """Models of a build with a list of answers (:class:`caretbench.build.build_models.BuildModels`)."""

    roles = frozenset({"agent"})

    def __init__(self, answers: Iterable[str]) -> None:
        self.asked: list[BuildRequest] = []
        self._answers: Iterator[str] = iter(answers)

    def names(self, role: str) -> tuple[str, ...]:
        return (f"a model for {role}",)

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        [request] = requests
        assert role == "agent"
        self.asked.append(request)
        return {request.key: next(self._answers)}

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        return {name: self.ask(role, asked) for name, asked in requests.items()}


def case(folder: Path) -> RepairCase:
    project = snapshot(folder, {"README.md": "run make\n", "a.py": ""})
    return RepairCase("shop", project, "", "", "", RecipeStore(folder))


def fail(recipe: Recipe) -> str:
    raise SetupError(f"setup_fails: {recipe.commands[0]}", "the log " * 10)


def recipe(name: str) -> str:
    return json.dumps({"commands": [name]})


def test_time_ends_it_before_the_next_question(tmp_path: Path) -> None:
    models = Scripted(map(recipe, "abcdef"))
    seconds = iter((0.0, 10.0, 50.0, 70.0))
    agent = SetupAgent(models, tries=6, max_s=60.0, now=lambda: next(seconds))
    with pytest.raises(DataError, match=r"1 min .*--agent-minutes.*\(1: setup_fails"):
        agent.repair(case(tmp_path), SetupError("no tests"), fail)
    assert [request.key.rpartition("/")[2] for request in models.asked] == ["1", "2"]


def test_long_malformed_answers_do_not_fill_the_next_question(tmp_path: Path) -> None:
    models = Scripted(["no " * 5_000, "no " * 5_000 + "more", recipe("a")])
    found = SetupAgent(models).repair(case(tmp_path), SetupError("no tests", "x"), lambda one: one.commands)
    assert found == ("a",)
    prompt = models.asked[-1].prompt
    assert isinstance(prompt, ChatPrompt)
    assert [message.role for message in prompt.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert sum(len(message.text) for message in prompt.messages[2:]) < 2_500


def test_outcomes_are_taken_from_the_folder_and_another_answer_begins_anew(tmp_path: Path) -> None:
    tried: list[str] = []

    def attempt(one: Recipe) -> str:
        tried.append(one.commands[0])
        return "works" if one.commands == ("c",) else fail(one)

    first = Scripted(map(recipe, "ab"))
    with pytest.raises(DataError, match="recipe of 2"):
        SetupAgent(first, tries=2).repair(case(tmp_path), SetupError("no tests", "one log"), attempt)
    again = Scripted(map(recipe, "abc"))
    known = case(tmp_path)
    assert SetupAgent(again, tries=3).repair(known, SetupError("no tests", "another log"), attempt) == "works"
    assert tried == ["a", "b", "c"], "the stored faults are shown without another trial"
    assert [request.prompt for request in again.asked[:2]] == [request.prompt for request in first.asked]
    assert RecipeStore(tmp_path).working(known.key) == Recipe(commands=("c",))
    other = Scripted(map(recipe, "xc"))
    assert SetupAgent(other).repair(case(tmp_path), SetupError("no tests", "third log"), attempt) == "works"
    assert tried == ["a", "b", "c", "x", "c"]
