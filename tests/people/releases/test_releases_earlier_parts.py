"""Problems that an earlier release had: under another id, and with small changes."""

from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.files import write_rows
from caretbench.people.releases.built_set import BuiltSet, EarlierParts, earlier_parts
from caretbench.people.releases.release import ReleaseOptions, holdout_folder, release_set
from caretbench.problem import ChoiceCheck, NoSplice, Problem, Provenance, Question
from tests.support.built_sets import read_jsonl, write_programs

NEXT = ReleaseOptions("1.1.0", 0.5, licence="MIT")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A set of programs long enough to be near-duplicates after a small change, half of it held out."""
    root = write_programs(tmp_path / "mine", 6)
    for path in root.rglob("*.py"):
        more = "".join(f"def {path.stem.replace('-', '_')}_{n}(v):\n    return v * {n} + {n}\n" for n in range(12))
        path.write_text(f"# {path.parent.name}\n{more}{path.read_text('utf-8')}", "utf-8")
    release_set(root, tmp_path / "1.0.0", ReleaseOptions(holdout=0.5, licence="MIT"))
    return root


def python_ids(folder: Path) -> list[str]:
    return [row["id"] for row in read_jsonl(folder / "texts.jsonl") if row["language"] == "python"]


def renamed(root: Path, ids: list[str], old: str = "", new: str = "") -> set[str]:
    """Rename the files of problems, and change a text in them; return the new ids."""
    for name in ids:
        file = root / f"{name}.py"
        text = file.read_text("utf-8")
        assert old in text
        file.with_stem(f"renamed-{file.stem}").write_text(text.replace(old, new, 1), "utf-8")
        file.unlink()
    return {name.replace("/program", "/renamed-program") for name in ids}


@pytest.mark.parametrize(("old", "new"), [("", ""), ("v * 7 + 7", "v * 7 + 8")])
@pytest.mark.parametrize("part", ["public", "held"])
def test_a_renamed_problem_stays_in_its_part(tmp_path: Path, built: Path, old: str, new: str, part: str) -> None:
    earlier = tmp_path / "1.0.0"
    names = renamed(built, python_ids(earlier if part == "public" else holdout_folder(earlier)), old, new)
    assert len(names) == 6
    for seed in range(3):
        later = tmp_path / f"later-{seed}"
        release_set(built, later, NEXT._replace(seed=seed, previous=earlier))
        assert names <= {*python_ids(later if part == "public" else holdout_folder(later))}


def test_without_previous_renamed_problems_are_drawn_anew(tmp_path: Path, built: Path) -> None:
    names = renamed(built, python_ids(tmp_path / "1.0.0"))
    release_set(built, tmp_path / "later", NEXT._replace(seed=5))
    assert names & {*python_ids(tmp_path / "later-holdout")}


def test_a_held_out_problem_that_becomes_a_public_one_is_refused(tmp_path: Path, built: Path) -> None:
    public, held = (python_ids(tmp_path / name)[0] for name in ("1.0.0", "1.0.0-holdout"))
    text = (built / f"{public}.py").read_text("utf-8")
    (built / f"{held}.py").write_text(text, "utf-8")
    message = rf"{held} was held out \({held}\) and public \({public}\) in the earlier version; delete its file"
    with pytest.raises(DataError, match=message):
        release_set(built, tmp_path / "later", NEXT._replace(previous=tmp_path / "1.0.0"))


def test_a_question_is_recognised_by_its_texts(tmp_path: Path) -> None:
    def write(root: Path, *names: str) -> BuiltSet:
        facts = {"suite": "c3bench", "cluster": "c", "splice": NoSplice(), "checks": (ChoiceCheck(correct=0),)}
        source = Provenance(source="x", licence="MIT")
        shown = {name: Question(text=f"Which is {name[-1]}?", choices=("A", "B")) for name in names}
        questions = (Problem(id=name, shown=shown[name], reference="A", provenance=source, **facts) for name in names)
        write_rows(root / "problems.jsonl", questions)
        return BuiltSet(root)

    found = earlier_parts(write(tmp_path / "b", "new/1", "new/2", "old/3").problems, [write(tmp_path / "a", "old/1")])
    assert found == EarlierParts({"new/1": "old/1"}, {})
