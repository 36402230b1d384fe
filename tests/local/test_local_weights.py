"""Pulling weights out of packages, from an index on a real socket."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from caretbench.download import download_file
from caretbench.errors import DataError
from caretbench.local import weights, weights_pull
from caretbench.local.package_index import PUBLIC_INDEX, file_url, index_url
from caretbench.local.weights import CatalogueModel, find_weights, pulled_path
from caretbench.local.weights_pull import TermsNotAcceptedError, plain_text, pull_weights, remove_weights

BODY = bytes(range(256)) * 3000
PARTS = (BODY[:300_000], BODY[300_000:])
TERMS = "<html><h1>Menu</h1><p>Last <b>modified</b>: today</p><ul><li>One\nline<li>Two</ul><link x><p>Menu</html>"


def wheel(folder: Path, number: int, members: dict[str, bytes]) -> dict[str, object]:
    """Write a wheel; gives what the catalogue says of it."""
    path = folder / f"small_part{number}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("small/__init__.py", "raise SystemExit('package code was run')")
        for name, data in members.items():
            archive.writestr(name, data)
    return {
        "project": f"small-part{number}", "file": path.name, "size": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }  # fmt: skip


class Index:
    """A package index: JSON or HTML pages, and the files."""

    def __init__(self, folder: Path) -> None:
        self.form = "json"
        self.asked: list[str] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append(self.path)
                place = self.path.strip("/").split("/")
                if place[0] == "simple":
                    names = [path.name for path in folder.glob(f"{place[1].replace('-', '_')}-*.whl")]
                    links = [f"../../files/{name}?signed=1#sha256=0" for name in names]
                    if not names:
                        self.answer(404, "text/html", b"none")
                    elif owner.form == "json":
                        files = [{"filename": name, "url": url} for name, url in zip(names, links, strict=True)]
                        self.answer(200, "application/vnd.pypi.simple.v1+json", json.dumps({"files": files}).encode())
                    else:
                        page = "".join(f'<a href="{url}">x</a>' for url in links)
                        self.answer(200, "text/html", page.encode())
                else:
                    self.answer(200, "application/zip", (folder / place[1].partition("?")[0]).read_bytes())

            def answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels with a catalogue of one model, ``small``, in two parts and with terms."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    first = wheel(folder, 1, {"small/data.part0": PARTS[0], "small/TERMS.html": TERMS.encode()})
    second = wheel(folder, 2, {"small/data.part1": PARTS[1]})
    model = {
        "about": "a test", "licence": "own", "homepage": "-", "file": "small.gguf", "size": len(BODY),
        "sha256": hashlib.sha256(BODY).hexdigest(),
        "wheels": [
            {**first, "parts": ["small/data.part0"], "papers": {"TERMS.html": "small/TERMS.html"}},
            {**second, "parts": ["small/data.part1"]},
        ],
        "terms": {"option": "--accept-small-terms", "address": "https://example.org/terms", "paper": "TERMS.html",
                  "start": "<p>Last", "end": "<link "},
    }  # fmt: skip
    monkeypatch.setattr(weights, "catalogue", lambda: {"small": CatalogueModel.model_validate(model)})
    monkeypatch.setenv("CARETBENCH_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def index(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    server = Index(shelf)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://user:hidden-word@{server.address}/simple")
    yield server
    server.close()


@pytest.mark.parametrize("form", ["json", "html"])
def test_weights_are_put_together_and_nothing_else_is_kept(index: Index, form: str) -> None:
    index.form = form
    seen: list[tuple[str, int, int]] = []
    pulled = pull_weights("small", accept_terms=True, progress=lambda *step: seen.append(step))
    assert not pulled.already_there
    assert pulled.path.read_bytes() == BODY
    assert {path.name for path in pulled.path.parent.iterdir()} == {".lock", "small.gguf", "TERMS.html"}
    assert seen[-1] == ("small.gguf", len(BODY), len(BODY))
    assert find_weights("small") == pulled.path
    asked = len(index.asked)
    assert pull_weights("small").already_there, "accepted once, and here"
    assert len(index.asked) == asked, "a second call asks nobody"


def test_terms_come_first(index: Index) -> None:
    with pytest.raises(TermsNotAcceptedError, match="--accept-small-terms") as caught:
        pull_weights("small")
    assert caught.value.text == "Last modified: today\n\n- One line\n- Two"
    assert pulled_path("small") is None
    assert not any("part2" in path for path in index.asked), "only the part with the terms was fetched"


def test_terms_without_a_network_are_named(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:1/simple")
    with pytest.raises(TermsNotAcceptedError, match=r"https://example\.org/terms") as caught:
        pull_weights("small")
    assert caught.value.text == ""


def test_without_a_network_one_line_says_what_helps(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://me:hidden-word@127.0.0.1:1/simple")
    with pytest.raises(DataError, match=r"reached.*--from FILE") as caught:
        pull_weights("small", accept_terms=True)
    assert "hidden-word" not in str(caught.value)


def test_a_local_folder_or_file_serves(shelf: Path, tmp_path: Path) -> None:
    assert pull_weights("small", source=shelf, accept_terms=True).path.read_bytes() == BODY
    assert remove_weights("small") >= len(BODY)
    assert pulled_path("small") is None
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(BODY)
    assert pull_weights("small", source=mine, accept_terms=True).path.read_bytes() == BODY


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("shelf/small_part1-1.0-py3-none-any.whl", "comes in 2 wheels; give the folder"),
        ("nothing", "no such file; expected small_part1"),
        ("nothing.gguf", "no such file"),
        ("other.gguf", "another file than the pinned small.gguf"),
        ("empty", "no such file; expected small_part1"),
        ("changed", "not the pinned small_part2"),
    ],
)
def test_other_sources_are_refused(shelf: Path, tmp_path: Path, source: str, complaint: str) -> None:
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    (tmp_path / "empty").mkdir()
    (tmp_path / "changed").mkdir()
    for path in shelf.iterdir():
        (tmp_path / "changed" / path.name).write_bytes(path.read_bytes() + b"+" * ("part2" in path.name))
    with pytest.raises(DataError, match=complaint):
        pull_weights("small", source=tmp_path / source, accept_terms=True)
    assert pulled_path("small") is None


def test_a_wrong_package_of_the_index_is_thrown_away(
    index: Index, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights_pull, "download_file", partial(download_file, pause=lambda _seconds: None))
    path = next(shelf.glob("*part2*"))
    path.write_bytes(bytes(len(path.read_bytes())))
    with pytest.raises(DataError, match="SHA-256") as caught:
        pull_weights("small", accept_terms=True)
    assert "hidden-word" not in str(caught.value)
    assert pulled_path("small") is None


def test_a_damaged_model_is_put_together_again(index: Index) -> None:
    path = pull_weights("small", accept_terms=True).path
    path.write_bytes(bytes(len(BODY)))
    assert not pull_weights("small", accept_terms=True).already_there
    assert path.read_bytes() == BODY


def test_an_index_without_the_file_is_one_line(index: Index) -> None:
    with pytest.raises(DataError, match="answers 404"):
        file_url("missing", "missing.whl")
    with pytest.raises(DataError, match=r"no other\.whl"):
        file_url("small-part1", "other.whl")


def test_names_and_paths(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="pull small --accept-small-terms"):
        find_weights("small")
    with pytest.raises(DataError, match=r"/none\.gguf: .*\(small\)"):
        find_weights(str(tmp_path / "none.gguf"))
    with pytest.raises(DataError, match="a folder"):
        find_weights(str(tmp_path))
    with pytest.raises(DataError, match=r"'large'; .*small"):
        pull_weights("large")
    with pytest.raises(DataError, match=r"^small is not"):
        remove_weights("small")


def test_the_index_is_the_one_that_pip_or_uv_uses(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert index_url({**home, "PIP_INDEX_URL": "https://a/simple/", "UV_INDEX_URL": "https://b/simple"}) == (
        "https://b/simple"
    )
    assert index_url({"UV_DEFAULT_INDEX": "house=https://c/simple?key=1"}) == "https://c/simple?key=1"
    assert index_url({"PIP_INDEX_URL": "https://c/simple?key=1"}) == "https://c/simple?key=1"
    mine = tmp_path / "pip.conf"
    mine.write_text("[global]\nindex-url = https://d/simple/\n")
    assert index_url({**home, "PIP_CONFIG_FILE": str(mine)}) == "https://d/simple"
    mine.write_text("[[[broken")
    assert index_url({**home, "PIP_CONFIG_FILE": str(mine)}).startswith("http")


def test_the_catalogue_is_pinned() -> None:
    for name, model in weights.catalogue().items():
        assert len(model.sha256) == 64, name
        assert model.file.endswith(".gguf")
        assert model.wheels
        for package in model.wheels:
            assert package.file.startswith(package.project.replace("-", "_"))
            assert package.parts or package.papers
    assert weights.catalogue()["smollm2"].terms is None
    assert weights.catalogue()["smollm2"].licence == "Apache-2.0"
    assert weights.catalogue()["gemma"].terms is not None
    assert PUBLIC_INDEX == "https://pypi.org/simple"


def test_plain_text_of_a_page() -> None:
    assert plain_text("<p>a  <i>b</i>c</p>\n\n<p>d &amp; e</p>") == "a bc\n\nd & e"
