"""Keys and values of the safety net: what is kept of the package's files and of its JSON output.

Verdicts, statuses, labels and numbers are kept as they are (numbers with twelve significant digits), texts as the
beginning of their SHA-256. Times, paths, versions, memory, facts of the machine and prose are dropped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Values = dict[str, Any]

DIGITS = 12
HASH_DIGITS = 16
LONGEST_WORD = 80
MISSING = "(missing)"

# Names of today by the names that the first record was made with: a deliberate change of name is no difference.
RENAMED = {
    "golden": "reference", "golden-twice": "reference-twice", "other-golden": "other-reference",
    "golden_s": "reference_s", "golden_above": "reference_above", "left_out": "excluded",
    "if_left_out_failed": "if_excluded_failed", "if_left_out_passed": "if_excluded_passed",
    "printed": "paper_intervals",
    "own": "suite_tables", "forms": "paper_tables",
}  # fmt: skip

_DROPPED = re.compile(
    r"schema_version|versions?|\w+_s|seconds|\w+_seconds|time|latency|memory\w*|path|folder|run|host|isolation|toolchains"
    r"|warnings?|notes?|title|forms|paper_tables|heat_maps|manifest|scan|order|tries|base_url|address|description|message|diagnostics|stderr"
)
# The hash of a model's settings holds the address of the server; the settings are kept without it.
_ADDRESSED = "parameters"
# Parts of a report's strata that are kept as one hash: their means over all problems are kept as numbers.
_HASHED = ("similarity", "printed", "paper_intervals")
_NAMING = (
    "model", "policy", "first", "second", "scope", "label", "labels", "problem_id", "repository", "filter", "task",
    "tier", "query", "attack", "family", "name", "criterion", "repeat",
)  # fmt: skip
_DETAILS = ("answer", "fault", "flags", "stage", "type_check", "run_status")
_VERSION = re.compile(r"@\d+")


def digest(value: Any) -> str:
    """Return the beginning of the SHA-256 of a text, or of the canonical JSON of any other value."""
    text = value if isinstance(value, str) else json.dumps(cleaned(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]


def rounded(value: float) -> float:
    """Return a number with twelve significant digits."""
    return float(f"{value:.{DIGITS}g}")


def word(text: str) -> str:
    """Return a name as today's, without the version that follows it: ``syntax`` of ``syntax@1``."""
    return RENAMED.get(text, _VERSION.sub("", text))


def cleaned(value: Any) -> Any:
    """Return a JSON value without dropped keys and empty values, with rounded numbers."""
    if isinstance(value, Mapping):
        kept = {word(name): cleaned(one) for name, one in value.items() if not _DROPPED.fullmatch(name)}
        return {name: one for name, one in kept.items() if one not in (None, {}, [])}
    if isinstance(value, list):
        return [cleaned(one) for one in value]
    return rounded(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers, booleans and single words of a JSON value by their place; prose is left out."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            named = name in _NAMING and key.endswith(_identity(value))
            if not (named or name == _ADDRESSED or _DROPPED.fullmatch(name)):
                place = f"{key}/{word(name)}"
                if name in _HASHED and "/strata/" in key:
                    yield place, digest(one)
                else:
                    yield from flat(one, place)
    elif isinstance(value, list):
        taken: set[str] = set()
        for number, one in enumerate(value):
            name = _identity(one) if isinstance(one, Mapping) else ""
            name = name if name and name not in taken else f"{name}#{number}"
            taken.add(name)
            yield from flat(one, f"{key}/{name}")
    elif isinstance(value, str):
        if len(value) <= LONGEST_WORD and not re.search(r"\s", value):
            yield key, word(value)
    elif isinstance(value, bool):
        yield key, value
    elif value is not None:
        yield key, rounded(value)


def _identity(element: Mapping[str, Any]) -> str:
    parts: list[str] = []
    for name in _NAMING:
        value = element.get(name)
        if isinstance(value, Mapping):
            parts += [f"{label}={one}" for label, one in value.items()]
        elif value is not None:
            parts.append(word(str(value)))
    return " ".join(parts)


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file; none where the file is missing."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def of_problems(problems: Iterable[Mapping[str, Any]]) -> Values:
    """Return the hashes of problems: their texts, their checks, their labels."""
    found: Values = {}
    for row in problems:
        key = f"problem/{row['id']}"
        found[f"{key}/text"] = digest([row["shown"], row["splice"], row["reference"]])
        found[f"{key}/checks"] = digest(row["checks"])
        found[f"{key}/labels"] = digest([row["labels"], row.get("cluster"), row.get("overlap_group")])
    return found


def of_run(folder: Path) -> Values:
    """Return what a run's folder holds: data, models, text hashes, scores and judgements."""
    found: Values = {}
    manifest = folder / "manifest.json"
    if manifest.exists():
        stated = json.loads(manifest.read_text("utf-8"))
        found["data"] = [stated["data"]["hash"][:HASH_DIGITS], stated["data"]["problems"]]
        for info in (*stated["models"], *stated.get("judges", ())):
            found[f"model/{word(info['model'])}"] = [info["source"], digest(info["settings"])]
    for row in rows(folder / "completions.jsonl"):
        found[f"completion/{_sample(row)}"] = None if row["text"] is None else digest(row["text"])
    for row in rows(folder / "scores.jsonl"):
        details = {name: _short(str(row["details"][name])) for name in _DETAILS if row["details"].get(name)}
        value = {"counted": row["counted"], "outcome": row["outcome"], **row["values"], **details}
        found[f"score/{_sample(row)}/{word(row['scorer'])}/{word(row['policy'])}"] = cleaned(value)
    for row in rows(folder / "judgements.jsonl"):
        key = f"{row['problem_id']}/{row['answer'][:HASH_DIGITS]}/{word(row['criterion'])}/{row['repeat']}"
        found[f"judgement/{key}"] = cleaned({**row["values"], "unreadable": row["fault"] is not None})
    for name in ("errors.jsonl", "judge_errors.jsonl"):
        found[name] = len(rows(folder / name))
    return found


def _short(text: str) -> str:
    return word(text) if len(text) <= LONGEST_WORD and not re.search(r"\s", text) else digest(text)


def _sample(row: Mapping[str, Any]) -> str:
    return f"{word(row['model'])}/{row['problem_id']}/{row['sample']}"


def of_validity(verdicts: Iterable[Mapping[str, Any]]) -> Values:
    """Return the gate's verdicts with the names of their reasons."""
    return {
        f"validity/{row['problem_id']}": [
            row["verdict"],
            sorted(reason.partition(":")[0] for reason in row["reasons"]),
            bool(row["details"].get("killed_by")),  # of several mutants the one that ends first is named
            row["details"].get("mutants_tried", ""),
        ]
        for row in verdicts
    }


def of_build(folder: Path) -> Values:
    """Return what a build's folder holds: problems, verdicts, what was rejected, the manifest's numbers."""
    found = of_problems(rows(folder / "problems.jsonl")) | of_validity(rows(folder / "validity.jsonl"))
    found["problems"] = digest([row["id"] for row in rows(folder / "problems.jsonl")])
    for name in ("candidates.jsonl", "rejected.jsonl", "leaks.jsonl"):
        lines = rows(folder / name)
        found[name] = [len(lines), digest(sorted(digest(row) for row in lines))]
    manifest = folder / "manifest.json"
    stated = json.loads(manifest.read_text("utf-8")) if manifest.exists() else {}
    return found | {f"manifest{key}": value for key, value in flat(stated)}


def renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a record with the names of today in their keys."""
    return {"/".join(RENAMED.get(part, part) for part in key.split("/")): value for key, value in values.items()}


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield each key whose value differs, with both values; a missing value is :data:`MISSING`."""
    for key in sorted({*one, *other}):
        first, second = one.get(key, MISSING), other.get(key, MISSING)
        if first != second:
            yield key, first, second
