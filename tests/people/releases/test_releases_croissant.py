import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caretbench.files import sha256_file
from caretbench.people.releases.release import ReleaseOptions, release_set
from caretbench.people.releases.release_files import croissant
from tests.support.built_sets import read_jsonl, write_set


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("croissant")
    release_set(write_set(root / "mine"), root / "out", ReleaseOptions(holdout=0.5, url="https://example.org/set"))
    return root / "out"


@pytest.fixture
def quiet() -> Iterator[None]:
    """Croissant's library uses parts of rdflib that are deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def test_the_library_of_croissant_reads_the_set_back(
    released: Path, quiet: None, caplog: pytest.LogCaptureFixture
) -> None:
    import mlcroissant

    with caplog.at_level(logging.WARNING):
        dataset = mlcroissant.Dataset(jsonld=str(released / "croissant.json"))
    assert not dataset.metadata.issues.errors
    assert not dataset.metadata.issues.warnings
    assert not caplog.records
    assert (dataset.metadata.name, dataset.metadata.license, str(dataset.metadata.version)) == (
        "mine",
        ["MIT"],
        "1.0.0",
    )
    records = [
        {name.partition("/")[2]: plain(value) for name, value in one.items()} for one in dataset.records("problems")
    ]
    rows = read_jsonl(released / "texts.jsonl")
    assert [{name: one[name] for name in records[0]} for one in rows] == records
    assert {"prefix", "reference", "suffix", "tests", "generator", "attempts", "cost", "canary"} <= records[0].keys()


def plain(value: Any) -> Any:
    value = value.decode() if isinstance(value, bytes) else value
    return value.item() if hasattr(value, "item") else value


def test_every_file_has_its_hash(released: Path) -> None:
    metadata = json.loads((released / "croissant.json").read_text("utf-8"))
    found = {file["contentUrl"]: file["sha256"] for file in metadata["distribution"]}
    files = {path.relative_to(released).as_posix() for path in released.rglob("*") if path.is_file()}
    assert found.keys() == files - {"croissant.json", "checksums"}
    assert all(sha256_file(released / name) == digest for name, digest in found.items())


def test_fields_have_one_plain_type_in_all_rows() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "n": 1, "x": 1, "flag": True, "mixed": 1, "none": None, "list": []},
        {"id": "b", "n": 2, "x": 0.5, "flag": False, "mixed": "1", "none": "a", "list": []},
    ]
    fields = croissant(("mine", "", "1.0.0", "MIT", "devbench"), "rows.jsonl", rows, {})["recordSet"][0]["field"]
    types = {field["source"]["extract"]["column"]: field["dataType"] for field in fields}
    assert types == {"id": "sc:Text", "n": "sc:Integer", "x": "sc:Float", "flag": "sc:Boolean"}


def test_the_metadata_say_what_a_plan_for_hosting_needs(released: Path) -> None:
    metadata = json.loads((released / "croissant.json").read_text("utf-8"))
    assert metadata["url"] == "https://example.org/set"
    assert metadata["datePublished"] == "2026-11-23"
    assert metadata["conformsTo"].endswith("croissant/1.0")
    assert "held out" in metadata["description"]
