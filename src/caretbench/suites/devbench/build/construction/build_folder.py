"""The folder of a built set.

::

    mine/
      LANGUAGE/CATEGORY/NAME.EXT  the instances, as `--data` reads them; NAME.toml has the predicates of documentation
      instances.jsonl             one row for each instance
      attempts.jsonl              one row for the end of each attempt
      requests.jsonl              what was sent to generators
      asked.jsonl, errors.jsonl   answers of generators, and requests without one
      validity.jsonl              verdicts of the gate on candidates
      rejected/                   files of instances that people rejected
      manifest.json               seed, canary, options, yields

Rows are appended before and after each step, so that a killed build goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from caretbench.build.build_models import ANSWERS_FILE
from caretbench.errors import DataError
from caretbench.files import (
    RowAppender,
    RowT,
    describe_validation_error,
    read_rows,
    sha256_text,
    write_atomically,
    write_rows,
)
from caretbench.languages import language
from caretbench.problem import Latency, Problem
from caretbench.suites.devbench import starter
from caretbench.suites.devbench.build.construction.build_rows import (
    ConstructionManifest,
    InstanceAttempt,
    InstanceRequest,
)
from caretbench.suites.devbench.built_instances import INSTANCES_FILE, BuiltInstance, built_instances, built_problems
from caretbench.suites.devbench.documentation import DocumentationCheck

ATTEMPTS_FILE: Final = "attempts.jsonl"
REQUESTS_FILE: Final = "requests.jsonl"
VALIDITY_FILE: Final = "validity.jsonl"
MANIFEST_FILE: Final = "manifest.json"
LOCK_FILE: Final = "build.lock"
REJECTED_FOLDER: Final = "rejected"


class StoredAnswer(BaseModel):
    """The fields of a stored answer that a build of instances needs; others are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    role: str
    request: str
    model: str
    text: str | None = None
    finish_reason: str | None = None
    cost: float | None = None
    latency: Latency | None = None


def total_cost(answers: Iterable[StoredAnswer]) -> float | None:
    """Return the cost of answers in US dollars; None if that of one is not known."""
    return sum_of_costs([answer.cost for answer in answers])


def sum_of_costs(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs; None if one is not known: the sum of the others would be too low."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


class InstanceFile(NamedTuple):
    """Text of an instance's file, and of the file with its predicates, if it has one."""

    text: str
    predicates: str


class BuildFolder:
    """Folder of a built set, with its rows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # --- rows -------------------------------------------------------------------------------------------------------

    def instances(self) -> dict[str, BuiltInstance]:
        """Return the instances by id; of two rows of one id the later one.

        Raises:
            DataError: a row is malformed.
        """
        return built_instances(self.path)

    def attempts(self) -> list[InstanceAttempt]:
        """Return the ends of all attempts; DataError if a row is malformed."""
        return list(self._rows(ATTEMPTS_FILE, InstanceAttempt))

    def requests(self) -> list[InstanceRequest]:
        """Return all requests; DataError if a row is malformed."""
        return list(self._rows(REQUESTS_FILE, InstanceRequest))

    def answers(self) -> dict[tuple[str, str], StoredAnswer]:
        """Return the stored answers by model and request; DataError if a row is malformed."""
        return {(row.model, row.request): row for row in self._rows(ANSWERS_FILE, StoredAnswer)}

    def _rows(self, name: str, schema: type[RowT]) -> Iterator[RowT]:
        path = self.path / name
        if path.exists():
            yield from read_rows(path, schema, allow_partial_last_line=True)

    def append(self, name: str, *rows: BaseModel) -> None:
        """Append rows to a file of the folder; DataError if it is a link."""
        if (self.path / name).is_symlink():
            raise DataError(f"{self.path / name}: it is a link; remove it")
        with RowAppender(self.path / name) as appender:
            appender.append(*rows)

    def write_instances(self, rows: Mapping[str, BuiltInstance]) -> None:
        """Replace the rows of instances, in the order of their ids."""
        write_rows(self.path / INSTANCES_FILE, (rows[name] for name in sorted(rows)))

    def manifest(self) -> ConstructionManifest | None:
        """Return the manifest; None in a new folder.

        Raises:
            DataError: it is malformed, or of another suite.
        """
        path = self.path / MANIFEST_FILE
        if not path.exists():
            return None
        try:
            found = ConstructionManifest.model_validate_json(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: cannot be read ({error})") from None
        except ValidationError as error:
            raise DataError(
                f"{path}: {describe_validation_error(error)}; it is no folder of `build devbench`"
            ) from None
        if found.suite != "devbench":
            raise DataError(f"{path}: the folder holds a build of {found.suite}; choose another one")
        return found

    def write_manifest(self, manifest: ConstructionManifest) -> None:
        """Write the manifest."""
        write_atomically(self.path / MANIFEST_FILE, json.dumps(manifest.model_dump(mode="json"), indent=2) + "\n")

    # --- files ------------------------------------------------------------------------------------------------------

    def file_of(self, instance: str) -> Path:
        """Return the path of an instance's file.

        Raises:
            DataError: the language is unknown, or a link leads out of the folder.
        """
        try:
            path = self.path / f"{instance}{language(instance.partition('/')[0]).suffix}"
        except KeyError as error:
            raise DataError(f"{self.path}: {instance}: {error.args[0]}") from None
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise DataError(f"{path}: a link leads out of the folder; remove it")
        return path

    def write_instance(self, instance: str, content: InstanceFile) -> None:
        """Write the file of an instance, and the one of its predicates."""
        path = self.file_of(instance)
        if content.predicates:
            write_atomically(path.with_suffix(".toml"), content.predicates)
        write_atomically(path, content.text)

    def reject_instance(self, instance: str, attempt: int) -> None:
        """Move the files of a rejected instance away, if they are there."""
        path = self.file_of(instance)
        for file in (path, path.with_suffix(".toml")):
            if file.exists():
                target = (
                    self.path / REJECTED_FOLDER / instance.rpartition("/")[0] / f"{file.stem}-{attempt}{file.suffix}"
                )
                target.parent.mkdir(parents=True, exist_ok=True)
                file.rename(target)

    def rejected_problems(self) -> list[Problem]:
        """Return the problems that people rejected; their ids begin with ``rejected/``."""
        root = self.path / REJECTED_FOLDER
        found = starter.load(root, source=REJECTED_FOLDER) if any(root.glob("*/*/*.*")) else []
        return [problem.model_copy(update={"id": f"{REJECTED_FOLDER}/{problem.id}"}) for problem in found]

    def problems(self) -> list[Problem]:
        """Return the problems of all files, with labels and provenance of the rows; empty in a new folder.

        Raises:
            DataError: a file or a row is malformed.
        """
        return built_problems(self.path)

    def text_hash(self, instance: str) -> str:
        """Return the hash of an instance's file."""
        return sha256_text(self.file_of(instance).read_text("utf-8"))


def predicate_file(check: DocumentationCheck | None) -> str:
    """Return the text of the file with an instance's predicate; empty without one."""
    if check is None:
        return ""
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in check.model_dump(mode="json").items()
    ]
    return "[documentation]\n" + "\n".join(lines) + "\n"
