"""Editions of the record: built, pulled, loaded, verified, compared, and each failure in one line."""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.api import load_suite
from caretbench.build import load_builder
from caretbench.errors import DataError
from caretbench.execution.dispatcher import open_executor
from caretbench.files import read_rows
from caretbench.people.releases.record_editions import edition_difference, export_edition
from caretbench.progress import Progress
from caretbench.suites.record.build.builder import locked_packages
from caretbench.suites.record.build.recipe import read_recipe, resolve
from caretbench.suites.record.build.selection import is_answer, is_sensible
from caretbench.suites.record.edition import RecordTask, numbers, numbers_text
from tests.support.project_files import open_folder

SOURCE = '''\
def price(orders, limit, _rate=9):
    """Return what orders cost; large ones are cheaper."""
    found = 0
    for order in orders:
        if order > limit:
            found += round(order * _rate / 10)
        else:
            found += order
    return found


def words(text):
    """Return the number of each word."""
    counts = {}
    for word in text.split():
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    return counts
'''
TESTS = """\
import unittest

from shop import price, words


class ShopTest(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price([10, 200, 30], 100), 220)
        self.assertEqual(price([], 3), 0)

    def test_words(self):
        self.assertEqual(words("a b a"), {"a": 2, "b": 1})
        self.assertEqual(words(""), {})
"""
ENTRY = """
[[projects]]
name = "{name}"
language = "python"
licence = "MIT"
licence_source = "LICENSE"
date = "2026-01-01"
source = "https://example.invalid/{name}.tar.gz"
sha256 = "{digest}"
why = "small"
[[projects.checks]]
command = "python3 -m unittest discover -f"
"""


def archive(path: Path, files: dict[str, str]) -> str:
    """Write an archive and return its hash."""
    root = path.parent / "files" / path.name.removesuffix(".tar.gz")
    root.mkdir(parents=True)
    for name, text in files.items():
        (root / name).write_text(text)
    with tarfile.open(path, "w:gz") as packed:
        packed.add(root, root.name)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def mirror() -> Iterator[Path]:
    """A folder with the archive of a project, its recipe, and a cache of its own."""
    with open_folder() as folder:
        digest = archive(folder / "shop.tar.gz", {"shop.py": SOURCE, "test_shop.py": TESTS, "LICENSE": "MIT"})
        head = 'edition = "2026.1"\ncanary = "none"\nspans = 8\nproblems = 6\ninstructed = 1.0\n'
        head += 'kinds = ["blocks", "instructions"]\n'
        gone = ENTRY.format(name="gone", digest="0" * 64)
        (folder / "recipe.toml").write_text(head + ENTRY.format(name="shop", digest=digest) + gone)
        yield folder


def built(mirror: Path, name: str, seed: str, zone: str) -> Path:
    """Build the edition with an empty cache, under a hash seed and a time zone."""
    output = mirror / name
    environment = {"CARETBENCH_CACHE": str(mirror / f"cache-{name}"), "PYTHONHASHSEED": seed, "TZ": zone}
    words = ["build", "record", mirror / "recipe.toml", "-o", output, "--mirror", mirror, "-j", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "caretbench", *map(str, words)],
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gone: https://example.invalid/gone.tar.gz:" in done.stderr
    return output


@pytest.fixture(scope="module")
def edition(mirror: Path) -> Path:
    return built(mirror, "first", "1", "UTC")


@pytest.fixture
def cache(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of the first build."""
    monkeypatch.setenv("CARETBENCH_CACHE", str(mirror / "cache-first"))
    return mirror / "cache-first"


@pytest.mark.long
def test_two_builds_have_the_same_bytes(mirror: Path, edition: Path) -> None:
    other = built(mirror, "second", "77", "Asia/Tokyo")
    for name in ("tasks.jsonl", "projects.jsonl", "locks.jsonl", "recipe.toml"):
        assert (edition / name).read_bytes() == (other / name).read_bytes()


def test_a_built_edition_is_loaded_without_its_texts_in_the_rows(edition: Path, cache: Path) -> None:
    del cache
    problems = load_suite("record").load(str(edition)).problems
    rows = {row.id: row for row in read_rows(edition / "tasks.jsonl", RecordTask)}
    assert problems
    for problem in problems:
        data = SOURCE.encode()
        row = rows[problem.id]
        assert problem.labels["date"] == "2026-01-01"
        assert problem.reference not in (edition / "tasks.jsonl").read_text() or len(problem.reference) < 20
        if not row.renamed:
            assert problem.reference.encode() == data[row.start : row.end]
            assert problem.caret.prefix.encode() == data[: row.start]
        of_build = problem.model_copy(update={"labels": {**problem.labels, "answer": "code"}})
        assert is_sensible(of_build, 0.9)
        assert not is_sensible(of_build.model_copy(update={"reference": 'return "NULL"'}), 0.9)
    renamed = [problem for problem in problems if rows[problem.id].renamed]
    assert renamed
    assert all("the_" in problem.reference and "def price(" in f"{problem.caret.prefix}" for problem in renamed)


def test_instructions_are_a_set_of_their_own_and_ask_for_extent_and_tests(edition: Path, cache: Path) -> None:
    del cache
    suite = load_suite("record")
    blocks = {problem.id for problem in suite.load(str(edition)).problems}
    asked = suite.load(f"{edition}-instructions")
    assert asked.name == f"{edition.name}-instructions"
    assert asked.problems
    assert not blocks & {problem.id for problem in asked.problems}
    for problem in asked.problems:
        assert problem.caret.instruction
        assert problem.caret.prefix + problem.reference + problem.caret.suffix == SOURCE
        assert not suite.failed_predicates(problem, problem.reference)
        # One statement more is no longer what was asked for, whatever the tests say.
        longer = f"{problem.reference.rstrip()}\n\nlimit = 3\n"
        values = [one.values for one in suite.measure(problem, longer, "default") if "passed" in one.values]
        assert values == [{"passed": 0.0}]
        blind = suite.baselines["blind-scale"](problem)
        assert blind is not None
        assert not suite.failed_predicates(problem, blind)


def test_a_folder_may_be_called_like_instructions(edition: Path, cache: Path) -> None:
    del cache
    named = edition.parent / "my-instructions"
    shutil.copytree(edition, named)
    suite = load_suite("record")
    blocks, asked = suite.load(str(named)), suite.load(f"{named}-instructions")
    assert not any(problem.caret.instruction for problem in blocks.problems)
    assert all(problem.caret.instruction for problem in asked.problems)


def test_verification_runs_references_and_masks(edition: Path, cache: Path) -> None:
    del cache
    result = load_builder("record").verify(str(edition), 0, 0, lambda: open_executor(1, use_cache=False), Progress())
    assert (result.numbers["failing_references"], result.numbers["passing_masks"]) == (0, 0)
    assert result.numbers["same"] == result.numbers["problems"]
    assert result.usable


def test_what_is_not_here_is_a_line_and_pull_fetches_it(
    edition: Path, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    with pytest.raises(DataError, match=r"^first: shop: not here; caretbench pull record fetches it$"):
        load_suite("record").load(str(edition))
    notes: list[str] = []
    numbers_here = load_builder("record").pull_edition(str(edition), str(mirror), lambda *_: None, notes.append)
    assert (numbers_here, notes) == ((1, 1), [])
    assert load_suite("record").load(str(edition)).problems
    # Somebody edits a file of the project in the cache.
    for place in (tmp_path / "data" / "record" / "projects").glob("*/shop/test_shop.py"):
        place.write_text(TESTS + "\n")
    with pytest.raises(DataError, match=r"^first: shop: .*other files"):
        load_suite("record").load(str(edition))


def test_an_archive_that_nobody_has_is_one_line(edition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path))
    changed = tmp_path / "mirror"
    changed.mkdir()
    (changed / "shop.tar.gz").write_bytes(b"another")
    with pytest.raises(DataError) as caught:
        load_builder("record").pull_edition(str(edition), str(changed), lambda *_: None, lambda _line: None)
    message = str(caught.value)
    assert message.startswith("shop: https://example.invalid/shop.tar.gz: not downloaded")
    assert "shop.tar.gz (SHA-256 " in message
    assert "\n" not in message


def test_editions_differ_by_rows_and_are_exported(edition: Path, tmp_path: Path, cache: Path) -> None:
    del cache
    lines = (edition / "tasks.jsonl").read_text().splitlines(keepends=True)
    later = tmp_path / "later"
    later.mkdir()
    (later / "recipe.toml").write_bytes((edition / "recipe.toml").read_bytes())
    for name in ("projects.jsonl", "locks.jsonl"):
        (later / f"{name}.xz").write_bytes(lzma.compress((edition / name).read_bytes()))
    (later / "tasks.jsonl").write_text("".join(lines[1:]))
    found = edition_difference(str(edition), str(later))
    assert (len(found.removed), found.same, found.added) == (1, len(lines) - 1, ())
    export_edition(str(edition), tmp_path / "hub")
    text = "".join(path.read_text() for path in (tmp_path / "hub").rglob("*") if path.is_file())
    assert "Return what orders cost" not in text
    assert "licence" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('licence = "MIT"', 'licence = "GPL-3.0-only"'), "only permissive ones are taken"),
        (('source = "https://example.invalid/shop.tar.gz"', 'source = "shop"'), "expected pypi:NAME==VERSION"),
        (('language = "python"', 'language = "klingon"'), "unknown language 'klingon'"),
        (('date = "2026-01-01"', 'date = "May"'), "date"),
    ],
)
def test_faults_of_a_recipe(mirror: Path, tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text((mirror / "recipe.toml").read_text().replace(*change, 1))
    with pytest.raises(DataError, match=message):
        read_recipe(path)


def test_ranges_of_numbers() -> None:
    assert numbers_text([7, 0, 1, 2, 3]) == "0-3,7"
    assert numbers("0-3,7") == [0, 1, 2, 3, 7]


def test_answers_of_brackets_and_one_name_are_trivial() -> None:
    texts = ("return s;\n}", "(dot);", "return 'NULL'", "] ] != -1", "i += 1", "f(a, b)")
    assert [text for text in texts if is_answer(text)] == ["i += 1", "f(a, b)"]


def test_a_lock_of_other_projects_hides_no_packed_one(tmp_path: Path) -> None:
    digest = "0" * 64
    entries = "".join(
        ENTRY.format(name=name, digest=digest).replace("[[projects.checks]]", 'packages = ["six"]\n[[projects.checks]]')
        for name in ("shop", "till")
    )
    (tmp_path / "recipe.toml").write_text('edition = "2026.1"\ncanary = "none"\n' + entries)
    row = (
        '{{"project": "{}", "index": "pypi", "name": "six", "version": "{}", "file": "six", "sha256": "'
        + digest
        + '"}}\n'
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "locks.jsonl").write_text(row.format("till", "1.17"))
    packed = row.format("till", "1.15") + row.format("shop", "1.16")
    (tmp_path / "locks.jsonl.xz").write_bytes(lzma.compress(packed.encode()))
    locks = locked_packages(read_recipe(tmp_path / "recipe.toml"), (tmp_path / "out", tmp_path))
    assert {name: [one.version for one in packages] for name, packages in locks.items()} == {
        "shop": ["1.16"],
        "till": ["1.17"],
    }


def test_a_version_that_the_index_does_not_have_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    lines = (
        "npm error code ETARGET",
        "npm error notarget No matching version found for has-typed-arrays@1.0.0.",
        "npm error A complete log of this run can be found in: /home/me/.npm/_logs/1-debug-0.log",
    )
    npm.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in lines) + "exit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(DataError) as caught:
        resolve("traverse", "javascript", ["has-typed-arrays@1.0.0"])
    assert "for has-typed-arrays@1.0.0" in str(caught.value)
    assert "_logs" not in str(caught.value)
