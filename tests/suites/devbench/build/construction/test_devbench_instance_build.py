"""Rounds of a build with made models and a gate that passes everything: nothing runs."""

from __future__ import annotations

import builtins
import contextlib
import json
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from caretbench.build.build_models import ANSWERS_FILE, AnswersMissingError, BuildJob, BuildRequest
from caretbench.files import DataError
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites.devbench.build.construction.build_folder import LONGEST_DIAGNOSIS, OPTIONS, BuildFolder
from caretbench.suites.devbench.build.construction.construction_build import build_instances
from caretbench.suites.devbench.build.construction.scenario_grid import counts_to_restore
from caretbench.suites.devbench.build.construction.tracks import SHOWN_CHARACTERS
from caretbench.suites.devbench.built_instances import BuiltInstance
from caretbench.suites.suite_types import BuildResult
from caretbench.suites.validity import Validity
from tests.support.replayed_answers import answer_entry, written_answers

SEED = 7
ANSWERS = [answer_entry(one) for one in written_answers() if one.id.startswith("python/low_context/")]


class MadeModels:
    """Generators that answer by a function, and write the rows of their answers."""

    roles = frozenset({"generator"})

    def __init__(self, folder: Path, answer: Callable[[str, BuildRequest], str | None], *names: str) -> None:
        self.folder, self.answer, self.generators = folder, answer, names or ("one",)
        self.asked: list[tuple[str, str]] = []

    def names(self, role: str) -> tuple[str, ...]:
        assert role == "generator"
        return self.generators

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        raise NotImplementedError

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        path = self.folder / ANSWERS_FILE
        rows = path.read_text().splitlines() if path.exists() else []
        stored = {(row["model"], row["request"]) for row in map(json.loads, rows)}
        missing = 0
        with path.open("a") as file:
            for name, asked in requests.items():
                for one in asked:
                    if (name, one.key) in stored:
                        continue
                    self.asked.append((name, one.key))
                    text = self.answer(name, one)
                    if text is None:
                        missing += 1
                        continue
                    row = {"role": role, "request": one.key, "model": name, "text": text, "cost": 0.5}
                    file.write(json.dumps(row) + "\n")
        if missing:
            raise AnswersMissingError(f"{missing} answers are missing")
        return {}


class PassingGate:
    """A gate that passes every problem."""

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:
        assert path.name == "validity.jsonl"
        return [Validity(problem_id=one.id, verdict="valid", details={"killed_by": "made"}) for one in problems]


def build(folder: Path, models: MadeModels, *, progress: Progress | None = None, **options: Any) -> BuildResult:
    values = {option.name: option.default for option in OPTIONS} | {
        "language": ["python"], "category": ["low_context"], "compare": ["none"], "scenario_seed": 3, "patience": 60,
    }  # fmt: skip
    job = BuildJob((), folder, values | options, progress or Progress(), models)
    return build_instances(job, lambda _executor, _progress: PassingGate(), lambda _one, _text: None)


def fitting(name: str, request: BuildRequest) -> str:
    """An answer of the requested kind and difficulty that the cell does not hold yet; else a refusal."""
    text = request.prompt.messages[1].text  # type: ignore[union-attr]
    for entry in ANSWERS:
        fits = any(f"- kind: {kind}\n" in text for kind in entry["kinds"])
        fits = fits and any(f"- difficulty: {band}\n" in text for band in entry["bands"])
        answer = {field: value for field, value in entry["answer"].items() if field != "language"}
        if "the suffix is empty" in text:
            answer |= {"tests": answer["suffix"] + answer["tests"], "suffix": ""}
        elif not answer["suffix"].strip():
            continue
        if fits and f"- {answer['name']} (" not in text and f"<<<{answer['reference']}>>>" not in text:
            return json.dumps(answer)
    return "I cannot help with that."


def test_an_instance_has_its_row_and_its_labels(tmp_path: Path) -> None:
    models = MadeModels(tmp_path, fitting, "gpt-4o")
    result = build(tmp_path, models, per_cell=2, licence="MIT")
    assert result.usable
    folder = BuildFolder(tmp_path)
    rows = folder.instances()
    assert len(rows) == 2
    for problem in folder.problems():
        row = rows[problem.id]
        assert (row.generator, row.generator_family, row.licence) == ("gpt-4o", "openai", "MIT")
        assert row.cost == 0.5 * row.attempts
        assert row.killed_by == "made"
        assert problem.label("generator_family") == "openai"
        assert (problem.label("kind"), problem.label("band")) == (row.kind, row.band)
        assert problem.provenance.licence == "MIT"
        assert problem.cluster == row.scenario.id
    manifest = folder.manifest()
    assert manifest is not None
    assert manifest.instances == {"python/low_context": 2}
    assert sum(manifest.yields["python/low_context"].values()) == len(folder.attempts()) == len(models.asked)
    assert manifest.cost == 0.5 * len(models.asked)
    assert manifest.canary.startswith("caretbench canary ")
    [version] = {
        line for one in folder.requests() for line in one.prompt.messages[1].text.splitlines() if "toolchain:" in line
    }
    assert version.startswith("- toolchain: nothing newer than what it supports (Python 3.")


def test_a_licence_that_a_release_refuses_is_noted(tmp_path: Path) -> None:
    class Notes(Progress):
        def note(self, line: str) -> None:
            notes.append(line)

    notes: list[str] = []
    build(tmp_path, MadeModels(tmp_path, fitting), progress=Notes(), per_cell=1, licence="MITX")
    assert notes[0].startswith("--licence MITX: the licence 'MITX' is not known to allow passing on; a release")


def test_missing_answers_stop_the_build_and_what_came_is_kept(tmp_path: Path) -> None:
    given = iter(range(1000))
    models = MadeModels(tmp_path, lambda name, one: fitting(name, one) if next(given) < 4 else None)
    with pytest.raises(AnswersMissingError):
        build(tmp_path, models, per_cell=3, patience=60)
    first = len(BuildFolder(tmp_path).attempts())
    assert first == 4
    assert BuildFolder(tmp_path).manifest() is not None
    again = MadeModels(tmp_path, fitting)
    build(tmp_path, again, per_cell=2, patience=60)
    asked_before = set(models.asked[:4])
    assert not asked_before & set(again.asked)


_TEXTS = ("prefix", "reference", "suffix", "tests")


def _other_words(text: str) -> str:
    """The text of a Python program with names of its own turned round."""
    kept = {*keyword.kwlist, *dir(builtins), "self"}
    imported = set(re.findall(r"(?:import|from) (\w+)", text)) | set(re.findall(r"\.(\w+)", text))

    def other(found: re.Match[str]) -> str:
        word = found[0]
        return word if word in kept | imported or len(word) < 3 else f"{word[::-1]}q"

    return re.sub(r"\b[a-z_]\w*\b", other, text)


def test_an_unlike_sibling_is_refused(tmp_path: Path) -> None:
    build(tmp_path, MadeModels(tmp_path, fitting), per_cell=1, siblings=True, scenario_seed=SEED)
    folder = BuildFolder(tmp_path)
    assert not any(row.sibling for row in folder.instances().values())
    details = [one.detail for one in folder.attempts() if one.scenario.endswith("-sibling") and one.outcome == "text"]
    assert any("not the shape" in one for one in details)


def test_siblings_have_the_scenario_of_their_original_and_its_cluster(tmp_path: Path) -> None:
    def sibling_or_fitting(name: str, request: BuildRequest) -> str:
        """The program of an original with other words in place of its own; otherwise a fitting answer."""
        text = fitting(name, request)
        if "-sibling:" not in request.prompt.messages[1].text:  # type: ignore[union-attr]
            given.append(text)
            return text
        original = json.loads(next(one for one in reversed(given) if one.startswith("{")))
        return json.dumps(
            {field: _other_words(value) if field in _TEXTS else value for field, value in original.items()}
        )

    given: list[str] = []
    build(tmp_path, MadeModels(tmp_path, sibling_or_fitting), per_cell=1, siblings=True, scenario_seed=SEED)
    folder = BuildFolder(tmp_path)
    rows = folder.instances().values()
    original = next(row for row in rows if not row.sibling)
    sibling = next(row for row in rows if row.sibling)
    assert sibling.sibling == original.id
    assert {problem.cluster for problem in folder.problems()} == {original.scenario.id}
    assert {problem.label("origin") for problem in folder.problems()} == {"original", "sibling"}
    assert sibling.checks["sibling"] == "ok"
    folder.file_of(sibling.id).write_bytes(folder.file_of(original.id).read_bytes())  # an edit by hand
    build(tmp_path, MadeModels(tmp_path, fitting), per_cell=1, siblings=True, scenario_seed=SEED)
    edited = folder.instances()[sibling.id].checks["sibling"]
    assert edited.startswith("it has 100% of its words in common with the original")


def test_every_generator_writes_each_scenario(tmp_path: Path) -> None:
    models = MadeModels(tmp_path, fitting, "gpt-4o", "claude-x")
    build(tmp_path, models, per_cell=1, every_generator=True)
    rows = BuildFolder(tmp_path).instances().values()
    assert sorted(row.generator for row in rows) == ["claude-x", "gpt-4o"]
    first = {key for name, key in models.asked if name == "gpt-4o"}
    assert first
    assert all("@gpt-4o#" in key for key in first)


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    def same_name(name: str, request: BuildRequest) -> str:
        text = fitting(name, request)
        return json.dumps(json.loads(text) | {"name": "same"}) if text.startswith("{") else text

    build(tmp_path, MadeModels(tmp_path, same_name), per_cell=2)
    names = sorted(BuildFolder(tmp_path).instances())
    assert names[0] == "python/low_context/same"
    assert set(names) <= {"python/low_context/same", "python/low_context/same-2"}


def test_an_instance_whose_file_was_not_written_yet_is_restored(tmp_path: Path) -> None:
    build(tmp_path, MadeModels(tmp_path, fitting), per_cell=2)
    folder = BuildFolder(tmp_path)
    before = folder.instances()
    name, row = next(iter(before.items()))
    text = folder.file_of(name).read_text()
    partial = [tmp_path / ".partial-abc", folder.file_of(name).with_name(".partial-abc")]
    for path in partial:
        path.touch()
    folder.file_of(name).unlink()
    folder.write_instances({other: one for other, one in before.items() if other != name})  # as after a kill
    models = MadeModels(tmp_path, fitting)
    build(tmp_path, models, per_cell=2)
    assert models.asked == []
    assert not any(path.exists() for path in partial)
    assert folder.file_of(name).read_text() == text
    assert folder.instances()[name].model_copy(update={"created": row.created}) == row


def test_a_build_that_ends_short_fails_and_says_last_how_to_go_on(tmp_path: Path) -> None:
    result = build(tmp_path, MadeModels(tmp_path, lambda *_: "I cannot help with that."), per_cell=2, patience=1)
    assert not result.usable
    assert result.lines[-1].endswith(
        "left for python/low_context: 0 of 2. Go on with the same command and a higher --patience (now 1)"
    )
    result = build(tmp_path, MadeModels(tmp_path, fitting), per_cell=2)
    assert result.usable
    assert "no scenario" not in result.lines[-1]
    result = build(tmp_path, MadeModels(tmp_path, lambda *_: "I cannot help with that."), per_cell=3, patience=1)
    assert not result.usable
    assert re.search(r": 2 instances; \d+ refused \(attempts\.jsonl", "\n".join(result.lines))


def test_another_seed_than_the_folders_is_refused(tmp_path: Path) -> None:
    build(tmp_path, MadeModels(tmp_path, fitting), per_cell=1)
    with pytest.raises(ValueError, match=r"--scenario-seed 99: .* seed 3"):
        build(tmp_path, MadeModels(tmp_path, fitting), per_cell=1, scenario_seed=99)


def test_a_build_without_a_generator_names_those_of_the_folder(tmp_path: Path) -> None:
    class NoModels(MadeModels):
        roles = frozenset()

    with pytest.raises(ValueError, match="a generator"):
        build(tmp_path, NoModels(tmp_path, fitting), per_cell=1)
    build(tmp_path, MadeModels(tmp_path, fitting, "toy"), per_cell=1)
    with pytest.raises(ValueError, match=r"toy; .*-m generator=.*somebody else"):
        build(tmp_path, NoModels(tmp_path, fitting), per_cell=1)


def test_a_review_that_rejects_nothing_here_is_told(tmp_path: Path) -> None:
    class Notes(Progress):
        def note(self, line: str) -> None:
            notes.append(line)

    notes: list[str] = []
    review = tmp_path / "rejections.jsonl"
    review.write_text("")
    again: dict[str, Any] = {"again": review, "language": None, "category": None}
    mine = tmp_path / "mine"
    mine.mkdir()
    with pytest.raises(DataError, match=r"--again .*mine has no.*-o "):
        build(mine, MadeModels(mine, fitting), **again)
    build(mine, MadeModels(mine, fitting), per_cell=1)
    assert build(mine, MadeModels(mine, fitting), progress=Notes(), **again).usable
    assert any(line.startswith(f"--again {review}: no rejection is of an instance of {mine}") for line in notes)


def test_the_hours_of_a_killed_build_count(tmp_path: Path) -> None:
    calls = iter(range(100))

    def killed(name: str, request: BuildRequest) -> str:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return "I cannot help with that."

    with pytest.raises(KeyboardInterrupt):
        build(tmp_path, MadeModels(tmp_path, killed), per_cell=1)
    manifest = BuildFolder(tmp_path).manifest()
    assert manifest is not None
    assert manifest.wall_hours > 0


def test_a_diagnosis_is_bounded_in_rows_and_requests(tmp_path: Path) -> None:
    def odd(name: str, request: BuildRequest) -> str:
        return json.dumps({"name": "a", "k" * 30_000: 1})

    build(tmp_path, MadeModels(tmp_path, odd), per_cell=1, patience=1)
    folder = BuildFolder(tmp_path)
    assert [len(one.detail) <= 1000 for one in folder.attempts()] == [True, True]
    assert len(folder.requests()[1].prompt.messages[-1].text) < 1300


def test_missing_answers_tell_how_many_requests_the_whole_build_may_need(tmp_path: Path) -> None:
    growth = {}

    def expected(folder: Path, *names: str, **options: Any) -> tuple[int, int]:
        folder.mkdir()
        with pytest.raises(AnswersMissingError) as caught:
            build(folder, MadeModels(folder, lambda *_: None, *names), **options)
        assert caught.value.expected is not None
        growth[folder.name] = caught.value.expected.growth
        return caught.value.expected.least, caught.value.expected.most

    # Scenarios for each instance, times generators, times 1 + repairs.
    assert expected(tmp_path / "a", per_cell=50, patience=3) == (50, 50 * 3 * 2)
    assert expected(tmp_path / "b", per_cell=5, patience=3, repairs=0) == (5, 15)
    assert expected(tmp_path / "c", "x", "y", per_cell=5, patience=3) == (5, 5 * 3 * 2 * 2)
    assert expected(tmp_path / "d", "x", "y", per_cell=5, patience=1, every_generator=True) == (10, 5 * 2 * 2)
    assert expected(tmp_path / "e", per_cell=5, patience=1, siblings=True) == (10, 20)
    # A repair quotes an answer and its diagnosis; each request lists the cell's instances, siblings included.
    quoted = SHOWN_CHARACTERS + LONGEST_DIAGNOSIS
    assert growth["b"] > quoted
    assert growth["a"] - quoted == 10 * (growth["b"] - quoted)
    assert growth["e"] - quoted == growth["d"] - quoted == 2 * (growth["b"] - quoted)


def test_the_expected_requests_are_those_that_are_left(tmp_path: Path) -> None:
    given = iter(range(1000))
    refusing = MadeModels(tmp_path, lambda *_: "I cannot help." if next(given) < 3 else None)
    with pytest.raises(AnswersMissingError) as caught:
        build(tmp_path, refusing, per_cell=2, patience=2)
    assert caught.value.expected is not None
    assert (caught.value.expected.least, caught.value.expected.most) == (2, 2 * 2 * 2 - 3)


def test_a_second_build_of_the_folder_is_refused(tmp_path: Path) -> None:
    def nested(name: str, request: BuildRequest) -> str:
        with pytest.raises(DataError, match="another caretbench"):
            build(tmp_path, MadeModels(tmp_path, fitting), per_cell=1)
        return fitting(name, request)

    build(tmp_path, MadeModels(tmp_path, nested), per_cell=1, patience=3)


def test_a_rejected_text_does_not_come_back(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    build(mine, MadeModels(mine, fitting), per_cell=1)
    [(name, row)] = BuildFolder(mine).instances().items()
    review = tmp_path / "rejections.jsonl"
    rejection = {"item": "1", "problem_id": name, "suite": "devbench", "problem_hash": row.problem_hash,
                 "state": "settled", "value": "reject"}  # fmt: skip
    review.write_text(json.dumps(rejection) + "\n")
    [answer] = [
        one.text for one in BuildFolder(mine).answers().values() if one.text and one.request == _request_of(mine, row)
    ]
    with contextlib.suppress(DataError):
        build(mine, MadeModels(mine, lambda _name, _request: answer), per_cell=1, again=review, patience=3)
    assert not BuildFolder(mine).instances()
    assert any(one.outcome == "twin" and name.rpartition("/")[2] in one.detail for one in BuildFolder(mine).attempts())


def _request_of(folder: Path, row: BuiltInstance) -> str:
    """The key of the request whose answer became the instance."""
    return next(one.request for one in BuildFolder(folder).attempts() if one.instance == row.id)


def test_a_restored_number_does_not_count_siblings(tmp_path: Path) -> None:
    build(tmp_path, MadeModels(tmp_path, fitting), per_cell=2)
    folder = BuildFolder(tmp_path)
    manifest, rows = folder.manifest(), folder.instances()
    assert manifest is not None
    assert counts_to_restore(manifest, rows, every_generator=False) == {("python", "low_context"): 2}
    first = next(iter(rows.values()))
    scenario = first.scenario.model_copy(update={"sibling_of": "another"})
    with_sibling = rows | {first.id: first.model_copy(update={"scenario": scenario})}
    assert counts_to_restore(manifest, with_sibling, every_generator=False) == {("python", "low_context"): 1}
