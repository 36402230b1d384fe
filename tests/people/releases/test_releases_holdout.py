import random
from collections import Counter
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.people.releases.built_set import BuiltSet, cell_of
from caretbench.people.releases.holdout import split_set
from tests.support.built_sets import every_id, write_programs, write_set


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> BuiltSet:
    return BuiltSet(write_set(tmp_path_factory.mktemp("paired") / "mine"))


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> BuiltSet:
    return BuiltSet(write_programs(tmp_path_factory.mktemp("single") / "mine", 11))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.1, 0.2, 0.25, 0.5, 0.8])
def test_every_cell_gives_its_share(single: BuiltSet, share: float, seed: int) -> None:
    parts = split_set(single, share, seed)
    assert len(parts.holdout) == round(share * 44)
    held = Counter(map(cell_of, parts.holdout))
    assert all(abs(held[cell] - share * 11) < 1 for cell in map(cell_of, single.problems))
    assert sorted(one.id for part in parts for one in part) == sorted(one.id for one in single.problems)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_siblings_stay_together_and_every_cell_stays_public(paired: BuiltSet, share: float) -> None:
    for seed in range(10):
        parts = split_set(paired, share, seed)
        held = {one.id for one in parts.holdout}
        pairs = [(row.id, row.sibling) for row in paired.instances.values() if row.sibling]
        assert len(pairs) == 8
        assert all((one in held) is (other in held) for one, other in pairs)
        assert {*map(cell_of, parts.public)} == {*map(cell_of, paired.problems)}
        assert len(held) == {0.1: 2, 0.25: 4, 0.5: 8, 0.9: 8}[share]


def test_near_copies_that_people_add_stay_together(tmp_path: Path) -> None:
    root = write_programs(tmp_path / "mine", 5)
    source = root / "python/api_usage/program-0.py"
    longer = "".join(f"def twice_{n}(value):\n    return value * {n} + {n}\n" for n in range(12)) + source.read_text()
    source.write_text(longer)
    source.with_name("program-0-b.py").write_text(longer.replace("twice_7", "double_7"))
    for seed in range(30):
        held = {one.id for one in split_set(BuiltSet(root), 0.3, seed).holdout}
        assert ("python/api_usage/program-0" in held) is ("python/api_usage/program-0-b" in held)


def test_seeds_differ_and_repeat(single: BuiltSet) -> None:
    drawn = [frozenset(one.id for one in split_set(single, 0.2, seed).holdout) for seed in [*range(20), 0]]
    assert len({*drawn}) == 20
    assert drawn[0] == drawn[-1]


def test_every_problem_has_the_same_chance(single: BuiltSet) -> None:
    held = Counter(one.id for seed in range(200) for one in split_set(single, 0.25, seed).holdout)
    assert len(held) == 44
    assert all(25 <= count <= 80 for count in held.values())  # 50 on average, standard deviation 6


def test_earlier_parts_stay(single: BuiltSet) -> None:
    names = sorted(one.id for one in single.problems)
    random.Random(3).shuffle(names)  # noqa: S311 - repeatable
    parts = split_set(single, 0.5, 0, public=names[:15], held=names[15:20])
    assert not {*names[:15]} & {one.id for one in parts.holdout}
    assert {*names[15:20]} <= {one.id for one in parts.holdout}
    assert len(parts.holdout) == 22


def test_a_pair_over_both_earlier_parts_is_an_error(paired: BuiltSet) -> None:
    first, second = every_id()[:2]
    with pytest.raises(DataError, match="earlier version"):
        split_set(paired, 0.5, 0, public=[first], held=[second])


def test_a_set_of_held_out_problems_is_an_error(paired: BuiltSet) -> None:
    with pytest.raises(DataError, match="nothing remains"):
        split_set(paired, 0.5, 0, held=every_id())


def test_without_a_share_nothing_is_held_out(single: BuiltSet) -> None:
    assert split_set(single, 0, 0).holdout == []


def test_a_larger_cell_gives_more(tmp_path: Path) -> None:
    root = write_programs(tmp_path / "mine", 12)
    for path in (root / "go").rglob("program-*.go"):
        if int(path.stem.rpartition("-")[2]) >= 4:
            path.unlink()
    held = Counter(map(cell_of, split_set(BuiltSet(root), 0.25, 0).holdout))
    assert sorted(held.values()) == [1, 1, 3, 3]


def test_single_problems_of_cells_stay_public(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no cell has two independent"):
        split_set(BuiltSet(write_programs(tmp_path / "mine", 1)), 0.5, 0)


@pytest.mark.parametrize("seed", range(10))
def test_a_hold_out_never_leaves_its_share_further_than_without_the_last_group(tmp_path: Path, seed: int) -> None:
    """Groups of four siblings and near-duplicates: of 32 problems 5 are asked for, and 4 are nearer than 8."""
    root = write_programs(tmp_path / "mine", 8)
    for path in [*root.rglob("*.py"), *root.rglob("*.go")]:
        mark = "#" if path.suffix == ".py" else "//"
        group = int(path.stem[-1]) // 4
        words = " ".join(f"{path.parent.name}{group}x{n} and" for n in range(150))
        path.write_text(f"{mark} {words}\n{path.read_text('utf-8')}", "utf-8")
    assert len(split_set(BuiltSet(root), 5 / 32, seed).holdout) == 4
    assert len(split_set(BuiltSet(root), 7 / 32, seed).holdout) == 8
