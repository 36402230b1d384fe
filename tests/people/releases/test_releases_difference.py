import json
from pathlib import Path

import pytest

from caretbench.people.releases.difference import ProblemVersion, folder_difference, version_difference
from caretbench.people.releases.release import ReleaseOptions, holdout_folder, release_set
from tests.support.built_sets import every_id, read_jsonl, write_programs, write_set


def difference(old: Path, new: Path):  # type: ignore[no-untyped-def]
    return folder_difference(old, new, holdout_folder(old), holdout_folder(new))


def test_a_set_does_not_differ_from_its_release(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    release_set(built, tmp_path / "out", ReleaseOptions())
    found = difference(built, tmp_path / "out")
    assert found.same == len(every_id())
    assert [found.added, found.removed, found.renamed, found.changed] == [(), (), {}, {}]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [("return width", "return 0 + width", "reference"), ("def area_0", "def area_zero", "prefix"),
     ("# api_usage 0", "# other", "suffix"), ("area_0(2, 3) == 6", "area_0(2, 3) == 6 and True", "tests")],
)  # fmt: skip
def test_changed_parts_are_named(tmp_path: Path, old: str, new: str, part: str) -> None:
    first, second = write_set(tmp_path / "first"), write_set(tmp_path / "second")
    file = second / "python/api_usage/program-0.py"
    text = file.read_text("utf-8")
    assert text.replace(old, new, 1) != text
    file.write_text(text.replace(old, new, 1), "utf-8")
    found = difference(first, second)
    changed = {*found.changed["python/api_usage/program-0"]}
    assert part in changed <= {part, "tests"}
    assert [*found.changed] == ["python/api_usage/program-0"]


def test_added_removed_and_renamed_problems(tmp_path: Path) -> None:
    first, second = write_set(tmp_path / "first"), write_set(tmp_path / "second")
    folder = second / "python/api_usage"
    (folder / "program-0.py").rename(folder / "renamed.py")
    (folder / "program-1.py").unlink()
    (folder / "new.py").write_text("x = ⟦1⟧\n")
    rows = [json.loads(line) for line in (second / "instances.jsonl").read_text().splitlines()]
    rows.append(rows[0] | {"id": "python/api_usage/renamed"})
    (second / "instances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = difference(first, second)
    assert found.renamed == {"python/api_usage/program-0": "python/api_usage/renamed"}
    assert found.removed == ("python/api_usage/program-1",)
    assert found.added == ("python/api_usage/new",)
    assert found.same == len(every_id()) - 2


def test_of_two_equal_new_problems_one_is_renamed_and_the_other_added(tmp_path: Path) -> None:
    first, second = write_programs(tmp_path / "first"), write_programs(tmp_path / "second")
    folder = second / "python/api_usage"
    source = (folder / "program-0.py").rename(folder / "one.py")
    (folder / "two.py").write_bytes(source.read_bytes())
    compared = difference(first, second)
    assert [*compared.renamed] == ["python/api_usage/program-0"]
    assert {*compared.renamed.values(), *compared.added} == {"python/api_usage/one", "python/api_usage/two"}
    assert len(compared.added) == 1


def test_of_two_equal_old_problems_one_is_renamed_and_the_other_removed() -> None:
    old = {name: ProblemVersion("return None", {}) for name in ("first", "second")}
    found = version_difference(old, {"new": ProblemVersion("return None", {})}, {})
    assert (found.renamed, found.removed, found.added) == ({"first": "new"}, ("second",), ())


def test_a_removed_copy_of_a_problem_that_stays_is_not_renamed(tmp_path: Path) -> None:
    first, second = write_programs(tmp_path / "first"), write_programs(tmp_path / "second")
    source = first / "python/api_usage/program-0.py"
    (source.parent / "copy.py").write_bytes(source.read_bytes())
    found = difference(first, second)
    assert (found.removed, found.renamed) == (("python/api_usage/copy",), {})


def test_problems_that_change_their_part_are_named(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    for name, seed in (("1.0.0", 0), ("1.1.0", 1)):
        release_set(built, tmp_path / name, ReleaseOptions(name, 0.5, seed))
    found = difference(tmp_path / "1.0.0", tmp_path / "1.1.0")
    assert found.held == found.removed
    assert found.published == found.added
    assert found.held
    assert found.facts == {"version": ("1.0.0", "1.1.0")}


def test_a_renamed_problem_that_changes_its_part_is_named(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    release_set(built, tmp_path / "1.0.0", ReleaseOptions(licence="MIT", holdout=0.25))
    for path in [*built.rglob("*.py"), *built.rglob("*.go")]:
        path.rename(path.with_stem(f"new-{path.stem}"))
    for seed in range(3):
        later = tmp_path / f"later-{seed}"
        release_set(built, later, ReleaseOptions("1.1.0", 0.25, 10 + seed, licence="MIT"))
        found = difference(tmp_path / "1.0.0", later)
        before, after = ({row["id"] for row in read_jsonl(one / "texts.jsonl")} for one in (tmp_path / "1.0.0", later))
        renamed = {name.replace("program", "new-program") for name in before}
        assert {*found.published} == after - renamed
        assert found.held
        assert not {*found.held} - renamed
