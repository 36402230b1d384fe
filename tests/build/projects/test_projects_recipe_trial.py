"""Trials of recipes in the sandbox: what works, and what is contained and named."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from caretbench.build.package_index.index_policy import IndexPolicy
from caretbench.build.package_index.index_proxy import IndexProxy
from caretbench.build.projects.agent import recipe_trial
from caretbench.build.projects.agent.recipe import Recipe
from caretbench.build.projects.agent.recipe_trial import RECIPE_LIMITS, run_recipe
from caretbench.build.projects.setup.project_setup import SetupError
from caretbench.execution.sandbox import bubblewrap
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.execution.workspaces.workspace_runner import WorkspaceRunner
from tests.support.project_files import open_folder
from tests.support.wheel_index import require_pip, wheel_index

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed"),
]
FILES = {"own.py": "A = 1\n", "tests/test_own.py": "import own\n", "two words.txt": ""}


@pytest.fixture
def place() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


def trial(place: Path, recipe: Recipe, index: IndexPolicy | None = None, **bounds: float) -> tuple[Snapshot, Snapshot]:
    """The project before and after a recipe."""
    for path, text in FILES.items():
        (place / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (place / "project" / path).write_text(text)
    store = SnapshotStore(place / "store")
    before = store.add(place / "project")
    access = partial(IndexProxy, index or IndexPolicy(hosts=()))
    engine = WorkspaceExecutor(1, workspace_runner=WorkspaceRunner(store=store, index=access))
    try:
        return before, run_recipe(engine, before, recipe, limits=RECIPE_LIMITS.model_copy(update=bounds))
    finally:
        engine.close()


def test_commands_start_in_the_root_with_the_variables_and_leave_files(place: Path) -> None:
    recipe = Recipe(commands=("mkdir made && cd made", 'printf "$WORD" > made/word'), environment={"WORD": "it's"})
    before, after = trial(place, recipe)
    assert {*after.entries} - {*before.entries} >= {"made/word"}
    assert after.read("made/word") == b"it's"
    assert after.read("own.py") == b"A = 1\n"


def test_packages_come_from_the_index(place: Path) -> None:
    require_pip()
    with wheel_index({"needone": "VALUE = 1\n"}) as index:
        _, after = trial(place, Recipe(commands=("python3 -m pip install -q --target .deps needone",)), index)
    assert after.read(".deps/needone.py") == b"VALUE = 1\n"


def test_a_recipe_without_commands_or_new_files_is_the_project_itself(place: Path) -> None:
    before, after = trial(place, Recipe(environment={"A": "1"}))
    assert before.id == after.id
    before, after = trial(place, Recipe(commands=("true",)))
    assert before.id == after.id


@pytest.mark.parametrize(
    ("commands", "bounds", "fault", "log"),
    [
        (("echo one", "echo two >&2; exit 3", "echo three"), {}, "setup_fails: runtime_error: exit status 3",
         r"\$ echo one\none\n\$ echo two >&2; exit 3\ntwo"),
        (("if",), {}, "setup_fails", r"\$ if"),
        (("rm -rf tests *",), {}, "deletes_files: .*: own.py, tests/test_own.py, two words.txt", "deleted own.py"),
        (("echo 'assert True' > tests/test_own.py",), {}, "changes_files: .*tests/test_own.py", ""),
        (("echo > tests/test_more.py",), {}, "adds_tests: .*tests/test_more.py", ""),
        (("mkdir .deps; echo > .deps/sitecustomize.py",), {}, "adds_tests: .*sitecustomize.py", ""),
        (("while :; do :; done",), {"cpu_s": 2.0}, "does_not_end", ""),
        (("sleep 1000",), {"wall_s": 3.0}, "does_not_end", ""),
        (("yes",), {}, "setup_fails: output_limit", "[0-9] more times"),
        (("dd if=/dev/zero of=big bs=1M count=40",), {"tmp_mb": 16}, "disk_full", "No space left"),
    ],
    ids=["fails", "syntax", "deletion", "change", "tests", "startup", "loop", "sleep", "output", "disk"],
)  # fmt: skip
def test_what_goes_wrong_is_contained_and_named(
    place: Path, commands: tuple[str, ...], bounds: Mapping[str, float], fault: str, log: str
) -> None:
    with pytest.raises(SetupError, match=fault) as caught:
        trial(place, Recipe(commands=commands), **bounds)
    assert re.search(log, caught.value.log), caught.value.log
    assert (place / "project" / "own.py").read_text() == "A = 1\n"


def test_files_are_bounded_in_size(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(commands=("head -c 70000000 /dev/urandom > noise",))
    _, after = trial(place, recipe)
    assert after.entries["noise"].size == 70_000_000
    monkeypatch.setattr(recipe_trial, "MAX_PARTS", 4)
    with pytest.raises(SetupError, match=r"files_too_large: .* 60 MB"):
        trial(place, recipe)


def test_another_host_is_refused_and_named(place: Path) -> None:
    fetch = "import urllib.request; urllib.request.urlopen('http://evil.test/x')"
    with pytest.raises(SetupError, match=r"network_refused: evil\.test is not a package") as caught:
        trial(place, Recipe(commands=(f'python3 -c "{fetch}"',)))
    assert "refused: evil.test" in caught.value.log


def test_nothing_of_the_machine_is_reached(place: Path) -> None:
    secret = place / "secret"
    secret.write_text("x")
    with pytest.raises(SetupError, match="setup_fails"):
        trial(place, Recipe(commands=(f"cat {secret}",)))
