"""The pages lead where they say, and name what the code has."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from pydantic import BaseModel

from caretbench.build.models.stored_models import BuildAnswer, MissingBuildAnswer
from caretbench.execution.execution_types import Status
from caretbench.execution.sandbox.kernel.seccomp import system_call_numbers
from caretbench.execution.scan.tamper import FLAGS
from caretbench.extraction.policies import policy_names
from caretbench.inspect.providers.server_probe import ServerFindings
from caretbench.languages import get_language, languages
from caretbench.people.releases.release_files import ReleasedText
from caretbench.problem import Completion, Judgement, Latency, MissingSample, Problem, Score, Usage
from caretbench.runs.judging.ratings import HumanRating
from caretbench.runs.run_folder import Manifest, MissingJudgement, ModelInfo
from caretbench.suites import built_in, load_suite, suite_names
from caretbench.suites.devbench.cells.cell_tables import cell_categories
from caretbench.suites.usage_weights import ScenarioShares
from caretbench.suites.validity import Validity
from tests.support.command_tree import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_FENCED = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCED.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        words = re.sub(r"[^\w\- ]", "", _LINK.sub("]", heading).lower()).replace(" ", "-")
        found.add(next(f"{words}{end}" for end in ("", "-1", "-2", "-3") if f"{words}{end}" not in found))
    return found


def links(page: Path) -> list[str]:
    """Where a page's links lead, as far as they stay in this repository."""
    return [link for link in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:", link)]


def test_every_link_leads_somewhere() -> None:
    for page, link in [(one, link) for one in PAGES for link in links(one)]:
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        named = f"{page.relative_to(ROOT)}: {link}"
        assert target.is_relative_to(ROOT), f"{named} leads out of the repository"
        assert target.exists(), f"{named} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{named}: no such heading in {target.name}"


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    reached = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    # those of the root again, as pages of the site
    assert {page for page in PAGES if page != index and page.parent.name != "project"} <= reached


MAXIMUM_WORDS = {"how-to": 800, "explanation": 1500, "evidence": 700}


def word_count(page: Path) -> int:
    """The number of words of a page, without its fenced blocks and the rows of its tables."""
    lines = (line for line in prose(page).splitlines() if not line.lstrip().startswith("|"))
    return sum(any(map(str.isalnum, word)) for line in lines for word in line.split())


@pytest.mark.parametrize("folder", MAXIMUM_WORDS)
def test_pages_are_short(folder: str) -> None:
    pages = {page.stem: word_count(page) for page in (ROOT / "docs" / folder).glob("*.md")}
    longer = {f"{folder}/{name}": count for name, count in pages.items() if count > MAXIMUM_WORDS[folder]}
    assert not longer, f"over {MAXIMUM_WORDS[folder]} words: {longer}"


def test_words_leave_out_blocks_and_tables(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Two words\n\n```\nnot these\n```\n\n| nor | these |\n| --- | --- |\n\n* a `b` – c\n", "utf-8")
    assert word_count(page) == 5


def options(words: tuple[str, ...]) -> set[str]:
    """The options of a command, as they are written."""
    return {
        text
        for parameter in COMMANDS[words].params
        for text in (*parameter.opts, *parameter.secondary_opts)
        if text.startswith("-")
    } | {"-h", "--help", "--version"}


def test_every_verb_has_a_section() -> None:
    page = ROOT / "docs" / "reference" / "verbs.md"
    assert {words[0] for words in COMMANDS if words} <= anchors(page)


def commands(page: Path) -> list[str]:
    """The commands that a page shows, without the program's name."""
    text = re.sub(r"^```python.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = text.replace("\\\n", " ")
    shown = re.findall(r"^ *(?:\$ )?caretbench +([a-z].*)$|`caretbench +([a-z][^`]*)`", text, re.MULTILINE)
    return ["".join(parts) for parts in shown]


def test_every_command_that_is_shown_exists() -> None:
    for page, line in [(one, line) for one in PAGES for line in commands(one)]:
        spoken = re.sub(r"\s(?:#|&&|;|\|)\s.*$", "", line)
        words = shlex.split(re.sub(r"[\[\]|…]", " ", spoken))
        called = next(tuple(words[:length]) for length in (2, 1, 0) if tuple(words[:length]) in COMMANDS)
        assert called, f"{page.name}: no such verb: caretbench {line}"
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= options(called), f"{page.name}: {sorted(given - options(called))}: caretbench {line}"


def section(page: Path, heading: str) -> str:
    """The text below a heading, up to the next one of its level."""
    level = heading.split(" ", 1)[0]
    _, _, text = page.read_text("utf-8").partition(f"\n{heading}\n")
    assert text, f"{page.name} has no section {heading!r}"
    return re.split(rf"^{level} ", text, maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize(
    ("heading", "models"),
    [
        ("## manifest.json", (Manifest, ModelInfo)),
        ("## problems.jsonl", (Problem,)),
        ("## completions.jsonl", (Completion, Usage, Latency)),
        ("## errors.jsonl", (MissingSample,)),
        ("## asked.jsonl", (BuildAnswer, MissingBuildAnswer)),
        ("## judgements.jsonl", (Judgement,)),
        ("## judge_errors.jsonl", (MissingJudgement,)),
        ("## human_ratings.jsonl", (HumanRating,)),
        ("## Files of a release", (ReleasedText,)),
        ("## scores.jsonl", (Score,)),
        ("## validity.jsonl", (Validity,)),
    ],
)
def test_every_field_of_every_file_is_explained(heading: str, models: tuple[type[BaseModel], ...]) -> None:
    text = section(ROOT / "docs" / "reference" / "files.md", heading)
    for model in models:
        missing = [name for name in model.model_fields if f"`{name}`" not in text]
        assert not missing, f"{heading}: fields of {model.__name__} that the page lacks: {missing}"


def test_the_settings_of_a_server_are_explained() -> None:
    text = section(ROOT / "docs" / "reference" / "files.md", "### Settings")
    identity = ServerFindings("model", fill="openai", unsent=("top_p",)).identity()
    for name in ("model", "provider", "address", "arguments", *identity):
        assert f"`{name}`" in text, name


def test_statuses_and_flags_are_explained() -> None:
    page = ROOT / "docs" / "reference" / "statuses.md"
    for status in Status:
        assert f"| `{status.value}` |" in section(page, "## Statuses")
    for name in FLAGS:
        assert f"| `tamper:{name}` |" in section(page, "## Flags")


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8").replace("NAME", "devbench")
    files = [f"/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "src").rglob("*.py")]
    for name in re.findall(r"`([a-z_/]+\.py)`", text):
        assert any(path.endswith(f"/{name}") for path in files), f"no file is called {name}"
    for name in re.findall(r"`([a-z_/]+/)`", text):
        assert any(f"/{name}" in path for path in files), f"no folder is called {name}"


def room_of(parts: Sequence[str]) -> str:
    """The room of a module by its path below the package: a folder or a module; those of a wing are named with it."""
    source = ROOT / "src" / "caretbench"
    if parts[0] == "suites" and parts[2:3] == ["build"]:
        return "suites/build"
    wing, *below = parts
    if wing not in ("build", "people") or below in ([], ["__init__"]):
        return wing
    place = source / wing / below[0]
    return f"{wing}/{below[0]}" if place.is_dir() or place.with_suffix(".py").exists() else wing


def imported(text: str) -> Iterator[str]:
    """The rooms that a module imports from."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "caretbench":
            _, *below = (node.module or "").split(".")
            yield from (room_of([*below, alias.name]) for alias in node.names)


def test_every_refused_system_call_is_named() -> None:
    """One section has them all, and none that is allowed."""
    text = section(ROOT / "docs" / "reference" / "isolation.md", "## Refused system calls")
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("| ")][1:]
    named = set(re.findall(r"`([a-z0-9_]+)`", " ".join(rows)))
    refused = {name for machine in system_call_numbers().values() for name in machine.refused}
    partly = {"clone", "ioctl", "setsockopt"}
    assert named == refused | partly


def test_the_suffixes_of_programs_of_ones_own_are_those_of_the_languages() -> None:
    page = (ROOT / "docs/how-to/devbench.md").read_text("utf-8")
    line = next(line for line in page.splitlines() if line.startswith("Suffixes are "))
    assert re.findall(r"`(\.\w+)`", line) == [get_language(name).suffix for name in languages()]


def test_rooms_import_only_from_rooms_below() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    [order] = re.findall(r"^```\n(cli > .*?)```", page, re.MULTILINE | re.DOTALL)
    floors = [re.findall(r"[\w/]+", floor) for floor in order.split(">")]
    rank = {room: number for number, rooms in enumerate(floors) for room in rooms}
    source = ROOT / "src" / "caretbench"
    for path in source.rglob("*.py"):
        room = room_of([*path.relative_to(source).with_suffix("").parts])
        # EFCB's starter set is built at its first use: stored, it would be 7 MB.
        if room in ("__init__", "__main__") or any(part.startswith("starter") for part in path.parent.parts):
            continue
        for other in {*imported(path.read_text("utf-8"))} - {room}:
            assert {room, other} <= rank.keys(), f"{room} or {other} has no place in CONTRIBUTING.md"
            assert rank[other] > rank[room], f"{path.relative_to(ROOT)} imports {other}"


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def devbench_languages() -> int:
    """The number of languages of DevBench's starter set."""
    return len({problem.labels["language"] for problem in load_suite("devbench").load("starter").problems})


@pytest.mark.parametrize(
    ("page", "phrase", "count"),
    [
        ("README.md", r"(?m)^## (\w+) suites$", lambda: sum(folder != "fim" for folder in built_in().values())),
        ("README.md", r"completes a program, in (\w+) categories and languages", lambda: len(cell_categories())),
        ("README.md", r"in (\w+) scenarios of a developer", lambda: len(ScenarioShares.model_fields)),
        ("docs/how-to/devbench.md", r"DevBench has (\w+) developer-derived categories", lambda: len(cell_categories())),
        ("docs/how-to/devbench.md", r"developer-derived categories in (\w+) languages", devbench_languages),
        ("docs/explanation/comparison.md", r"CaretBench runs (\w+)\.", lambda: len(languages())),
    ],
)
def test_counts_that_pages_name(page: str, phrase: str, count: Callable[[], int]) -> None:
    [found] = re.findall(phrase, (ROOT / page).read_text("utf-8"))
    assert found.lower() == _NUMBERS[count()]


def test_every_suite_baseline_policy_and_profile_is_documented() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    policies = (ROOT / "docs/reference/policies.md").read_text("utf-8")
    pages = "".join(page.read_text("utf-8") for page in PAGES if "docs" in page.parts)
    for name in suite_names():
        page = "conventional" if built_in()[name] == "fim" else name
        assert f"docs/how-to/{page}.md" in readme
        suite = load_suite(name)
        assert not [one for one in suite.baselines if f"`{one}`" not in pages], f"baselines of {name}"
    assert not [name for name in policy_names() if f"`{name}`" not in policies]
