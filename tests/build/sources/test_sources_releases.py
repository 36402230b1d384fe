"""Changes that bring out a version or bring dependencies up to date, and changes that only look like them."""

from __future__ import annotations

import pytest

from caretbench.build.sources.changes.automated_changes import is_title_of, is_version_change
from caretbench.build.sources.pull_request import FileChange


def changed(path: str, *lines: str) -> FileChange:
    added = sum(line.startswith("+") for line in lines)
    return FileChange(
        path=path, additions=added, deletions=len(lines) - added, patch="\n".join(("@@ -1,9 +1,9 @@", *lines))
    )


NEWS = changed("CHANGELOG.md", "+## 1.2.0", "+* Reads headers", "+* Sends them again")
CODE = changed("src/reader.py", *(f"+    self.step_{number}(line)" for number in range(12)))


@pytest.mark.parametrize(
    ("title", "files"),
    [
        ("Headers, at last", [NEWS]),
        ("Get ready", [changed("package.json", '-  "version": "1.1.0",', '+  "version": "1.2.0-rc.1",'), NEWS]),
        ("It is out", [changed("lib/thing/version.rb", '-  VERSION = "1.1.0"', '+  VERSION = "1.2.0"'), NEWS]),
        ("Snapshot", [changed("pom.xml", "-  <version>1.2-SNAPSHOT</version>", "+  <version>1.3-SNAPSHOT</version>")]),
        ("Tell the number", [changed("src/app.go", '-const Version = "v1.1.0"', '+const Version = "v1.2.0"')]),
        ("chore: up deps", [changed("web/package.json", '-    "vite": "^5.0.1",', '+    "vite": "^5.1.0",')]),
        (
            "Update build dependencies",
            [changed("Cargo.toml", '-serde = "1"', '+serde = { version = "1", features = ["derive"] }')],
        ),
        ("Headers, at last", [changed("CHANGES-1.2", "+* Reads headers")]),
        ("Headers, at last", [changed("newsfragments/12.bugfix", "+Reads headers")]),
        ("Release notes", [changed(".changeset/brave-cows.md", "+---", "+'thing': minor", "+---", "+Reads")]),
    ],
)
def test_what_changes_nothing_but_versions(title: str, files: list[FileChange]) -> None:
    assert is_version_change(title, files)


@pytest.mark.parametrize(
    ("title", "files"),
    [
        ("Bump the parser to 2.0", [changed("Cargo.toml", '-p = "1.0"', '+p = "2.0"'), CODE]),
        ("Read headers", [NEWS, CODE]),
        ("Release 1.2 of the reader", [CODE]),
        ("Add a command", [changed("package.json", '+    "lint": "eslint .",', '+    "fmt": "prettier ."')]),
        ("Tune the model", [changed("m.py", "-A = 1.5", "+A = 1.7", "-B = 2.5", "+B = 2.25")]),
        ("Update the changes view", [changed("src/changes.py", "+def changes():", "+    return []")]),
        ("Upgrade", []),
        *(
            ("Read headers", [changed(path, "+    head = read(line)", "+    send(head)")])
            for path in (
                "src/NewsController.kt",
                "src/HistoryView.cs",
                "src/changeset.rs",
                "lib/history.cpp",
                "web/newsletter.tsx",
                "src/changelogs/parser.ts",
            )
        ),
        ("Compare versions", [changed("src/Version.cs", "+    return one < other;", "+    return false;")]),
    ],
)
def test_what_does_more_is_no_release(title: str, files: list[FileChange]) -> None:
    assert not is_version_change(title, files)


def test_lock_files_and_pictures_do_not_count() -> None:
    lock = FileChange(path="yarn.lock", generated=True, additions=400, patch="@@ -1 +1 @@\n+x")
    assert is_version_change("It is out", [NEWS, lock])
    assert not is_version_change("Read headers", [CODE, lock])


@pytest.mark.parametrize(
    "title",
    [
        "Release 1.2",
        "v1.2.3",
        "1.2.3",
        "Bump version to 2.0",
        "Prepare for next development iteration",
        "chore(release): 1.2.0",
        "[maven-release-plugin] prepare release thing-1.2",
        "prepare ky 0.1.42",
        "Prepare tokio-util 0.7.8",
        "macros: prepare v1.8.2",
        "chore: prepare tokio v1.2.3 release (#12)",
        "Prepared release 1.2.0",
        "Version bump to 2.0.1",
        "setting the version to 1.4",
        "1.2 release (#7)",
        "merge: release 1.2 (#7)",
        "Add release notes for 1.4.0",
        "Update CHANGELOG.md for 1.2",
        "Ready to release v1.5.0",
        "start version 8.5.0",
        "release: thing@2.1.0",
        "Changelog for 2.8.5",
        "2.8.4 changelog",
        "bump to v1.7.1",
        "Update changelog for 1.3.1",
        "Start 7.1",
    ],
)
def test_titles_of_releases(title: str) -> None:
    assert is_title_of("release", title)


@pytest.mark.parametrize(
    "title",
    [
        "Updated minimum JDK version to 1.6",
        "Update version support section of README",
        "Update changelog to include the oldest compiler",
        "Start workers at 2.5 seconds",
        "Release the lock",
        "Publish events to subscribers",
        "Version the cache keys",
        "Bump the limit to 1.5 times the size",
        "Prepare statements once",
        "Prepare tests for 1.10",
        "prepare the parser for 2.0 syntax",
        "Merge support for 1.2",
    ],
)
def test_titles_that_are_not(title: str) -> None:
    assert not is_title_of("release", title)
