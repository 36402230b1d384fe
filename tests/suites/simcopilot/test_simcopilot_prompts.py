"""What models are shown of projects: never what is hidden, and in a request what the context says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

import caretbench
from caretbench import cli
from caretbench.build.project_tasks.block_miner import TaskOrigin
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import write_rows
from caretbench.problem import FileSplice, Problem, Provenance, TestsCheck
from caretbench.projects import project as project_module
from caretbench.projects.code_search import split_tokens
from caretbench.projects.file_spans import visible_text
from caretbench.prompts import get_strategy
from caretbench.prompts.strategy import PromptBudget, UnpromptableError
from caretbench.runs.generate import ModelUnderTest, prompt_text
from caretbench.runs.run_folder import RunFolder
from caretbench.suites import load_suite
from caretbench.suites.simcopilot.build.tasks import ProjectMiner, TaskSampling
from caretbench.suites.simcopilot.contexts import CONTEXTS, ShownContext, build_context
from caretbench.suites.suite_contexts import suite_context
from caretbench.syntax import SourceFile, is_test_path
from caretbench.syntax.analysis import ProjectAnalysis, analyse
from tests.support.fakes import FakeClient
from tests.support.model_server import ModelServer

SAMPLES = Path(caretbench.__file__).parent / "samples"
PROMPTS = ("chat", "natural", "left-to-right", "fill", "fim/qwen2.5-coder", "fim/starcoder", "fim/starcoder2:spm")
LEAST = 16
"""Tokens from which on a text is told from chance, as mining counts them."""


class Project(NamedTuple):
    analysis: ProjectAnalysis
    problems: tuple[Problem, ...]


@cache
def project(name: str) -> Project:
    """A sample project, and beside each of its files a copy: all that is hidden stands elsewhere again."""
    root = SAMPLES / name
    suffixes = (".py", ".java")
    sources = []
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root).as_posix()
        if path.suffix in suffixes:
            sources.append(SourceFile(place, path.read_bytes()))
            sources.append(SourceFile(f"copies/{place}", path.read_bytes()))
    analysis = analyse(sources)
    mined = [
        one.path for one in sources if not one.path.startswith("copies/") and not is_test_path(one.path, one.language)
    ]
    miner = ProjectMiner(analysis)
    found = miner.sample_candidates(miner.find_candidates(mined), TaskSampling(limit=None), mined)
    origin = TaskOrigin(name, "0" * 64, Provenance(source=name), TestsCheck(command=("true",)))
    return Project(analysis, tuple(miner.make_problems(found, origin)))


def hidden_texts(problem: Problem, analysis: ProjectAnalysis) -> Iterator[list[str]]:
    """The reference, and in ``suffix_hidden`` what follows it in the outermost function around it."""
    splice = problem.splice
    assert isinstance(splice, FileSplice)
    texts = [problem.reference]
    if problem.labels["mode"] == "suffix_hidden":
        file = analysis[splice.path]
        around = file.enclosing_scopes((splice.start, splice.end))
        ends = [scope.span.end for scope in around if scope.kind in ("function", "method")]
        texts += [visible_text(file.source.data[splice.end : end]) for end in ends[:1]]
    return (tokens for text in texts if len(tokens := split_tokens(text)) >= LEAST)


def pattern_of(tokens: list[str]) -> re.Pattern[str]:
    """Finds these tokens one after the other, in any layout."""
    blanks = [r"\s+" if is_word(a) and is_word(b) else r"\s*" for a, b in pairwise(tokens)]
    inner = "".join(re.escape(token) + blank for token, blank in zip(tokens, [*blanks, ""], strict=True))
    return re.compile((r"(?<!\w)" if is_word(tokens[0]) else "") + inner + (r"(?!\w)" if is_word(tokens[-1]) else ""))


def is_word(token: str) -> bool:
    return re.match(r"\w", token) is not None


def uncommented(text: str) -> str:
    return re.sub(r"(?m)^(#|//) ?", "", text)


def check_places(problem: Problem, context: ShownContext, analysis: ProjectAnalysis) -> None:
    """Every shown line is that line of that file."""
    for file, places in zip(context.caret.context, context.file_origins, strict=True):
        there = visible_text(analysis[file.path].source.data).split("\n")
        for line, (path, number) in zip(file.text.removesuffix("\n").split("\n"), places, strict=True):
            assert path == file.path
            assert there[number - 1] == line
    lines = visible_text(analysis[str(problem.caret.path)].source.data).split("\n")
    before = context.caret.prefix.split("\n")
    assert len(before) in (len(context.prefix_origins), len(context.prefix_origins) + 1)
    for line, (path, number) in zip(before, context.prefix_origins, strict=False):
        assert path == problem.caret.path
        assert lines[number - 1].startswith(line)
    for line, (path, number) in zip(context.caret.suffix.split("\n"), context.suffix_origins, strict=False):
        assert path == problem.caret.path
        assert lines[number - 1].endswith(line)


@pytest.mark.parametrize("context_name", CONTEXTS)
@pytest.mark.parametrize("name", ["wayfarer", "tallyhouse"])
def test_no_prompt_holds_hidden_text_though_every_file_has_a_copy(name: str, context_name: str) -> None:
    analysis, problems = project(name)
    assert len(problems) > 500
    for problem in problems[::29]:
        context = build_context(context_name, problem, analysis)
        check_places(problem, context, analysis)
        prompts = set()
        for prompt in PROMPTS:
            try:
                prompts.add(prompt_text(get_strategy(prompt).render(context.caret, PromptBudget(None, len))))
            except UnpromptableError:
                continue
        assert prompts
        texts = prompts | set(map(uncommented, prompts))
        for hidden in hidden_texts(problem, analysis):
            pattern = pattern_of(hidden)
            assert pattern.search(visible_text(analysis[f"copies/{problem.caret.path}"].source.data))
            for text in texts:
                assert not pattern.search(text), (problem.id, " ".join(hidden))


def test_what_moves_before_the_caret_shows_nothing_hidden() -> None:
    text = """def outer(items):
    def inner(item):
        first = prepare(item)
        second = finish(first, item)
        return second

    rest = [inner(item) for item in items if item]
    report(rest, len(rest), sum(rest), max(rest))
    return rest


def later(item):
    first = prepare(item)
    return first
"""
    analysis = analyse([SourceFile("a.py", text)])
    miner = ProjectMiner(analysis)
    found = miner.sample_candidates(miner.find_candidates(["a.py"]), TaskSampling(limit=None), ["a.py"])
    origin = TaskOrigin("p", "0" * 64, Provenance(source="p"), TestsCheck(command=("true",)))
    asked = [p for p in miner.make_problems(found, origin) if p.labels["mode"] == "suffix_hidden"]
    assert asked
    for problem in asked:
        context = build_context("move_enclosing_to_end", problem, analysis)
        if "def inner" in problem.caret.prefix and "rest" not in problem.caret.prefix:
            assert "report(" not in context.caret.prefix
        check_places(problem, context, analysis)


# --- in a run ---------------------------------------------------------------------------------------------------

SOURCE = """from store import fetch_price


def total(order):
    price = fetch_price(order)
    return price * order.count
"""
REFERENCE = "price * order.count"
FILES = {
    "shop.py": SOURCE,
    "store.py": "def fetch_price(order):\n    return PRICES[order.name]\n",
    "far.py": "UNLIKE = {}\n",
}


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "project"
    root.mkdir()
    for path, text in FILES.items():
        (root / path).write_text(text)
    identity = SnapshotStore(tmp_path / "elsewhere").add(root, ignore=()).id
    place = tmp_path / "tasks" / "snapshots" / identity
    place.parent.mkdir(parents=True)
    root.rename(place)
    start = SOURCE.index(REFERENCE)
    end = start + len(REFERENCE)
    whole = Problem.model_validate(
        {
            "id": "p/1",
            "suite": "simcopilot",
            "shown": {
                "kind": "caret", "language": "python", "prefix": SOURCE[:start], "suffix": SOURCE[end:],
                "path": "shop.py",
            },
            "splice": {"kind": "file", "snapshot": identity, "path": "shop.py", "start": start, "end": end},
            "reference": REFERENCE,
            "checks": [{"kind": "tests", "command": ["true"]}],
            "labels": {"language": "python", "mode": "infill"},
            "cluster": "p",
            "provenance": {"source": "p"},
        }
    )  # fmt: skip
    write_rows(tmp_path / "tasks" / "problems.jsonl", [whole, whole.model_copy(update={"id": "p/2"})])
    return tmp_path / "tasks"


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.app, ["run", *arguments])
    return result.exit_code, result.stdout, result.stderr + str(result.exception or "")


def test_a_request_holds_the_context_and_contexts_do_not_mix(
    tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "no-secret")
    folder = tmp_path / "run"
    with ModelServer(answer=REFERENCE) as server:
        given = (
            "simcopilot", "--data", str(tasks), "-m", "m=openai-api/local/tiny", "--base-url", f"{server.url}/v1",
            "--prompt", "chat", "--no-execute", "--no-html", "--no-score", "-o", str(folder),
        )  # fmt: skip
        for context in ("as_is", "retrieval", "prepend_files"):
            code, _, err = run(*given, "--context", context)
            assert code == 0, err
        asked = [json.dumps(one.body) for one in server.requests if one.method == "POST"]
        assert len(asked) == 6
        code, out, err = run(*given, "--context", "retrieval", "--dry-run", "--json")
        assert code == 0, err
        [row] = json.loads(out)["models"]
        assert (row["context"], row["samples_stored"]) == ("retrieval@2", 2)
        assert len(server.requests) == 6
    assert ["PRICES[order.name]" in text for text in asked] == [False, False, True, True, True, True]
    assert ["UNLIKE = {}" in text for text in asked] == [False] * 4 + [True] * 2
    keys = {(one.parameters, one.settings.get("context")) for one in RunFolder(folder).manifest().models}
    assert {context for _, context in keys} == {None, "retrieval@2", "prepend_files@2"}
    rows = list(RunFolder(folder).completions())
    assert {row.parameters for row in rows} == {parameters for parameters, _ in keys}
    assert len({row.key for row in rows}) == 6


def test_what_does_not_fit_is_the_context_first(tasks: Path) -> None:
    house = load_suite("simcopilot")
    problem = house.load(str(tasks)).problems[0]
    context = suite_context([house], "prepend_files")
    roomy, tight = (
        ModelUnderTest(
            "m", FakeClient(count=len), get_strategy("fim/qwen2.5-coder"), context=context, prompt_tokens=room
        )
        for room in (2000, 260)
    )
    full, cut = (prompt_text(next(one.pending_samples([problem], {})).prompt) for one in (roomy, tight))  # type: ignore[arg-type]
    assert "<|file_sep|>store.py\n" in full
    assert "<|file_sep|>store.py\n" not in cut
    assert "<|fim_prefix|>" + problem.caret.prefix in cut


def test_a_project_is_read_once(tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    real = project_module.read_scopes
    monkeypatch.setattr(project_module, "read_scopes", lambda sources: read.append(1) or real(sources))
    house = load_suite("simcopilot")
    for problem in house.load(str(tasks)).problems:
        for name in house.contexts:
            house.caret_in_context(problem, name)
    assert len(read) == 1


def test_contexts_that_are_not_there_are_refused(tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # a missing key is reported first
    code, _, err = run("devbench", "-m", "m=openai/x", "--context", "retrieval", "-o", str(tmp_path / "a"))
    assert code != 0
    assert "'retrieval': devbench shows" in err
    code, _, err = run("simcopilot", "--data", str(tasks), "-m", "m=openai/x", "--context", "nearby")
    assert code != 0
    assert "'nearby': simcopilot does not know" in err


def test_a_run_file_names_contexts_for_each_model(tasks: Path, tmp_path: Path) -> None:
    from caretbench.runs.plans.config import RunConfig
    from caretbench.runs.plans.plan import ResolvedRun

    path = tmp_path / "run.toml"
    path.write_text(
        '[defaults]\ncontext = "retrieval"\n[[models]]\nname = "a"\nspec = "x/a"\n'
        '[[models]]\nname = "b"\nspec = "x/a"\ncontext = "as_is"\n'
        f'[[suites]]\nname = "simcopilot"\ndata = "{tasks}"\n'
    )
    assert [model.context for model in ResolvedRun.from_config(RunConfig.load(path), path).models] == [
        "retrieval",
        "as_is",
    ]
