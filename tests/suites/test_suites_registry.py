"""Suites of other packages: a broken one is named, and takes nothing from the others."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from typer.testing import CliRunner

from caretbench import build_problems, suites
from caretbench.build import load_builder, register_builder, usable_builders
from caretbench.build.builder import Builder
from caretbench.build.validation.program_gate import ProgramGate
from caretbench.cli import app
from caretbench.errors import DataError
from caretbench.plugins import PluginError
from caretbench.problem import PredicateCheck
from caretbench.reports.report_source import ReportSource
from caretbench.suites import load_suite, suite_names, usable_suites
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import ProblemSet, Table
from tests.support.make_problem import MakeProblem
from tests.support.report_runs import make_run


class Install(Protocol):
    def __call__(self, name: str, source: str, builder: str = "") -> None: ...


BROKEN = {
    "raises": ("raise RuntimeError('no licence')", "cannot be loaded: RuntimeError: no licence"),
    "lacking": (
        "from caretbench import Suite\nclass It(Suite):\n    name = 'lacking'",
        "its class lacks title, about, strata, load",
    ),
    "other": ("It = 3", "it is no class derived from caretbench.Suite"),
}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package with one suite, as pip does: the suite's name, and the module."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    known = dict(suites._registered)
    loaded = set(sys.modules)

    def put(name: str, source: str, builder: str = "") -> None:
        site = tmp_path / name
        metadata = site / f"{name}_suite-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-suite\nVersion: 1.0\n")
        points = f"[caretbench.suites]\n{name} = {name}_module:It\n"
        if builder:
            points += f"[caretbench.builders]\n{name} = {name}_module:{builder}\n"
        (metadata / "entry_points.txt").write_text(points)
        (site / f"{name}_module.py").write_text(textwrap.dedent(source))
        sys.path.insert(0, str(site))

    yield put
    for module in {one for one in sys.modules if one.endswith("_module")} - loaded:
        del sys.modules[module]
    for name in suites._registered.keys() - known.keys() - set(suites.built_in()):
        del suites._registered[name]
    load_suite.cache_clear()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_suite_is_named_and_the_others_work(name: str, install: Install) -> None:
    source, message = BROKEN[name]
    install(name, source)
    found, errors = usable_suites()
    assert {one.name for one in found} >= {"devbench", "simcopilot", "efcb"}
    assert [message in str(error) for error in errors] == [True]
    listed = CliRunner().invoke(app, ["list"])
    assert listed.exit_code == 0
    assert message in listed.stderr
    with pytest.raises(PluginError, match=f"plug-in {name} "):
        load_suite(name)


def test_a_suite_with_a_name_of_ours_is_refused_alone(install: Install) -> None:
    install("devbench", "It = 3")
    refused: list[PluginError] = []
    assert suite_names(refused.append)[:3] == ("devbench", "simcopilot", "efcb")
    assert "'devbench' already" in str(refused[0])
    assert load_suite("devbench").title == "DevBench"


def test_a_suite_that_builds_nothing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(load_builder("devbench")), "about", "")
    done = CliRunner().invoke(app, ["build", "devbench", "x"])
    assert isinstance(done.exception, ValueError)
    assert ": simcopilot, efcb" in str(done.exception)


PLAIN = """
from caretbench import Suite

class It(Suite):
    name, title, about, strata = "plain", "Plain", "a suite without a builder", ("language",)

    def load(self, source):
        raise NotImplementedError

    def make_request(self, problem, text, profile):
        raise NotImplementedError
"""


def test_a_suite_of_another_package_needs_no_builder(install: Install) -> None:
    """It builds and pulls nothing, and says so; its gate is the one for programs."""
    install("plain", PLAIN)
    for verb, message in (("build", "Plain builds no problems of its own"), ("pull", "nothing to pull for 'plain'")):
        done = CliRunner().invoke(app, [verb, "plain"])
        assert isinstance(done.exception, ValueError)
        assert message in str(done.exception)
    with pytest.raises(ValueError, match="Plain builds no problems of"):
        build_problems("plain", ["x"])
    assert type(load_builder("plain")) is Builder
    assert type(load_builder("plain").gate(FakeExecutor, lambda _count: None)) is ProgramGate  # type: ignore[arg-type]


class FakeExecutor:
    programs = None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("3", "it is no class derived from caretbench.Builder"),
        ("type('Other', (Builder,), {'name': 'other'})", "its name is 'other'; the entry point must have the same"),
    ],
)
def test_a_broken_builder_is_named_and_its_suite_runs(install: Install, value: str, message: str) -> None:
    install("plain", f"{PLAIN}\nfrom caretbench import Builder\nBroken = {value}\n", "Broken")
    assert load_suite("plain").title == "Plain"
    with pytest.raises(PluginError, match=f"plug-in plain .*: {message}"):
        load_builder("plain")
    assert "devbench" in {one.suite.name for one in usable_builders()}


def test_a_suite_has_one_builder() -> None:
    class Second(Builder):
        name = "devbench"

    load_builder("devbench")
    with pytest.raises(PluginError, match=r"'devbench' in .*: caretbench\.suites\.devbench\.build\.builder"):
        register_builder(Second)


@pytest.mark.parametrize("name", suites.built_in())
def test_a_suite_runs_without_its_builder(name: str) -> None:
    """Loading it loads nothing of the build wing."""
    # EFCB's starter set (7 MB) is not stored: it is built from a generated repository at first use. Conventional
    # benchmarks have none, and the projects of the record are fetched.
    problems = "" if suites.built_in()[name] in ("efcb", "fim", "record") else ".load('starter')"
    program = (
        "import sys\nfrom caretbench.suites import load_suite\n"
        f"load_suite({name!r}){problems}\n"
        "print(*[one for one in sys.modules if wing(one) != 'run' and one.startswith('caretbench.')])"
    )
    program = "from benchmarks.structure import wing\n" + program
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_predicates_are_measured_by_default(make_problem: MakeProblem) -> None:
    class Short(Suite):
        name, title, about, strata = "short", "Short", "answers are short", ("language",)

        def load(self, source):  # type: ignore[no-untyped-def]
            raise NotImplementedError

        def make_request(self, *_arguments):  # type: ignore[no-untyped-def]
            return None

        def failed_predicates(self, _problem, text):  # type: ignore[no-untyped-def]
            return ["too long"] if len(text) > 3 else []

    problem = make_problem().model_copy(update={"checks": (PredicateCheck(name="short"),)})
    (measured,) = Short().measure(problem, "long text", "default")
    assert (measured.values, measured.details) == ({"passed": 0.0}, {"missing": "too long"})
    assert Short().measure(problem, "x", "default")[0].values == {"passed": 1.0}
    assert Short().measure(make_problem(), "x", "default") == []


class Foreign(Suite):
    """A suite of another package whose table cannot be made."""

    name = "foreign"
    title = "Foreign"
    about = "Raises."
    strata = ("language",)

    def load(self, source: str) -> ProblemSet:
        raise NotImplementedError

    def make_request(self, *_: object, **__: object) -> None:
        raise NotImplementedError

    def result_tables(self, *_: object) -> tuple[Table, ...]:
        raise RuntimeError("no column 'size'")


def test_a_hook_that_fails_names_its_suite_and_itself() -> None:
    source = ReportSource(make_run(per_cell=1), suite=Foreign())
    with pytest.raises(DataError, match=r"'foreign' .*result_tables: RuntimeError"):
        _ = source.suite_tables
