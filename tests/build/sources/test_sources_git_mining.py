from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from caretbench.build.sources.git.patches import PatchLimits
from caretbench.build.sources.git_mining import MiningPeriod, MiningProgress, MiningResult, mine_git
from caretbench.build.sources.pull_request import read_pull_requests
from caretbench.files import DataError
from tests.support.git_repository import DAY, EPOCH, History, git, take_away


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """360 commits: a root, one without a change, one that cannot be read, and 357 changes."""
    history = History(tmp_path_factory.mktemp("mining") / "clone")
    history.commit("Begin", {"a": "x\n"})
    for number in range(1, 360):
        files = {} if number == 100 else {f"f{number % 7}.py": f"value = {number}\n" * 5}
        history.commit(f"Change {number} (#{number})", files)
    names = history.write()
    take_away(history.folder, git(history.folder, "rev-parse", f"{names[200]}:f{200 % 7}.py"))
    return history.folder


def shas(path: Path) -> list[str]:
    return [row.merge_sha for row in read_pull_requests([path])]


def added_up(found: MiningResult) -> int:
    return found.outside_period + found.already_stored + found.written + found.not_reached + len(found.skipped)


def test_a_history_is_mined_newest_first(clone: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "pull_requests.jsonl"
    told: list[MiningProgress] = []
    found = mine_git(clone, out, name="a/b", progress=told.append)
    assert found.skipped_by_reason == {"unreadable": 2, "no_changes": 1, "root": 1}
    assert (found.commits, found.written, added_up(found)) == (360, 356, 360)
    rows = list(read_pull_requests([out]))
    assert len(rows) == 356
    assert rows == sorted(rows, key=lambda row: row.merge_order, reverse=True)
    assert [row.number for row in rows[:2]] == [359, 358]
    assert [step.processed for step in told] == list(range(1, 361))
    assert told[-1] == MiningProgress(processed=360, total=360, written=told[-1].written)
    assert found.repository.first_merged_at == "2023-11-15T22:13:20Z"
    assert found.repository.commits == 360


def test_mining_again_adds_nothing_and_later_commits_are_added(tmp_path: Path) -> None:
    history = History(tmp_path / "clone")
    history.commit("Begin", {"a": "0\n"})
    for number in range(1, 6):
        history.commit(f"Change {number}", {"a": f"{number}\n"})
    names = history.write()
    out = tmp_path / "pull_requests.jsonl"
    git(history.folder, "update-ref", "refs/heads/main", names[3])
    assert mine_git(history.folder, out).written == 3
    before = out.read_bytes()
    again = mine_git(history.folder, out)
    assert (again.written, again.already_stored) == (0, 3)
    assert out.read_bytes() == before
    git(history.folder, "update-ref", "refs/heads/main", names[5])
    later = mine_git(history.folder, out)
    assert (later.written, later.already_stored) == (2, 3)
    assert set(shas(out)) == set(names[1:])
    other = mine_git(history.folder, out, name="another/name")
    assert other.written == 5


def test_limits_and_times_bound_what_is_kept(clone: Path, tmp_path: Path) -> None:
    out = tmp_path / "pull_requests.jsonl"
    first = mine_git(clone, out, MiningPeriod(limit=10))
    assert (first.written, first.not_reached, added_up(first)) == (10, 350, 360)
    more = mine_git(clone, out, MiningPeriod(limit=25))
    assert (more.already_stored, more.written) == (10, 15)
    assert len(shas(out)) == 25
    assert mine_git(clone, out, MiningPeriod(limit=25)).written == 0
    assert mine_git(clone, tmp_path / "none.jsonl", MiningPeriod(limit=0)).written == 0
    window = mine_git(clone, tmp_path / "window.jsonl", MiningPeriod(since="2023-11-20", until="2023-11-25"))
    assert (window.written, window.outside_period) == (5, 355)
    assert {row.merged_at[:10] for row in read_pull_requests([tmp_path / "window.jsonl"])} == {
        f"2023-11-{day}" for day in range(20, 25)
    }
    for period in (MiningPeriod(since="soon"), MiningPeriod(limit=-1)):
        with pytest.raises(DataError):
            mine_git(clone, tmp_path / "refused.jsonl", period)
    assert not (tmp_path / "refused.jsonl").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from caretbench.build.sources.git_mining import mine_git

def progress(step):
    if step.processed == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

mine_git(Path(sys.argv[1]), Path(sys.argv[2]), progress=progress)
"""


def test_a_killed_mining_goes_on_without_a_duplicate(clone: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "pull_requests.jsonl"
    mine_git(clone, whole)
    for step in ("130", "150"):
        done = subprocess.run([sys.executable, "-c", KILLED, str(clone), str(out), step], check=False)
        assert done.returncode == -signal.SIGKILL
        with out.open("ab") as stream:  # the writing itself was hit
            stream.write(b'{"repo": "clone", "merge_sha": "12')
    assert 100 <= len(out.read_bytes().splitlines()) < 350
    mine_git(clone, out)
    assert sorted(out.read_bytes().splitlines()) == sorted(whole.read_bytes().splitlines())
    assert len(shas(out)) == 356


def test_two_repositories_of_one_name_are_not_mixed(clone: Path, tmp_path: Path) -> None:
    history = History(tmp_path / "clone")
    history.commit("Begin", {"a": "x\n"})
    history.commit("Another repository", {"a": "y\n"})
    history.write()
    out = tmp_path / "pull_requests.jsonl"
    mine_git(clone, out, MiningPeriod(limit=3), name="one")
    with pytest.raises(DataError, match=r"another repository .*'one'"):
        mine_git(history.folder, out, name="one")
    assert mine_git(history.folder, out, name="other").written == 1


def test_a_file_that_another_mining_writes_is_refused(clone: Path, tmp_path: Path) -> None:
    out = tmp_path / "pull_requests.jsonl"

    def second(step: MiningProgress) -> None:
        with pytest.raises(DataError, match=r"/pull_requests\.jsonl: another caretbench"):
            mine_git(clone, out)

    mine_git(clone, out, MiningPeriod(limit=1), progress=second)


def test_a_patch_of_20_megabytes_is_cut_and_the_rest_goes_on(tmp_path: Path) -> None:
    history = History(tmp_path / "clone")
    history.commit("Begin", {"a": "x\n"})
    history.commit("Large", {"large.txt": b"".join(b"line %07d\n" % n for n in range(1_600_000)), "a": "y\n"})
    history.commit("One line", {"line.txt": b"z" * 3_000_000})
    history.commit("After", {"a": "z\n"})
    history.write()
    out = tmp_path / "pull_requests.jsonl"
    assert mine_git(history.folder, out).written == 3
    after, line, large = read_pull_requests([out])
    assert [file.truncated for file in after.files] == [False]
    assert {file.path: (file.truncated, file.additions) for file in large.files} == {
        "a": (False, 1),
        "large.txt": (True, 1_600_000),
    }
    assert (line.files[0].truncated, line.files[0].additions) == (True, 1)
    assert (line.patch_chars or 0) > 3_000_000
    assert out.stat().st_size < 2 * PatchLimits().max_file_bytes


@pytest.mark.long
def test_memory_stays_flat(tmp_path: Path) -> None:
    peaks: list[int] = []
    for count in (30, 300):
        history = History(tmp_path / f"clone{count}")
        text = [f"{n} " * 20 for n in range(400)]
        for number in range(count):
            history.commit(f"Change {number}", {"a": "\n".join(f"{number} {line}" for line in text)})
        history.write()
        script = (
            "import resource, sys; from pathlib import Path; from caretbench.build.sources.git_mining import mine_git;"
            "mine_git(Path(sys.argv[1]), Path(sys.argv[2]));"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(history.folder), str(tmp_path / f"{count}.jsonl")],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONMALLOC": "malloc"},
        )
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 20_000  # in KiB; the records are 15 MB more


def test_time_bounds_are_those_of_the_merge(tmp_path: Path) -> None:
    history = History(tmp_path / "clone")
    history.commit("Begin", {"a": "x\n"}, time=EPOCH)
    history.commit("Later", {"a": "y\n"}, time=EPOCH + 3 * DAY)
    history.write()
    assert mine_git(history.folder, tmp_path / "a.jsonl", MiningPeriod(since="2023-11-17T22:13:20Z")).written == 1
    assert mine_git(history.folder, tmp_path / "b.jsonl", MiningPeriod(until="2023-11-17T22:13:20Z")).written == 0
