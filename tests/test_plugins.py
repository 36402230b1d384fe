"""Plug-ins: found by entry point or by place, versioned, and refused in one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from caretbench.errors import UsageError
from caretbench.extraction import POLICIES, get_policy, policy_names
from caretbench.models import ChatPrompt
from caretbench.plugins import PluginError
from caretbench.problem import Caret
from caretbench.prompts import choose, get_strategy, preprocessor, preprocessors, strategies
from caretbench.prompts.strategy import PromptBudget, UnpromptableError
from caretbench.runs.generate import ModelUnderTest
from caretbench.suites import load_suite
from tests.support.fakes import FakeClient

ROOT = Path(__file__).parents[1]
EVERYTHING = PromptBudget(None, len)
CARET = Caret(language="python", prefix="def f():\n    x = ", suffix="\n")

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution with one module where Python finds it, as an installer does."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def put(module: str, source: str, entry_points: str, name: str = "tiny-plugin", version: str = "1.2") -> Path:
        site = tmp_path / name
        metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (metadata / "entry_points.txt").write_text(textwrap.dedent(entry_points))
        (site / f"{module}.py").write_text(textwrap.dedent(source))
        sys.path.insert(0, str(site))
        return site / f"{module}.py"

    yield put
    for name in set(sys.modules) - before:
        if not name.startswith("caretbench"):
            del sys.modules[name]


def page_blocks() -> dict[str, str]:
    page = (ROOT / "docs" / "how-to" / "plug-ins.md").read_text("utf-8")
    return dict(re.findall(r"```(python|toml)\n(.*?)```", page, re.DOTALL))


def entry_points_of(pyproject: str) -> str:
    groups = tomllib.loads(pyproject)["project"]["entry-points"]
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in groups.items()
    )


# --- the example of the page ------------------------------------------------------------------------------------


def check_the_example(preprocess: str, prompt: str, cut: str) -> None:
    problem = load_suite("devbench").load("starter").problems[0]
    long = problem.model_copy(update={"shown": Caret(language="python", prefix="a = 1\n" * 50 + "total = ")})
    client = FakeClient(lambda _request, _sample: "```python\ntotal = 1 + 1\n```", accepts=["chat"])
    under_test = ModelUnderTest("m", client, choose(client, prompt), preprocess=[preprocessor(preprocess)])
    assert under_test.settings["prompt"] == f"{prompt}@1"
    assert under_test.settings["preprocess"] == [f"{preprocess}@1"]
    [wanted] = under_test.pending_samples([long], {})
    assert wanted.prompt is not None
    assert wanted.prompt.kind == "chat"
    [message] = wanted.prompt.messages
    assert message.text == "Fill the gap; answer with code only.\n\n" + "a = 1\n" * 39 + "total = <GAP>"
    found = get_policy(cut)
    assert found.key == f"{cut}@1"
    extracted = found.apply("Sure!\n```python\ntotal = 1 + 1\n```", long.caret)
    assert extracted.text == " 1 + 1"
    assert extracted.steps == ("fence removed", "repetition removed")


def test_the_example_of_the_page_works_from_a_file(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tidy.py").write_text(page_blocks()["python"])
    monkeypatch.chdir(tmp_path)
    check_the_example("tidy:nearby", "tidy:Terse", "tidy:no_repetition")


def test_the_example_of_the_page_works_when_it_is_installed(install: Install) -> None:
    blocks = page_blocks()
    install("tidy", blocks["python"], entry_points_of(blocks["toml"]), "tidy-completer")
    check_the_example("nearby", "terse", "no_repetition")
    assert strategies()[-1] == "terse"
    assert policy_names() == (*POLICIES, "no_repetition")
    assert preprocessors() == ("nearby",)


def test_a_policy_beside_the_user_scores_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "tidy.py").write_text(page_blocks()["python"])
    problem = load_suite("devbench").load("starter").problems[0]
    row = {"problem_id": problem.id, "model": "m", "text": f"```\n{problem.reference}\n```"}
    (tmp_path / "recorded.jsonl").write_text(json.dumps(row) + "\n")
    command = [
        sys.executable, "-m", "caretbench", "score", "devbench", "--completions", "recorded.jsonl",
        "--policy", "tidy:no_repetition", "--select", f"id={problem.id}", "--baseline", "none",
        "--no-execute", "--no-html", "-o", "run",
    ]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONSAFEPATH"] = "1"  # as the installed command starts: without the working folder
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["policy"] == "tidy:no_repetition@1"
    scores = [json.loads(line) for line in (tmp_path / "run" / "scores.jsonl").read_text().splitlines()]
    assert {score["values"]["exact"] for score in scores if "exact" in score["values"]} <= {1.0}
    assert all(score["policy"] == "tidy:no_repetition@1" for score in scores)
    missing = subprocess.run(
        [*command[:7], "--policy", "tidy:gone", "-o", "other"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1
    assert missing.stderr.startswith("caretbench: plug-in tidy:gone (module tidy): ")


# --- versions ---------------------------------------------------------------------------------------------------

UNVERSIONED = """
    from caretbench.models import TextPrompt

    class Bare:
        kind = "text"
        def render(self, caret, budget):
            return TextPrompt(text=caret.prefix)

    bare = Bare()
    def same(caret): return caret
    def half(text, around): return text[:len(text) // 2]
    def numbered(text, around): return text
    numbered.version = "2.0"
    def badly(text, around): return text
    badly.version = "a version with blanks"
"""
GROUPS = """
    [caretbench.prompts]
    bare = tiny:bare
    made = tiny:Bare
    [caretbench.preprocess]
    same = tiny:same
    [caretbench.policies]
    half = tiny:half
    numbered = tiny:numbered
    badly = tiny:badly
"""


def test_without_a_version_the_source_is_part_of_the_key(install: Install) -> None:
    path = install("tiny", UNVERSIONED, GROUPS)
    keys = [get_strategy("bare").key, get_strategy("made").key, preprocessor("same").key, get_policy("half").key]
    names = [key.partition("@")[0] for key in keys]
    hashes = {key.partition("@")[2] for key in keys}
    assert names == ["bare", "made", "same", "half"]
    assert len(hashes) == 1
    assert re.fullmatch("[0-9a-f]{12}", hashes.pop())
    assert get_strategy(keys[0]).key == keys[0]
    assert get_policy(keys[3]).apply("abcd", CARET).text == "ab"
    path.write_text(path.read_text() + "# changed\n")
    assert get_strategy("bare").key != keys[0]
    with pytest.raises(UsageError, match="is bare@"):
        get_strategy(keys[0])
    with pytest.raises(UsageError, match=r"is half@"):
        get_policy(keys[3])


def test_a_version_is_a_number_or_a_word(install: Install) -> None:
    install("tiny", UNVERSIONED, GROUPS)
    assert get_policy("numbered").key == "numbered@2.0"
    with pytest.raises(PluginError, match="'a version with"):
        get_policy("badly")


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "name", "find"),
    [
        ("caretbench.prompts", "chat", lambda: get_strategy("left-to-right")),
        ("caretbench.prompts", "auto", lambda: get_strategy("chat")),
        ("caretbench.policies", "syntax", get_policy),
    ],
)
def test_a_name_of_ours_is_an_error_whatever_is_asked_for(
    install: Install, group: str, name: str, find: Callable[[], object]
) -> None:
    install("tiny", UNVERSIONED, f"[{group}]\n{name} = tiny:bare\n")
    with pytest.raises(PluginError, match=rf"{name} \(tiny-plugin 1.2, tiny:bare\): caretbench"):
        find()


def test_two_packages_with_one_name_are_an_error(install: Install) -> None:
    install("tiny", UNVERSIONED, "[caretbench.policies]\nhalf = tiny:half\n")
    install("tiny_too", UNVERSIONED, "[caretbench.policies]\nhalf = tiny_too:half\n", "tiny-too", "3")
    with pytest.raises(PluginError, match=r"half .*(tiny-plugin 1\.2|tiny-too 3) .*already"):
        get_policy("half")


@pytest.mark.parametrize("name", ["fim/mine", "a:b", "half@2", "two words"])
def test_a_name_with_marks_in_it_is_an_error(install: Install, name: str) -> None:
    install("tiny", UNVERSIONED, f"[caretbench.prompts]\n{name} = tiny:bare\n")
    with pytest.raises(PluginError, match="letters, digits"):
        strategies()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit('\\n bye')", "cannot be loaded: SystemExit: bye"),
        ("part = (", "cannot be loaded: SyntaxError"),
        ("other = 1", "cannot be loaded: AttributeError"),
        ("part = 3", "got 3"),
        ("class part:\n    def __init__(self):\n        1 / 0", "cannot be made: ZeroDivisionError"),
        ("def part():\n    return 'text'", "with `kind` and `render`, got 'text'"),
        ("class part:\n    kind = 'smoke'\n    def render(self, caret, budget): ...", "its kind is 'smoke'; expected"),
    ],
)
def test_what_is_no_prompt_is_one_line_that_names_the_package(install: Install, source: str, message: str) -> None:
    install("tiny", source, "[caretbench.prompts]\nmine = tiny:part\n")
    with pytest.raises(PluginError, match=re.escape(message)) as caught:
        get_strategy("mine")
    assert str(caught.value).startswith("plug-in mine (tiny-plugin 1.2, tiny:part): ")
    assert "\n" not in str(caught.value)


FAILING = """
    from caretbench.models import Message, TextPrompt
    from caretbench.prompts.strategy import UnpromptableError

    class Prompt:
        kind, version = "chat", 1
        def __init__(self, act): self.act = act
        def render(self, caret, budget): return self.act(caret)

    def refuse(caret): raise UnpromptableError("too odd")
    def fail(caret, around=None): return caret.prefix[99] if around is None else caret[99]
    def wrong(caret, around=None): return 7
    def text(caret): return TextPrompt(text="")
    def misspell(caret): return Message(role="user", content="Complete.")
    refusing, failing, wronging, texting = Prompt(refuse), Prompt(fail), Prompt(wrong), Prompt(text)
    misspelling = Prompt(misspell)
    number = 7
"""


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: Install) -> None:
    (tmp_path / "failing.py").write_text(textwrap.dedent(FAILING))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: get_strategy("failing:failing").render(CARET, EVERYTHING), "failed to render a prompt: IndexError"),
        (
            lambda: get_strategy("failing:misspelling").render(CARET, EVERYTHING),
            "failed to render a prompt: ValidationError: text: ",
        ),
        (lambda: get_strategy("failing:wronging").render(CARET, EVERYTHING), "gave 7 where a prompt of kind 'chat'"),
        (lambda: get_strategy("failing:texting").render(CARET, EVERYTHING), "where a prompt of kind 'chat'"),
        (lambda: preprocessor("failing:fail")(CARET), "failed on a caret: IndexError: string index"),
        (lambda: preprocessor("failing:wrong")(CARET), "gave 7 where a Caret is expected"),
        (lambda: preprocessor("failing:number"), "expected a function from Caret to Caret, got 7"),
        (lambda: get_policy("failing:fail").apply("text", CARET), "failed on a text of 4 characters: IndexError"),
        (lambda: get_policy("failing:wrong").apply("text", CARET), "returned 7 instead of a text"),
        (lambda: get_policy("failing:number"), "expected a caretbench.extraction.Policy, or a function"),
        (lambda: get_policy("failing:gone"), "failing.py has no 'gone'"),
        (lambda: get_policy("failing:failin"), "failing.py has no 'failin'; near to it: failing, fail"),
        (lambda: get_policy("not_there:gone"), "there is no module 'not_there'; looked for not_there.py in /"),
    ],
)
def test_what_fails_is_one_line(use: Callable[[], object], message: str) -> None:
    with pytest.raises(PluginError, match=re.escape(message)) as caught:
        use()
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("failing")
def test_a_plug_in_may_say_that_a_text_cannot_be_asked() -> None:
    for use in (get_strategy("failing:refusing").render, lambda caret, _: preprocessor("failing:refuse")(caret)):
        with pytest.raises(UnpromptableError, match="too odd"):
            use(CARET, EVERYTHING)


def test_a_missing_import_of_a_plug_in_is_not_taken_for_the_plug_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needy_plugin.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=r"ModuleNotFoundError: .*'no_such_module'"):
        get_strategy("needy_plugin:X")


def test_unknown_names_say_what_is_known() -> None:
    with pytest.raises(UsageError, match="policy 'nope'"):
        get_policy("nope")
    with pytest.raises(UsageError, match="preprocessor 'nope'"):
        preprocessor("nope")


def test_our_own_objects_can_be_named_by_place() -> None:
    prompt = get_strategy("caretbench.prompts.registry:ChatStrategy").render(CARET, EVERYTHING)
    assert isinstance(prompt, ChatPrompt)
