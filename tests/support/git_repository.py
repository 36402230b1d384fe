"""Small git repositories with a history of our own, written by one ``git fast-import``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

EPOCH = 1_700_000_000  # 2023-11-14T22:13:20Z
DAY = 86_400
PERSON = "Ada Person <ada.person@example.com>"

Content = bytes | str | None
"""Content of a file afterwards; None: it is removed."""


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git in a folder, without the settings of whoever runs the tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C"}
    done = subprocess.run(
        [shutil.which("git") or "git", "-c", "safe.directory=*", "-C", str(folder), *arguments],
        input=stdin,
        env=environment,
        check=True,
        capture_output=True,
    )
    return done.stdout.decode("utf-8", "replace").strip()


class History:
    """Collects commits, and writes them at once.

    Its objects are single files, so that a test can take one away.
    """

    def __init__(self, folder: Path, *, files: bool = False) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "-b", "main", *(() if files else ("--bare",)))
        self._stream: list[bytes] = []
        self._marks = 0

    def commit(
        self,
        message: str | bytes,
        files: Mapping[str, Content],
        *,
        modes: Mapping[str, str] | None = None,
        parents: Sequence[int] | None = None,
        author: str = PERSON,
        time: int | None = None,
        branch: str = "main",
        extra: str = "",
    ) -> int:
        """Add a commit; gives its mark. ``parents`` are marks, the base first; by default the branch's tip."""
        self._marks += 1
        moment = EPOCH + DAY * self._marks if time is None else time
        text = message.encode() if isinstance(message, str) else message
        add = self._stream.append
        add(f"commit refs/heads/{branch}\nmark :{self._marks}\nauthor {author} {moment} +0200\n".encode())
        add(f"committer {author} {moment} +0200\n{extra}".encode())
        add(b"data %d\n%s\n" % (len(text), text))
        for index, parent in enumerate(parents or ()):
            add(f"{'merge' if index else 'from'} :{parent}\n".encode())
        for path, content in files.items():
            name = '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
            mode = (modes or {}).get(path, "100644")
            if content is None:
                add(f"D {name}\n".encode())
            elif mode == "160000":
                add(f"M 160000 {content if isinstance(content, str) else content.decode()} {name}\n".encode())
            else:
                data = content.encode() if isinstance(content, str) else content
                add(f"M {mode} inline {name}\n".encode() + b"data %d\n%s\n" % (len(data), data))
        return self._marks

    def write(self) -> list[str]:
        """Write what was collected; gives the commits' names in the order of their marks."""
        marks = self.folder / "marks.txt"
        git(
            self.folder,
            "-c",
            "fastimport.unpackLimit=10000",
            "fast-import",
            "--quiet",
            "--force",
            "--date-format=raw-permissive",
            f"--export-marks={marks.resolve()}",
            stdin=b"".join(self._stream),
        )
        names = dict(line.split() for line in marks.read_text().splitlines())
        return [names[f":{mark}"] for mark in range(1, self._marks + 1)]


def take_away(folder: Path, name: str) -> None:
    """Remove an object, as partial clones lack some."""
    store = folder / "objects" if (folder / "objects").is_dir() else folder / ".git" / "objects"
    (store / name[:2] / name[2:]).unlink()


def repeated_trees(folder: Path, levels: int = 7) -> None:
    """Write a bare repository whose commit has 10 to the power of ``levels`` paths in a few kilobytes."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare", "-b", "main", ".")
    name, kind = git(folder, "hash-object", "-w", "--stdin", stdin=b"a = 1\n"), "100644 blob"
    for _ in range(levels):
        lines = "".join(f"{kind} {name}\t{number}\n" for number in range(10))
        name, kind = git(folder, "mktree", stdin=lines.encode()), "040000 tree"
    commit = git(folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit-tree", name, "-m", "Many")
    git(folder, "update-ref", "refs/heads/main", commit)
