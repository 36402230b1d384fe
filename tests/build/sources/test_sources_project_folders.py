"""Sources on real sockets and from real repositories, as folders of the cache or rows with reasons."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import resource
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from caretbench.build.sources.fetching.project_folders import ProjectFolders, fetch_commit
from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.build.sources.fetching.unpacking import SourceLimits, SourceUsage
from caretbench.build.sources.git.git_repository import open_repository
from caretbench.build.sources.repository import read_repository_facts
from caretbench.errors import DataError
from tests.support.archive_files import tar
from tests.support.git_repository import History, repeated_trees

MIT = (Path(__file__).parents[3] / "LICENSE").read_text()
SDIST = gzip.compress(tar(("some_name-1.0/lib.py", "a = 1\n", {}), ("some_name-1.0/LICENSE", MIT, {})), mtime=0)
OTHER = gzip.compress(tar(("some_name-2.0/../../out", "x", {})), mtime=0)
WHEEL = "some_name-3.0-py3-none-any.whl"


class PackageServer:
    """A package index: its files by name, and the paths that were requested."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.asked = files, list[str]()
        self.stated: dict[str, str | None] = {}
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append(self.path)
                name = self.path.rpartition("/")[2]
                if self.path == "/simple/some-name/":
                    body = json.dumps({"files": [owner.row(one) for one in owner.files]}).encode()
                else:
                    body = owner.files.get(name, b"")
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.index = f"http://127.0.0.1:{self._server.server_address[1]}/simple"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def row(self, name: str) -> dict[str, object]:
        digest = self.stated.get(name, hashlib.sha256(self.files[name]).hexdigest())
        return {
            "filename": name, "url": f"../../files/{name}", "hashes": {"sha256": digest} if digest else {},
            "size": len(self.files[name]),
        }  # fmt: skip

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[PackageServer]:
    made = PackageServer({"some_name-1.0.tar.gz": SDIST, "some_name-2.0.tar.gz": OTHER, WHEEL: b"wheel"})
    yield made
    made.close()


@pytest.fixture
def folders(tmp_path: Path, server: PackageServer) -> ProjectFolders:
    return ProjectFolders(tmp_path / "cache", index=server.index)


def leftovers(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache").iterdir() if path.name.startswith("caretbench-tmp")]


def test_a_source_distribution_is_fetched_once_and_named_by_its_content(
    tmp_path: Path, server: PackageServer, folders: ProjectFolders
) -> None:
    first = folders.open(parse_source("Some.Name==1.0.0"))
    digest = hashlib.sha256(SDIST).hexdigest()
    assert (Path(first.path) / "lib.py").read_text() == "a = 1\n"
    assert (first.name, first.origin, first.revision, first.sha256, first.licence) == (
        "Some.Name", "pypi:Some.Name", "1.0.0", digest, "MIT",
    )  # fmt: skip
    assert Path(first.path).name == "some_name-1.0"
    asked = len(server.asked)
    assert folders.open(parse_source("Some.Name==1.0.0")) == first
    assert len(server.asked) == asked, "a known release needs no index"
    archive = tmp_path / "some_name-1.0.tar.gz"
    archive.write_bytes(SDIST)
    assert folders.open(parse_source(str(archive))).path == first.path, "the same content is the same folder"
    assert leftovers(tmp_path) == []


def test_a_known_release_is_found_when_the_index_goes_away(server: PackageServer, folders: ProjectFolders) -> None:
    first = folders.open(parse_source("some-name==1.0"))
    server.close()
    assert folders.open(parse_source("some-name==1.0")) == first
    with pytest.raises(DataError, match=r"some-name==2\.0: .*index cannot"):
        folders.open(parse_source("some-name==2.0"))


def test_messages_name_the_source_once(folders: ProjectFolders) -> None:
    with pytest.raises(DataError) as raised:
        folders.open(parse_source("some-name==9.0"))
    assert str(raised.value).startswith("some-name==9.0: no source distribution")


def test_each_source_is_a_folder_or_refused_with_its_reason(
    tmp_path: Path, server: PackageServer, folders: ProjectFolders
) -> None:
    wrong = "0" * 64
    server.files["some_name-4.0.tar.gz"] = SDIST
    server.stated["some_name-4.0.tar.gz"] = wrong
    server.files["some_name-5.0.tar.gz"] = SDIST
    server.stated["some_name-5.0.tar.gz"] = None
    (tmp_path / "given").mkdir()
    texts = [f"some-name=={number}.0" for number in (2, 3, 5, 9)]
    specs = [*map(parse_source, texts), parse_source("some-name==1.0", sha256=wrong), parse_source("none==1"),
             parse_source(str(tmp_path / "given"))]  # fmt: skip
    *refused, given = specs
    reasons = []
    for spec in refused:
        with pytest.raises(DataError) as raised:
            folders.open(spec)
        reasons.append(str(raised.value))
    for reason, words in zip(
        reasons,
        ("'some_name-2.0/../../out': leads outside", "only wheels", "states no SHA-256", "no source distribution",
         f"not {wrong}", "answers 404"),
        strict=True,
    ):  # fmt: skip
        assert words in reason
    last = folders.open(given)
    assert (last.kind, last.path, last.origin) == ("folder", str(tmp_path / "given"), "")
    assert leftovers(tmp_path) == []
    assert not (tmp_path / "out").exists()


def test_an_archive_that_is_not_the_pinned_one_is_refused(tmp_path: Path, folders: ProjectFolders) -> None:
    archive = tmp_path / "some.tar.gz"
    archive.write_bytes(SDIST)
    with pytest.raises(DataError, match=r"/some\.tar\.gz: .*SHA-256 is"):
        folders.open(parse_source(str(archive), sha256="0" * 64))


def test_downloads_have_a_bound(tmp_path: Path, server: PackageServer) -> None:
    small = ProjectFolders(tmp_path / "cache", index=server.index, limits=SourceLimits(download_bytes=10))
    with pytest.raises(DataError, match=r"some-name==1\.0: .*than 10 bytes"):
        small.open(parse_source("some-name==1.0"))
    slow = ProjectFolders(tmp_path / "cache", index=server.index, limits=SourceLimits(wall_s=0))
    with pytest.raises(DataError, match=r"some-name==1\.0: .*than 0 s"):
        slow.open(parse_source("some-name==1.0"))


# --- git ------------------------------------------------------------------------------------------------------------


def repository(folder: Path, *commits: Mapping[str, str], modes: Mapping[str, str] | None = None) -> Sequence[str]:
    history = History(folder)
    for number, files in enumerate(commits):
        history.commit(f"Commit {number}", files, modes=modes)
    return history.write()


def test_a_commit_is_fetched_without_history_attributes_filters_and_submodules(
    tmp_path: Path, folders: ProjectFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "lib.py": "a = 1\n", "run.sh": "exit\n", "link": "lib.py", "tests/test_lib.py": "\n", "empty": "",
        ".gitattributes": "* eol=crlf filter=bad export-ignore\n", "below": "1" * 40, "LICENSE": MIT,
    }  # fmt: skip
    modes = {"run.sh": "100755", "link": "120000", "below": "160000"}
    first, second = repository(tmp_path / "origin.git", files, {"lib.py": "a = 2\n"}, modes=modes)
    marker = tmp_path / "ran"
    settings = tmp_path / "settings"
    settings.write_text(
        f'[filter "bad"]\n\tsmudge = touch {marker}\n\trequired = true\n[core]\n\thooksPath = {tmp_path}/hooks\n'
    )
    hook = tmp_path / "hooks/reference-transaction"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    address = f"file://{tmp_path}/origin.git"
    newest = folders.open(parse_source(address))
    assert (newest.name, newest.revision, newest.licence, newest.origin) == ("origin", second, "MIT", address)
    assert (Path(newest.path) / "lib.py").read_text() == "a = 2\n"
    older = folders.open(parse_source(f"{address}@{first}"))
    place = Path(older.path)
    assert {path.relative_to(place).as_posix() for path in place.rglob("*")} == {*files, "tests"}
    assert (place / "lib.py").read_bytes() == b"a = 1\n"
    assert (place / "link").readlink() == Path("lib.py")
    assert os.access(place / "run.sh", os.X_OK)
    assert list((place / "below").iterdir()) == []
    assert not marker.exists()
    (tmp_path / "origin.git").rename(tmp_path / "gone.git")
    assert folders.open(parse_source(f"{address}@{first}")) == older, "a pinned commit needs no network"
    with pytest.raises(DataError, match="git fetch: "):
        folders.open(parse_source(address))


def test_a_folder_of_a_repository_is_a_project(tmp_path: Path, folders: ProjectFolders) -> None:
    files = {"packages/core/lib.py": "a = 1\n", "top.py": "\n", "packages/linked/top.py": "../../top.py"}
    repository(tmp_path / "origin.git", files, modes={"packages/linked/top.py": "120000"})
    address = f"file://{tmp_path}/origin.git"
    found = folders.open(parse_source(f"{address}@main#packages/core"))
    assert (found.name, [path.name for path in Path(found.path).iterdir()]) == ("core", ["lib.py"])
    with pytest.raises(DataError, match="folder packages/other"):
        folders.open(parse_source(f"{address}#packages/other"))
    with pytest.raises(DataError, match=r"top\.py.*outside"):
        folders.open(parse_source(f"{address}#packages/linked"))


def test_repositories_of_github_by_owner_and_name(tmp_path: Path) -> None:
    (commit,) = repository(tmp_path / "hub/owner/name.git", {"lib.py": "a = 1\n"})
    folders = ProjectFolders(tmp_path / "cache", github=f"file://{tmp_path}/hub")
    found = folders.open(parse_source("owner/name"))
    assert (found.source, found.name, found.revision) == ("owner/name", "name", commit)
    with pytest.raises(DataError, match=r"owner/none: .*fatal: .*hub/owner/none\.git"):
        folders.open(parse_source("owner/none"))


def test_a_repository_of_another_user_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: ProjectFolders
) -> None:
    """git's last line is "and the repository exists.", whatever the cause was."""
    repository(tmp_path / "origin.git", {"lib.py": "a = 1\n"})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(DataError, match=r"git fetch: fatal: .*; git config --global --add safe.directory /"):
        folders.open(parse_source(f"file://{tmp_path}/origin.git"))


@pytest.mark.parametrize(
    ("files", "modes", "cause"),
    [
        ({"link": "/etc/passwd"}, {"link": "120000"}, "outside the folder"),
        ({"a/link": "../../out"}, {"a/link": "120000"}, "outside the folder"),
        ({"Read": "1", "READ": "2"}, {}, "only by case or form"),
        ({"big": "x" * 3000}, {}, "unpacks to more than 2,000 bytes"),
    ],
)
def test_commits_are_refused_as_archives_are(
    tmp_path: Path, files: dict[str, str], modes: dict[str, str], cause: str
) -> None:
    repository(tmp_path / "origin.git", files, modes=modes)
    folders = ProjectFolders(tmp_path / "cache", limits=SourceLimits(unpacked_bytes=2000))
    with pytest.raises(DataError, match=cause):
        folders.open(parse_source(f"file://{tmp_path}/origin.git"))
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_commit_of_ten_million_paths_is_refused_while_it_is_listed(tmp_path: Path) -> None:
    repeated_trees(tmp_path / "origin.git")
    folders = ProjectFolders(tmp_path / "cache", limits=SourceLimits(files=1000))
    # The whole list has 220 MB, and takes git 6 s of CPU.
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with pytest.raises(DataError, match=r"origin\.git: .* 1,000 files"):
        folders.open(parse_source(f"file://{tmp_path}/origin.git"))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 3
    with open_repository(tmp_path / "origin.git") as opened, pytest.raises(DataError, match="more than 1,000,000"):
        read_repository_facts(opened)


def ends(process: int) -> bool:
    """Whether a process ends within a minute; one that nobody has waited for yet has ended."""
    for _ in range(1200):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_git_that_hangs_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = tmp_path / "pid"
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\necho $$ > {pid}.new && mv {pid}.new {pid}\nexec sleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    usage = SourceUsage(SourceLimits(), now=lambda: 1e6 if pid.exists() else 0.0)  # over when the child runs
    with pytest.raises(DataError, match="than 300 s"):
        fetch_commit("ssh://host.invalid/a.git", "", tmp_path / "git", usage)
    assert ends(int(pid.read_text()))
