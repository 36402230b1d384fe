from __future__ import annotations

import os
from pathlib import Path

import pytest

from caretbench.build.sources.git.git_repository import open_repository
from caretbench.build.sources.git.history import commits_in_period, list_commits, read_changes
from caretbench.build.sources.git.patches import PatchLimits, SkippedCommit
from caretbench.build.sources.pull_request import FileChange, PullRequest
from caretbench.build.sources.repository import read_repository_facts
from caretbench.files import DataError
from caretbench.suites.efcb.build.edits.patch_parts import parse_hunks
from tests.support.git_repository import DAY, EPOCH, History, git, take_away

Result = PullRequest | SkippedCommit


def read(folder: Path, *, limits: PatchLimits | None = None, revision: str = "HEAD") -> list[Result]:
    with open_repository(folder, revision) as repository:
        facts = read_repository_facts(repository, "owner/name")
        return list(read_changes(repository, facts, list_commits(repository), limits))


def changes(folder: Path, limits: PatchLimits | None = None) -> list[PullRequest]:
    return [change for change in read(folder, limits=limits) if isinstance(change, PullRequest)]


def files(folder: Path, limits: PatchLimits | None = None) -> dict[str, FileChange]:
    """The files of the newest change."""
    return {file.path: file for file in changes(folder, limits)[0].files}


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "clone")


def numbered(count: int, word: str = "line") -> str:
    return "".join(f"{word} {number}\n" for number in range(count))


def test_merges_squashes_and_plain_commits(history: History) -> None:
    start = history.commit("Begin", {"a.py": "a = 1\n"})
    squash = history.commit("Add b (#7)\n\nIt is needed.\n\nSigned-off-by: Ada <ada@example.com>", {"b.py": "b = 1\n"})
    side = history.commit("wip", {"c.py": "c = 1\n"}, parents=[start], branch="side")
    side = history.commit("wip 2", {"c.py": "c = 2\n"}, parents=[side], branch="side")
    merge = history.commit(
        "Merge pull request #9 from ada/side\n\nAdd c\n\nWrite to ada@example.com.",
        {"c.py": "c = 2\n"},
        parents=[squash, side],
    )
    history.commit("Rename a\n\nFixes #3", {"a.py": "a = 2\n"}, parents=[merge])
    names = history.write()
    last, third, second, first = read(history.folder)
    assert isinstance(third, PullRequest)
    assert isinstance(second, PullRequest)
    assert isinstance(last, PullRequest)
    assert first == SkippedCommit(sha=names[0], reason="root")
    assert (last.kind, last.number, last.title, last.description) == ("commit", None, "Rename a", "Fixes #3")
    assert (third.kind, third.number, third.title) == ("merge", 9, "Add c")
    assert third.description == "Write to <email>."
    assert (third.base_sha, third.merge_sha, third.head_sha) == (names[1], names[4], names[3])
    # A merge is one change against its first parent, whatever its branch did.
    assert [(file.path, file.status, file.additions) for file in third.files] == [("c.py", "added", 1)]
    assert (second.kind, second.number, second.description, second.trailers_removed) == (
        "squash",
        7,
        "It is needed.",
        1,
    )
    assert second.merged_at == "2023-11-16T22:13:20Z"
    assert second.files[0].patch == "@@ -0,0 +1 @@\n+b = 1"
    # b.py, its two lines, a separator; the text with three newlines and three marks.
    assert (second.patch_lines, second.patch_chars) == (4, 4 + 20 + 6)
    said = "".join(change.model_dump_json() for change in (last, third, second)).lower()
    assert not any(word in said for word in ("ada@", "ada ", "ada/", "person", "example.com"))


def test_renames_modes_binaries_and_removals(history: History) -> None:
    history.commit(
        "Begin",
        {
            "old name.txt": numbered(30),
            "moved.txt": numbered(40, "text"),
            "tool.sh": "echo\n",
            "gone.txt": "gone\n",
            "image.png": b"\x89PNG\0\1",
            "empty": "",
        },
    )
    history.commit(
        "Change all of it",
        {
            "old name.txt": None,
            "new name.txt": numbered(30) + "one more\n",
            "moved.txt": None,
            "deep/moved.txt": numbered(40, "text"),
            "tool.sh": "echo\n",
            "gone.txt": None,
            "image.png": b"\x89PNG\0\2",
            "empty": None,
            "also empty": "",
            "link": "tool.sh",
            "module": "1" * 40,
        },
        modes={"tool.sh": "100755", "link": "120000", "module": "160000"},
    )
    history.write()
    found = files(history.folder)
    assert {path: (file.status, file.old_path) for path, file in found.items()} == {
        "new name.txt": ("renamed", "old name.txt"),
        "deep/moved.txt": ("renamed", "moved.txt"),
        "tool.sh": ("changed", None),
        "gone.txt": ("removed", None),
        "image.png": ("modified", None),
        "also empty": ("renamed", "empty"),
        "link": ("added", None),
        "module": ("added", None),
    }
    assert [path for path, file in found.items() if file.binary] == ["image.png"]
    assert [path for path, file in found.items() if file.generated] == ["module"]
    assert found["deep/moved.txt"].patch == found["image.png"].patch == found["tool.sh"].patch == ""
    assert found["new name.txt"].patch.endswith("+one more")
    assert found["link"].patch == "@@ -0,0 +1 @@\n+tool.sh\n\\ No newline at end of file"


def test_a_file_that_becomes_a_link_is_one_change(history: History) -> None:
    history.commit("Begin", {"a": "one\ntwo\n", "b": "x\n"})
    history.commit("Link", {"a": "b", "b": "y\n"}, modes={"a": "120000"})
    history.write()
    link, other = changes(history.folder)[0].files
    assert (link.path, link.status, link.additions, link.deletions) == ("a", "changed", 1, 2)
    assert [len(hunk.lines) for hunk in parse_hunks(link.patch)] == [2, 2]
    assert other.path == "b"


@pytest.mark.parametrize(
    "path", ["plain", "with blank", 'quo"te', "tab\there", "line\nbreak", "größe/日本", "back\\slash", "a b/b a b/a"]
)
@pytest.mark.parametrize("content", ["text\n", "", b"\0binary"])
def test_paths_come_as_they_are(history: History, path: str, content: bytes | str) -> None:
    history.commit("Begin", {"other": "x\n"})
    history.commit("Add", {path: content})
    history.write()
    assert list(files(history.folder)) == [path]


def test_contents_and_messages_that_look_like_git_are_only_text(history: History) -> None:
    text = "-- x\n++ y\n@@ -1 +1 @@\ndiff --git a/x b/x\ncommit 1\n\x01\r\n\x0cform feed\n" + "x" * 9000 + "\n\0after\n"
    history.commit("Begin", {"a": "".join(f"{line}\n" for line in ("-- x", "keep"))})
    message = "Title (#5)\n\nText\ndiff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-q\n+r"
    history.commit(message, {"a": "keep\n" + text})
    history.commit("Next (#6)", {"a": "keep\n"})
    history.write()
    # The attribute shows a file with a NUL as text, as git does by itself where the NUL stands far behind.
    newest, change = changes(history.folder)
    assert (change.number, change.title) == (5, "Title")
    assert change.description.startswith("Text\ndiff --git a/z b/z\n--- a/z")
    (file,) = change.files
    (hunk,) = parse_hunks(file.patch)
    assert "".join(f"{line.text}\n" for _, line in hunk.numbered("+ ")) == "keep\n" + text
    assert (file.additions, file.deletions) == (len(text.split("\n")) - 1, 1)
    assert (newest.files[0].additions, newest.files[0].deletions) == (0, file.additions)


def test_what_is_not_utf_8_is_replaced_and_the_rest_goes_on(history: History) -> None:
    history.commit("Begin", {"a": b"caf\xe9\n"})
    history.commit(b"Latin caf\xe9 (#2)", {"a": b"th\xe9\n"}, extra="encoding ISO-8859-1\n")
    history.commit(b"Broken \xff\xfe", {"a": b"\xff\xfe\n"})
    history.write()
    broken, latin = changes(history.folder)
    assert latin.title == "Latin café"
    assert latin.files[0].patch == "@@ -1 +1 @@\n-caf\ufffd\n+th\ufffd"
    assert "Broken" in broken.title
    assert broken.model_dump_json()


def test_over_long_patches_are_cut_at_a_line_and_counted_whole(history: History) -> None:
    history.commit("Begin", {"a": "x\n"})
    history.commit("Large", {"b": numbered(50_000, "größer"), "c": "small\n", "d": "y\n" * 3000, "e": "z" * 300_000})
    history.commit("After", {"a": "y\n"})
    history.write()
    after, large = changes(history.folder, PatchLimits(max_file_bytes=2000))
    assert after.files[0].patch == "@@ -1 +1 @@\n-x\n+y"
    found = {file.path: file for file in large.files}
    assert {path: file.truncated for path, file in found.items()} == {"b": True, "c": False, "d": True, "e": True}
    assert (found["b"].additions, found["c"].additions, found["d"].additions) == (50_000, 1, 3000)
    assert len(found["b"].patch.encode()) <= 2000
    assert found["b"].patch.split("\n")[-1].startswith("+größer ")
    assert found["e"].patch == "@@ -0,0 +1 @@"
    assert parse_hunks(found["b"].patch, truncated=True) == ()
    whole = changes(history.folder, PatchLimits(max_file_bytes=10_000_000, max_change_bytes=10_000_000))[1]
    assert not any(file.truncated for file in whole.files)
    assert (large.patch_lines, large.patch_chars) == (whole.patch_lines, whole.patch_chars)
    assert whole.patch_chars == sum(len(file.patch) + len(file.path) + 6 for file in whole.files)


def test_a_change_keeps_so_much_and_so_many_files(history: History) -> None:
    history.commit("Begin", {"a": "x\n"})
    history.commit("Many", {f"f{number:02}": numbered(10) for number in range(12)})
    history.write()
    (cut,) = changes(history.folder, PatchLimits(max_change_bytes=300))
    assert [file.truncated for file in cut.files] == [False] * 3 + [True] * 9
    assert [file.additions for file in cut.files] == [10] * 12
    (few,) = changes(history.folder, PatchLimits(max_files=5))
    assert (len(few.files), few.reject_reasons) == (5, ("too_many_files",))


def test_commits_without_a_change_are_skipped(history: History) -> None:
    history.commit("Begin", {"a": "x\n"})
    history.commit("Nothing", {})
    history.commit("Something", {"a": "y\n"})
    history.write()
    assert [getattr(change, "reason", "read") for change in read(history.folder)] == ["read", "no_changes", "root"]


def lacking(history: History, count: int, without: set[int]) -> list[str]:
    """A history whose commits of these numbers add a file that is then taken away."""
    history.commit("Begin", {"a": "x\n"})
    for number in range(1, count):
        history.commit(f"Change {number}", {f"f{number}": f"only {number}\n", "a": f"{number}\n"})
    names = history.write()
    for number in without:
        take_away(history.folder, git(history.folder, "rev-parse", f"{names[number]}:f{number}"))
    return names


def test_commits_whose_blobs_are_absent_are_skipped_and_the_rest_is_read(history: History) -> None:
    without = {1, 4, 5, 9}
    names = lacking(history, 10, without)
    found = read(history.folder)
    order = [change.sha if isinstance(change, SkippedCommit) else change.merge_sha for change in found]
    assert order == names[::-1]
    skipped = [change for change in found if isinstance(change, SkippedCommit) and change.reason == "unreadable"]
    assert {change.sha for change in skipped} == {names[number] for number in without}
    assert all(change.detail.startswith("absent: blob ") for change in skipped)
    assert all(len(change.files) == 2 for change in found if isinstance(change, PullRequest))


def test_a_missing_tree_costs_the_commits_that_need_it(history: History) -> None:
    names = lacking(history, 8, set())
    take_away(history.folder, git(history.folder, "rev-parse", f"{names[4]}^{{tree}}"))
    found = {
        change.sha if isinstance(change, SkippedCommit) else change.merge_sha: getattr(change, "reason", "read")
        for change in read(history.folder)
    }
    # The commit itself, and the one after it, which is compared with it.
    assert [found[name] for name in names] == [
        "root",
        "read",
        "read",
        "read",
        "unreadable",
        "unreadable",
        "read",
        "read",
    ]


def test_a_history_of_which_nothing_is_there_is_given_up(history: History) -> None:
    names = lacking(history, 90, set())
    for name in names[:-1]:
        take_away(history.folder, git(history.folder, "rev-parse", f"{name}^{{tree}}"))
    found = read(history.folder)
    assert len(found) == 90
    reasons = [change.reason for change in found if isinstance(change, SkippedCommit)]
    assert reasons == ["unreadable"] * 89 + ["root"]
    assert any("not tried" in change.detail for change in found if isinstance(change, SkippedCommit))


def test_a_damaged_object_costs_what_needs_it(history: History) -> None:
    names = lacking(history, 12, set())
    for name in (git(history.folder, "rev-parse", f"{names[9]}:f9"), names[4]):
        place = history.folder / "objects" / name[:2] / name[2:]
        place.chmod(0o644)
        place.write_bytes(b"damaged")
    found = read(history.folder)
    read_or_not = [
        (names.index(getattr(change, "merge_sha", "") or getattr(change, "sha", "")), getattr(change, "reason", ""))
        for change in found
    ]
    assert read_or_not == [
        (11, ""),
        (10, ""),
        (9, "unreadable"),
        (8, ""),
        (7, ""),
        (6, ""),
        (5, "unreadable"),  # its parent is damaged: what was before it is out of reach
    ]
    newest = names[11]
    (history.folder / "objects" / newest[:2] / newest[2:]).unlink()
    with pytest.raises(DataError, match=r"clone: .*cannot"):
        read(history.folder)


def test_a_shallow_clone_ends_where_it_ends(history: History, tmp_path: Path) -> None:
    for number in range(6):
        history.commit(f"Change {number}", {"a": f"{number}\n"})
    names = history.write()
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=3", f"file://{history.folder}", str(clone))
    found = read(clone)
    assert [getattr(change, "merge_sha", "") for change in found[:2]] == [names[5], names[4]]
    assert found[2] == SkippedCommit(sha=names[3], reason="shallow_boundary")
    with open_repository(clone) as repository:
        assert read_repository_facts(repository).shallow


def test_what_a_partial_clone_left_out_is_not_fetched(history: History, tmp_path: Path) -> None:
    for number in range(6):
        history.commit(f"Change {number}", {"a": f"{number}\n" * (9000 if number == 3 else 1)})
    names = history.write()
    git(history.folder, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:limit=1k", f"file://{history.folder}", str(clone))
    before = sorted(place.name for place in clone.rglob("*"))
    found = read(clone)
    assert [getattr(change, "sha", "") for change in found] == ["", names[4], names[3], "", "", names[0]]
    assert sorted(place.name for place in clone.rglob("*")) == before


def test_a_linked_work_tree_and_a_clone_that_borrows_objects(history: History, tmp_path: Path) -> None:
    history.commit("Begin", {"a": "x\n"})
    history.commit("Go on", {"a": "y\n"})
    names = history.write()
    git(history.folder, "worktree", "add", "-q", str(tmp_path / "tree"), "main")
    git(tmp_path, "clone", "-q", "--shared", str(history.folder), str(tmp_path / "borrower"))
    for folder in (tmp_path / "tree", tmp_path / "borrower"):
        assert [change.merge_sha for change in changes(folder)] == [names[1]]


def test_what_is_no_history_is_named(history: History, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (tmp_path / "file").write_text("")
    for folder, revision, complaint in (
        (tmp_path / "nowhere", "HEAD", "nowhere: no such folder"),
        (tmp_path / "file", "HEAD", "file: a file, not a folder"),
        (plain, "HEAD", "plain: not a git repository$"),
        (history.folder, "HEAD", "clone: an empty repository"),
        (history.folder, "v1.0", "clone: no revision 'v1.0'"),
        (history.folder, "--help", "clone: no revision '--help'"),
    ):
        with pytest.raises(DataError, match=complaint):
            read(folder, revision=revision)


def test_a_clones_own_path_may_hold_anything(tmp_path: Path) -> None:
    history = History(tmp_path / "two words\nand a line é")
    history.commit("Begin", {"a": "x\n"})
    history.commit("Go on", {"a": "y\n"})
    names = history.write()
    assert [change.merge_sha for change in changes(history.folder)] == names[1:]


def test_a_folder_inside_a_clone_is_not_the_clone(tmp_path: Path) -> None:
    history = History(tmp_path / "clone", files=True)
    history.commit("Begin", {"a": "x\n"})
    history.write()
    (history.folder / "inner").mkdir()
    with pytest.raises(DataError, match=r"not a git repository"):
        read(history.folder / "inner")


def test_nothing_that_a_clones_settings_name_is_run(tmp_path: Path) -> None:
    history = History(tmp_path / "clone", files=True)
    history.commit("Begin", {"a.txt": "x\n"})
    history.commit("Go on", {"a.txt": "y\n"}, extra="")
    history.write()
    trace = tmp_path / "trace"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trace}\ncat\n")
    script.chmod(0o755)
    for name, value in (
        ("core.fsmonitor", str(script)),
        ("core.sshCommand", str(script)),
        ("core.pager", str(script)),
        ("diff.external", str(script)),
        ("diff.own.textconv", str(script)),
        ("diff.own.command", str(script)),
        ("gpg.program", str(script)),
        ("log.showSignature", "true"),
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
        ("core.quotePath", "true"),
    ):
        git(history.folder, "config", name, value)
    (history.folder / ".git" / "info" / "attributes").write_text("* diff=own\n")
    (change,) = changes(history.folder)
    assert change.files[0].patch == "@@ -1 +1 @@\n-x\n+y"
    assert not trace.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_clone_that_belongs_to_somebody_else_is_read(history: History) -> None:
    history.commit("Begin", {"a": "x\n"})
    history.commit("Go on", {"a": "y\n"})
    history.write()
    for place in (history.folder, *history.folder.rglob("*")):
        os.chown(place, 12345, 12345)
    assert len(changes(history.folder)) == 1


def test_times_bound_what_is_read_and_need_not_descend(history: History) -> None:
    days = (0, 9, 3, 6, 8)  # the second one was committed with a clock that ran ahead
    for number, day in enumerate(days):
        history.commit(f"Change {number}", {"a": f"{number}\n"}, time=EPOCH + DAY * day)
    history.write()
    with open_repository(history.folder) as repository:
        commits = list_commits(repository)
    assert [(commit.time - EPOCH) // DAY for commit in commits] == [8, 6, 3, 9, 0]

    def bounded(since: str | None, until: str | None) -> list[int]:
        return [(commit.time - EPOCH) // DAY for commit in commits_in_period(commits, since, until)]

    assert bounded("2023-11-18", None) == [8, 6, 9]
    assert bounded(None, "2023-11-18") == [3, 0]
    assert bounded("2023-11-17T22:13:20Z", "2023-11-22T22:13:20+00:00") == [6, 3]
    with pytest.raises(DataError, match="'yesterday'"):
        bounded("yesterday", None)


def test_bots_are_known_and_forgotten(history: History) -> None:
    history.commit("Begin", {"a": "x\n"})
    history.commit("Bump x", {"a": "y\n"}, author="dependabot[bot] <1+dependabot[bot]@users.noreply.github.com>")
    history.commit("Write it", {"a": "z\n"})
    history.write()
    person, bot = changes(history.folder)
    assert (person.is_bot, bot.is_bot) == (False, True)
    assert "dependabot" not in bot.model_dump_json()
    assert "example.com" not in person.model_dump_json()


def test_a_merge_is_its_branchs_authors_whoever_merged_it(history: History) -> None:
    robot = "bors[bot] <bors@example.com>"
    start = history.commit("Begin", {"a": "x\n"})
    mine = history.commit("By hand", {"a": "y\n"}, parents=[start], branch="mine")
    first = history.commit("Merge #1: By hand", {"a": "y\n"}, parents=[start, mine], author=robot)
    bump = history.commit("Bump", {"a": "z\n"}, parents=[first], branch="bump", author="renovate <r@example.com>")
    history.commit("Merge #2: Bump", {"a": "z\n"}, parents=[first, bump])
    history.write()
    assert [(change.number, change.is_bot) for change in changes(history.folder)] == [(2, True), (1, False)]


def test_a_time_beyond_all_calendars_is_no_obstacle(history: History) -> None:
    history.commit("Begin", {"a": "x\n"})
    history.commit("Later", {"a": "y\n"}, time=10**15)
    history.write()
    assert changes(history.folder)[0].merged_at == "1970-01-01T00:00:00Z"


def test_a_merge_without_a_description_has_that_of_its_only_commit(history: History) -> None:
    start = history.commit("Begin", {"a.py": "a = 1\n"})
    base = history.commit("More", {"b.py": "b = 1\n"}, parents=[start])
    one = history.commit("Add c\n\nSo that d works.\n\nCc: Ada", {"c.py": ""}, parents=[start], branch="one")
    two = history.commit("Add d\n\nAlone.", {"d.py": ""}, parents=[one], branch="two")
    first = history.commit("Merge pull request #9 from ada/c\n\nC!", {"c.py": ""}, parents=[base, one])
    second = history.commit("Merge branch 'ada/d' into main", {"d.py": ""}, parents=[first, two])
    fork = history.commit("wip\n\nx", {"e.py": ""}, parents=[base], branch="three")
    fork = history.commit("wip\n\ny", {"e.py": "1\n"}, parents=[fork], branch="three")
    history.commit("Merge pull request #10 from ada/e\n\nE", {"e.py": "1\n"}, parents=[second, fork])
    history.write()
    third, by_hand, button = changes(history.folder)[:3]
    assert (button.title, button.description, button.trailers_removed) == ("C!", "So that d works.", 1)
    # The branch holds two commits beyond the first parents: no one of them describes it.
    assert (by_hand.title, by_hand.description) == ("Merge branch 'ada/d' into main", "")
    assert (third.title, third.description) == ("E", "")


def test_names_of_authors_and_lists_of_people_are_not_kept(history: History) -> None:
    history.commit("Begin", {"a.py": "a = 1\n"})
    code = "@sometag\nclass Guarded: ...\n"
    text = "Add f\n\nAs Ada Author wanted; @sometag for @Guarded as @ann said.\n\ncommit " + "a" * 40
    history.commit(
        f"{text}\nAuthor: Bo Roe <bo@x.org>\nEdits-by: Cy",
        {"a.py": code, "AUTHORS.md": "Bo Roe\n"},
        author="Ada Author <a@example.com>",
    )
    history.write()
    change = changes(history.folder)[0]
    assert change.description == "As <name> wanted; @sometag for @Guarded as <name> said."
    assert change.trailers_removed == 3
    assert {file.path: bool(file.patch) for file in change.files} == {"AUTHORS.md": False, "a.py": True}
    assert change.patch_lines == sum(file.patch.count("\n") + 3 for file in change.files if file.patch)
