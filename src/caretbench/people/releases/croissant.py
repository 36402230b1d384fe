"""Croissant metadata of a released set (MLCommons, version 1.0): files with hashes, and the fields of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue

from caretbench.people.releases.datasheet import Datasheet

CROISSANT_FILE: Final = "croissant.json"
_SPECIFICATION: Final = "http://mlcommons.org/croissant/1.0"
_TYPES: Final[Mapping[type, str]] = {bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float", str: "sc:Text"}
_FORMATS: Final[Mapping[str, str]] = {
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".md": "text/markdown",
}
_OWN_WORDS: Final = (
    "citeAs", "column", "conformsTo", "data", "dataType", "equivalentProperty", "examples", "extract", "field",
    "fileProperty", "fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator",
    "source", "subField", "transform",
)  # fmt: skip
"""Words of the context that Croissant defines itself; some have a type."""
_TYPED: Final[Mapping[str, Mapping[str, str]]] = {
    "conformsTo": {"": "dct:conformsTo"},
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}


def croissant(
    sheet: Datasheet, rows_file: str, rows: Sequence[Mapping[str, JsonValue]], hashes: Mapping[str, str]
) -> dict[str, Any]:
    """Return the metadata of a released set.

    Args:
        sheet: Its datasheet.
        rows_file: Name of the file with one row a problem.
        rows: Its rows; the fields are those that all rows have with a plain value of one type.
        hashes: SHA-256 of each file by its path.
    """
    metadata: dict[str, Any] = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": _SPECIFICATION,
        "name": sheet.name,
        "description": _description(sheet),
        "version": sheet.version,
        "license": sheet.licence,
        "isLiveDataset": False,
        "keywords": ["code completion", "benchmark", sheet.suite],
        "distribution": [_file(path, digest) for path, digest in sorted(hashes.items())],
        "recordSet": [_record_set(rows_file, rows)],
    }
    if sheet.url:
        metadata["url"] = sheet.url
    if sheet.figures.created:
        metadata["datePublished"] = sheet.figures.created[1][:10]
    metadata["citeAs"] = f"{sheet.name}, version {sheet.version}"
    return metadata


def _context() -> dict[str, Any]:
    words: dict[str, Any] = {
        "@language": "en", "@vocab": "https://schema.org/", "cr": "http://mlcommons.org/croissant/",
        "dct": "http://purl.org/dc/terms/", "rai": "http://mlcommons.org/croissant/RAI/", "sc": "https://schema.org/",
    }  # fmt: skip
    for word in _OWN_WORDS:
        typed = _TYPED.get(word, {"": f"cr:{word}"})
        words[word] = typed.get("", typed)
    return words


def _description(sheet: Datasheet) -> str:
    return (
        f"{sheet.figures.problems} code-completion problems of the suite {sheet.suite}, in {len(sheet.figures.cells)} "
        f"cells. {sheet.holdout_problems} further problems are held out. Canary: {sheet.canary}"
    )


def _file(path: str, digest: str) -> dict[str, str]:
    suffix = path[path.rfind(".") :] if "." in path else ""
    return {
        "@type": "cr:FileObject", "@id": path, "name": path, "contentUrl": path,
        "encodingFormat": _FORMATS.get(suffix, "text/plain"), "sha256": digest,
    }  # fmt: skip


def _record_set(rows_file: str, rows: Sequence[Mapping[str, JsonValue]]) -> dict[str, Any]:
    fields = {name: _data_type([row.get(name) for row in rows]) for name in rows[0]}
    return {
        "@type": "cr:RecordSet", "@id": "problems", "name": "problems", "description": "One record a problem.",
        "key": {"@id": "problems/id"},
        "field": [
            {
                "@type": "cr:Field", "@id": f"problems/{name}", "name": f"problems/{name}", "dataType": kind,
                "source": {"fileObject": {"@id": rows_file}, "extract": {"column": name}},
            }
            for name, kind in fields.items()
            if kind is not None
        ],
    }  # fmt: skip


def _data_type(values: Sequence[JsonValue]) -> str | None:
    """Return Croissant's type of a field; None if it is not the same plain type in all rows."""
    types = {type(value) for value in values}
    if types == {int, float}:
        return _TYPES[float]
    return _TYPES.get(types.pop()) if len(types) == 1 else None
