import json
import os
import re
from pathlib import Path

import pytest

from caretbench.build.validation.reviewed import problem_hash
from caretbench.errors import DataError
from caretbench.files import sha256_file, sha256_text, write_rows
from caretbench.people.releases import release as release_module
from caretbench.people.releases.release import ReleaseOptions, holdout_folder, release_set
from caretbench.people.releases.release_files import file_hashes, mark_program
from caretbench.problem import Caret, FileSplice, Problem, Provenance, TestsCheck
from caretbench.suites import load_suite
from caretbench.suites.c3bench.suite import starter_folder
from caretbench.suites.devbench import starter
from tests.support.built_sets import CANARY, PAID_ANSWER, every_id, read_jsonl, write_programs, write_review, write_set

HALF = ReleaseOptions(holdout=0.5)


def every_byte(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_release_is_a_set_that_shows_the_same_texts(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    release_set(built, tmp_path / "out", HALF)
    before = {one.id: one for one in load_suite("devbench").load(str(built)).problems}
    after = [*load_suite("devbench").load(str(tmp_path / "out")).problems]
    after += load_suite("devbench").load(str(tmp_path / "out-holdout")).problems
    assert sorted(one.id for one in after) == sorted(before)
    for one in after:
        old = before[one.id]
        for name in ("shown", "reference", "checks", "labels", "cluster"):
            assert getattr(one, name) == getattr(old, name)
        added = one.splice.after.removeprefix(old.splice.after)
        assert re.fullmatch(r"(#|//) " + re.escape(CANARY) + "\n", added)


@pytest.mark.parametrize("kind", ["file", "folder", "pipe"])
def test_links_and_pipes_are_refused(tmp_path: Path, kind: str) -> None:
    built = write_set(tmp_path / "mine")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("a = ⟦1⟧\n")
    place = next(path for path in built.rglob("*.py")).parent
    if kind == "file":
        (place / "x.py").symlink_to(tmp_path / "outside" / "x.py")
    elif kind == "folder":
        (built / "java2").symlink_to(tmp_path / "outside")
    else:
        os.mkfifo(place / "x.py")
    with pytest.raises(DataError, match=r"it is a link|it is no plain file"):
        release_set(built, tmp_path / "out", HALF)
    assert not (tmp_path / "out").exists()


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    release_set(built, tmp_path / "a", HALF)
    release_set(built, tmp_path / "b", HALF)
    release_set(built, tmp_path / "c", HALF._replace(seed=1))
    assert file_hashes(tmp_path / "a") == file_hashes(tmp_path / "b") != file_hashes(tmp_path / "c")
    assert file_hashes(tmp_path / "a-holdout") == file_hashes(tmp_path / "b-holdout")


def test_the_hold_out_and_paid_answers_are_in_no_byte_of_the_release(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    release_set(built, tmp_path / "out", HALF)
    public, held = (
        {row["id"]: row for row in read_jsonl(tmp_path / name / "texts.jsonl")} for name in ("out", "out-holdout")
    )
    assert len(held) == len(public) == len(every_id()) / 2
    released = every_byte(tmp_path / "out").decode()
    assert PAID_ANSWER not in released
    assert not [name for name in held if name in released]
    assert not [row["reference"] for row in held.values() if f"{row['reference']}\n" in released]
    assert all(row["sibling"] in (None, *public) for row in public.values())


def test_rows_have_the_texts_and_the_facts(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine", lambda row: row | {"licence": None})
    release_set(built, tmp_path / "out", ReleaseOptions(licence="Apache-2.0"))
    stated = {row["id"]: row for row in read_jsonl(built / "instances.jsonl")}
    instances = {row["id"]: row for row in read_jsonl(tmp_path / "out" / "instances.jsonl")}
    assert [*instances] == sorted(stated)
    for row in read_jsonl(tmp_path / "out" / "texts.jsonl"):
        text = (tmp_path / "out" / row["path"]).read_text("utf-8")
        facts = {"licence": "Apache-2.0", "text_hash": sha256_text(text)}
        assert instances[row["id"]] == stated[row["id"]] | facts
        own = {"language", "category", "path", "prefix", "reference", "suffix", "tests", "canary"}
        assert {name: value for name, value in row.items() if name not in own}.items() <= (
            {"licence": "Apache-2.0"} | {k: v for k, v in instances[row["id"]].items() if k in row}
        ).items()
        shown = f"{row['prefix']}⟦{row['reference']}⟧{row['suffix']}"
        assert text.startswith(shown[:-1])
        assert row["tests"] in text
        assert row["canary"] == CANARY


def test_checksums_name_every_file(tmp_path: Path) -> None:
    release_set(write_set(tmp_path / "mine"), tmp_path / "out", HALF)
    for folder in (tmp_path / "out", tmp_path / "out-holdout"):
        lines = [line.split("  ", 1) for line in (folder / "checksums").read_text().splitlines()]
        files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        assert {name for _, name in lines} == files - {"checksums"}
        assert all(sha256_file(folder / name) == digest for digest, name in lines)


def test_a_folder_by_hand_is_released_and_says_what_is_unknown(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    found = release_set(built, tmp_path / "out", ReleaseOptions(licence="MIT", holdout=0.25))
    assert found.public.figures.without_row == 12
    assert (found.public.generation.attempts, found.public.generation.instances) == (None, None)
    assert any("instances.jsonl" in line for line in found.public.unknown)
    assert "## Unknown" in (tmp_path / "out" / "datasheet.md").read_text()
    assert re.search(r"caretbench canary [0-9a-f-]{36}", found.public.canary)


def test_what_people_rejected_is_not_released(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    hashes = {one.id: problem_hash(one) for one in starter.load(built)}
    gone = "go/api_usage/program-2"
    review = write_review(tmp_path / "review", {gone: "too-simple"}, hashes)
    found = release_set(built, tmp_path / "out", ReleaseOptions(review=review))
    assert found.public.figures.problems == len(every_id()) - 1
    assert found.public.review is not None
    assert not (tmp_path / "out" / f"{gone}.go").exists()


def test_problems_stay_in_their_part_over_versions(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    release_set(built, tmp_path / "1.0.0", HALF)
    write_programs(built, 40)
    later = ReleaseOptions(version="1.1.0", holdout=0.25, previous=tmp_path / "1.0.0", licence="MIT", seed=9)
    found = release_set(built, tmp_path / "1.1.0", later)
    ids = {
        name: {row["id"] for row in read_jsonl(tmp_path / name / "texts.jsonl")}
        for name in ("1.0.0", "1.0.0-holdout", "1.1.0", "1.1.0-holdout")
    }
    assert ids["1.0.0"] <= ids["1.1.0"]
    assert ids["1.0.0-holdout"] <= ids["1.1.0-holdout"]
    assert len(ids["1.1.0-holdout"]) == 40
    assert found.public.changes == {"added": len(ids["1.1.0"]) - 8, "removed": 0, "changed": 0}
    with pytest.raises(DataError, match="higher one"):
        release_set(built, tmp_path / "again", later._replace(version="1.0.0"))


def test_the_canary_of_the_earlier_version_is_kept(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    first = release_set(built, tmp_path / "1.0.0", ReleaseOptions(licence="MIT"))
    write_programs(built, 5)
    second = release_set(built, tmp_path / "1.1.0", ReleaseOptions("1.1.0", licence="MIT", previous=tmp_path / "1.0.0"))
    assert second.public.canary == first.public.canary


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ReleaseOptions(version="1.0"), "expected three numbers"),
        (ReleaseOptions(holdout=1.0), "expected a share"),
        (ReleaseOptions(holdout=0.001), "nothing can be held out"),
        (ReleaseOptions(review=Path("nowhere")), "review export"),
        (ReleaseOptions(previous=Path("nowhere")), "no such folder"),
    ],
)
def test_wrong_options_are_refused_and_leave_nothing(tmp_path: Path, options: ReleaseOptions, message: str) -> None:
    built = write_set(tmp_path / "mine")
    with pytest.raises(ValueError, match=message):
        release_set(built, tmp_path / "out", options)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("licence", "message"),
    [(None, "without a licence"), ("CC-BY-NC-ND-4.0", "allows no derivatives"), ("Proprietary", "not known to allow")],
)
def test_a_set_that_may_not_be_passed_on_is_refused(tmp_path: Path, licence: str | None, message: str) -> None:
    built = write_set(tmp_path / "mine", lambda row: row | {"licence": licence if "go/" in row["id"] else "MIT"})
    with pytest.raises(DataError, match=message) as error:
        release_set(built, tmp_path / "out", HALF)
    assert "8 problems (go/api_usage/program-0" in str(error.value)
    assert not (tmp_path / "out").exists()


def test_places_are_refused(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    with pytest.raises(DataError, match="inside of"):
        release_set(built, built / "out", HALF)
    with pytest.raises(DataError, match="/nowhere: no such"):
        release_set(tmp_path / "nowhere", tmp_path / "out", HALF)
    (tmp_path / "out-holdout").mkdir()
    with pytest.raises(DataError, match="written once"):
        release_set(built, tmp_path / "out", HALF)


def test_the_hold_out_is_never_inside_of_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1.0.0").mkdir()
    monkeypatch.chdir(tmp_path / "1.0.0")
    assert holdout_folder(Path()) == tmp_path / "1.0.0-holdout"
    assert holdout_folder(Path("../1.0.0/")) == tmp_path / "1.0.0-holdout"


def test_a_failure_leaves_no_half_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(sheet: object, folder: Path) -> None:
        assert [*folder.rglob("*.py")]
        raise OSError("no space left")

    monkeypatch.setattr(release_module, "write_description", fail)
    with pytest.raises(OSError, match="no space"):
        release_set(write_set(tmp_path / "mine"), tmp_path / "out", HALF)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_text_with_an_unusual_line_separator_is_released(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    file = built / "python/api_usage/program-0.py"
    file.write_text(f"# first\u2028second\x85third\n{file.read_text('utf-8')}", "utf-8")
    release_set(built, tmp_path / "out", ReleaseOptions(licence="MIT"))
    row = next(one for one in rows_of_file(tmp_path / "out/texts.jsonl") if one["id"] == "python/api_usage/program-0")
    assert row["prefix"].startswith("# first\u2028second\x85third\n")


def rows_of_file(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@pytest.mark.parametrize("licence", ["Apache-2.0", "MIT"])
def test_the_licence_option_says_to_which_problems_it_applies(tmp_path: Path, licence: str) -> None:
    built = write_set(tmp_path / "mine", lambda row: row | {"licence": None if row["id"].endswith("-3") else "MIT"})
    found = release_set(built, tmp_path / "out", ReleaseOptions(licence=licence))
    about = "4 problems (go/api_usage/program-3, go/low_context/program-3, python/api_usage/program-3, …)"
    assert f"--licence {licence} holds for {about}" in found.lines
    stated = write_set(tmp_path / "stated")
    found = release_set(stated, tmp_path / "out2", ReleaseOptions(licence=licence))
    assert f"--licence {licence} holds for no problem: all state theirs" in found.lines


def test_the_licence_option_is_examined_where_all_problems_state_theirs(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    with pytest.raises(DataError, match="--licence GPL: "):
        release_set(built, tmp_path / "out", ReleaseOptions(licence="GPL"))


@pytest.mark.parametrize("tests", ["⟦tests⟧\nassert f() == 1\n", "⟦tests⟧\nassert f() == 1", ""])
def test_the_canary_changes_no_shown_text(tests: str) -> None:
    text = f"def f():\n    return ⟦1⟧\n\n{tests}"
    marked = mark_program(text, "#", CANARY)
    assert starter.split_program(marked, "")[:3] == starter.split_program(text, "")[:3]
    assert marked.endswith(f"\n# {CANARY}\n")
    assert mark_program(marked, "#", CANARY) == marked


def test_a_program_whose_shown_text_would_change_stays_as_it_is() -> None:
    assert mark_program("return ⟦1⟧", "#", CANARY) == "return ⟦1⟧"


def test_rows_of_other_suites_are_released(tmp_path: Path) -> None:
    built = tmp_path / "c3"
    built.mkdir()
    rows = (starter_folder() / "problems.jsonl").read_text("utf-8").splitlines(keepends=True)[:40]
    (built / "problems.jsonl").write_text("".join(rows), "utf-8")
    (built / "manifest.json").write_text('{"schema_version": 1}')
    found = release_set(built, tmp_path / "out", ReleaseOptions(holdout=0.2, licence="MIT"))
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"problems.jsonl", "datasheet.json", "datasheet.md", "croissant.json", "checksums"}
    parts = [read_jsonl(tmp_path / name / "problems.jsonl") for name in ("out", "out-holdout")]
    assert sorted(row["id"] for part in parts for row in part) == sorted(json.loads(row)["id"] for row in rows)
    clusters = [{row["cluster"] for row in part} for part in parts]
    assert not clusters[0] & clusters[1]
    assert found.public.suite == "c3bench"
    assert "Canary, in the datasheet: " in (tmp_path / "out/datasheet.md").read_text()


def project_problem(number: int, snapshot: str) -> Problem:
    return Problem(
        id=f"shop/{number}",
        suite="simcopilot",
        shown=Caret(language="python", prefix=f"a = {number}\n", suffix="\n"),
        splice=FileSplice(snapshot=snapshot, path="shop.py", start=0, end=1),
        reference="b",
        checks=(TestsCheck(command=("pytest",)),),
        cluster=f"cluster {number}",
        provenance=Provenance(source="shop", licence="MIT"),
    )


def test_snapshots_go_with_their_problems_and_are_not_divided(tmp_path: Path) -> None:
    """A snapshot has the references of all its problems: none of them is held out alone."""
    built = tmp_path / "tasks"
    names = [f"abc{number}" for number in range(6)]
    for name in names:
        (built / "snapshots" / name).mkdir(parents=True)
        (built / "snapshots" / name / "shop.py").write_text(f"# {name}\n")
    write_rows(built / "problems.jsonl", (project_problem(number, names[number % 6]) for number in range(18)))
    release_set(built, tmp_path / "out", ReleaseOptions(holdout=0.34))
    held = {path.name for path in (tmp_path / "out-holdout" / "snapshots").iterdir()}
    assert len(held) == 2
    assert {path.name for path in (tmp_path / "out" / "snapshots").iterdir()} == {*names} - held


@pytest.mark.parametrize("name", ["abc", "..", "../../elsewhere", ""])
def test_a_missing_snapshot_is_an_error(tmp_path: Path, name: str) -> None:
    built = tmp_path / "one" / "tasks"
    for folder in (built / "snapshots", tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    write_rows(built / "problems.jsonl", [project_problem(1, name)])
    with pytest.raises(DataError, match=r"snapshot .* missing"):
        release_set(built, tmp_path / "out", ReleaseOptions())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("instances.jsonl", '{"id": ""}\n', r"instances.jsonl:1: id"),
        ("attempts.jsonl", "{}\n", r"attempts.jsonl:1: request"),
        ("asked.jsonl", "[]\n", r"asked.jsonl:1: expected a JSON object"),
        ("manifest.json", "[]", "expected a JSON object"),
        ("manifest.json", "{", "cannot be read"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    built = write_set(tmp_path / "mine")
    (built / name).write_text(text)
    with pytest.raises(DataError, match=message):
        release_set(built, tmp_path / "out", HALF)


@pytest.mark.parametrize(("share", "said"), [(0.5, False), (0.9, True)])
def test_a_share_that_cannot_be_held_out_is_said(tmp_path: Path, share: float, said: bool) -> None:
    found = release_set(write_set(tmp_path / "mine"), tmp_path / "out", ReleaseOptions(holdout=share))
    assert any(line.startswith(f"--holdout {share:g}: the share is another one") for line in found.lines) is said
