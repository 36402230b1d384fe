"""Sets that are not released: hold-outs, runs, faults, edits, and secrets in every text that would be passed on."""

import json
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.files import write_rows
from caretbench.people.releases.release import ReleaseOptions, release_set
from caretbench.problem import Caret, InlineSplice, Problem, ProgramCheck, Provenance
from tests.support.built_sets import write_programs, write_set

KEY = "ghp_" + "a1B2" * 9
MINE = ReleaseOptions(licence="MIT")


def assert_refused(built: Path, *messages: str, options: ReleaseOptions = MINE) -> None:
    output = built.with_name("out")
    with pytest.raises(DataError) as error:
        release_set(built, output, options)
    for message in messages:
        assert message in str(error.value)
    assert KEY not in str(error.value)
    assert not output.exists()


def test_a_secret_in_hidden_tests_is_refused_with_problem_kind_line_and_remedy(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    file = built / "python/api_usage/program-0.py"
    file.write_text(f"{file.read_text('utf-8')}TOKEN = '{KEY}'\n", "utf-8")
    assert_refused(built, "python/api_usage/program-0.py:6: an access key of a provider", "replace it by a placeholder")


@pytest.mark.parametrize("place", ["prefix", "reference", "suffix", "tests"])
def test_a_secret_in_any_text_of_a_program_is_refused(tmp_path: Path, place: str) -> None:
    built = tmp_path / "mine"
    texts = {"prefix": "a = 1\n", "reference": "b = 2", "suffix": "\nc = 3\n", "tests": "assert c == 3\n"}
    texts[place] = texts[place].rstrip("\n") + f" # {KEY}\n"
    file = built / "python/low_context/a.py"
    file.parent.mkdir(parents=True)
    file.write_text("{prefix}⟦{reference}⟧{suffix}⟦tests⟧\n{tests}".format(**texts), "utf-8")
    assert_refused(built, "python/low_context/a.py:", "an access key of a provider")


def test_a_secret_that_a_mark_divides_is_refused(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    (built / "python/low_context/b.py").write_text(f"key = '{KEY[:9]}⟦{KEY[9:]}⟧'\n", "utf-8")
    assert_refused(built, "python/low_context/b.py:1: an access key")


@pytest.mark.parametrize("field", ["justification", "library"])
def test_a_secret_in_a_row_is_refused(tmp_path: Path, field: str) -> None:
    built = write_set(tmp_path / "mine", lambda row: row | {field: f"uses {KEY}"})
    assert_refused(built, f"instances.jsonl, go/api_usage/program-0, {field}:1: an access key", "and 11 more")


def test_a_secret_in_a_row_of_another_suite_is_refused(tmp_path: Path) -> None:
    built = tmp_path / "mine"
    problem = Problem(
        id="shop/1",
        suite="c3bench",
        shown=Caret(language="python", prefix="a = 1\n", suffix="\n"),
        splice=InlineSplice(before=f"k = '{KEY}'\na = 1\n", after="\n"),
        reference="b",
        checks=(ProgramCheck(),),
        cluster="shop",
        provenance=Provenance(source="shop", licence="MIT"),
    )
    write_rows(built / "problems.jsonl", [problem])
    assert_refused(built, "problems.jsonl, shop/1, program:1: an access key")


def test_names_of_persons_are_a_note(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    file = built / "python/api_usage/program-0.py"
    file.write_text(f"{file.read_text('utf-8')}# by Susan Calder\n", "utf-8")
    found = release_set(built, tmp_path / "out", MINE)
    assert found.public.figures.private_texts == 1
    assert any("program-0.py:6: the" in line for line in found.notes)


def test_a_file_that_changed_after_its_checks_is_refused(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    file = built / "go/api_usage/program-0.go"
    file.write_text(file.read_text("utf-8").replace("a*b", "b*a"), "utf-8")
    assert_refused(
        built, "1 problem (go/api_usage/program-0) changed after the checks", f"build devbench -o {built}` again"
    )


def test_a_problem_with_a_known_fault_is_refused(tmp_path: Path) -> None:
    fault = {"parse": "ok", "gate": "reference_fails: failed"}
    built = write_set(
        tmp_path / "mine", lambda row: row | ({"checks": fault} if row["id"].endswith("usage/program-1") else {})
    )
    assert_refused(
        built, "2 problems (go/api_usage/program-1, python/api_usage/program-1) with a fault",
        "(go/api_usage/program-1: gate: reference_fails: failed)", "mend or delete the files",
    )  # fmt: skip


def test_a_problem_that_this_machine_could_not_run_is_released_and_counted(tmp_path: Path) -> None:
    """``build --unverified`` keeps these when it is asked to."""
    found = release_set(write_set(tmp_path / "mine"), tmp_path / "out", ReleaseOptions())
    assert found.public.figures.checks["gate"] == {"fault": 4, "ok": 12}
    assert "4 programs never" in (tmp_path / "out/datasheet.md").read_text("utf-8")


def test_a_hold_out_is_refused_unless_it_is_asked_for(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    release_set(built, tmp_path / "1.0.0", ReleaseOptions(holdout=0.5))
    held = tmp_path / "1.0.0-holdout"
    assert_refused(held, "it is the hold-out of a release", "--publish-holdout")
    found = release_set(held, tmp_path / "out", ReleaseOptions(publish_holdout=True))
    assert found.public.figures.problems == 8
    assert found.public.part == "public"


def test_a_run_is_refused(tmp_path: Path) -> None:
    """The problems of a run on events of an editor are code of its users."""
    built = write_set(tmp_path / "mine")
    (built / "completions.jsonl").write_text(json.dumps({}) + "\n")
    assert_refused(built, "it is a run", "folder of a build")
