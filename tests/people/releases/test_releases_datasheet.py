"""Every figure of a datasheet, recomputed from the rows by other code."""

import json
import re
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from caretbench.build.validation.reviewed import problem_hash
from caretbench.metrics.code_statistics import problem_statistics
from caretbench.metrics.complexity import paper_statistics
from caretbench.people.releases.datasheet import PartFigures
from caretbench.people.releases.datasheet_page import printed_figures
from caretbench.people.releases.release import ReleaseOptions, release_set
from caretbench.suites.devbench import starter
from tests.support.built_sets import CANARY, read_jsonl, write_programs, write_review, write_set

REJECTED = {"go/api_usage/program-2": "too-simple", "go/api_usage/program-3": "category"}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("set")
    built = write_set(root / "mine")
    hashes = {one.id: problem_hash(one) for one in starter.load(built)}
    review = write_review(root / "review", REJECTED, hashes)
    release_set(built, root / "out", ReleaseOptions("2.0.0", 0.3, review=review, url="https://example.org/set"))
    return {"built": built, "public": root / "out", "holdout": root / "out-holdout", "review": review}


def rows_of(places: dict[str, Path], part: str) -> list[dict[str, Any]]:
    texts = {row["id"]: row for row in read_jsonl(places[part] / "texts.jsonl")}
    return [texts[row["id"]] | row for row in read_jsonl(places[part] / "instances.jsonl")]


def sheet_of(places: dict[str, Path], part: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((places[part] / "datasheet.json").read_text("utf-8"))
    return value


def counted(values: Any) -> dict[str, int]:
    return dict(Counter(values))


def sizes(rows: list[dict[str, Any]], statistics: Any) -> dict[str, dict[str, float]]:
    fields = ("prefix_lines", "completion_lines", "total_lines", "prefix_tokens", "completion_tokens", "cyclomatic")
    found = {}
    for name in ("go", "python", "all"):
        chosen = [row for row in rows if name in (row["language"], "all")]
        texts = ("prefix", "reference", "suffix", "tests", "language")
        measured = [statistics(*(row[text] for text in texts)) for row in chosen]
        found[name] = {"problems": len(chosen)} | {
            field: mean(getattr(one, field) for one in measured) for field in fields
        }
    return found


@pytest.mark.parametrize("part", ["public", "holdout"])
def test_figures_of_the_problems(places: dict[str, Path], part: str) -> None:
    rows, figures = rows_of(places, part), sheet_of(places, part)["figures"]
    ids = {row["id"] for row in rows}
    expected = {
        "problems": len(rows),
        "without_row": 0,
        "cells": counted(f"{row['language']}/{row['category']}" for row in rows),
        "composition": {
            "mode": counted("suffix" if row["suffix"].strip() else "no_suffix" for row in rows),
            "boundary": {"declaration": len(rows)},
            "kind": counted(row["kind"] for row in rows),
            "band": counted(row["band"] for row in rows),
            "origin": counted("sibling" if row["sibling"] else "original" for row in rows),
        },
        "requested": {
            name: counted(row["scenario"][name] for row in rows)
            for name in ("kind", "domain", "language_construct", "band", "documentation", "mode", "boundary")
        },
        "siblings": sum(row["sibling"] in ids for row in rows),
        "checks": {
            name: counted("ok" if row["checks"][name] == "ok" else "fault" for row in rows)
            for name in ("parse", "gate")
        },
        "private_texts": 0,
        "marked": sum(CANARY in path.read_text("utf-8") for path in places[part].glob("*/*/*")),
        "created": [min(row["created"] for row in rows), max(row["created"] for row in rows)],
    }
    for name, value in expected.items():
        assert figures[name] == value, name
    for name, statistics in (("sizes", problem_statistics), ("sizes_paper", paper_statistics)):
        for language, means in sizes(rows, statistics).items():
            assert figures[name][language] == pytest.approx(means), (name, language)
    assert {*expected, "sizes", "sizes_paper"} == {*PartFigures.model_fields}


@pytest.mark.parametrize("part", ["public", "holdout"])
def test_figures_of_the_generation(places: dict[str, Path], part: str) -> None:
    figures = sheet_of(places, part)["generation"]
    ends, answers, instances = (
        read_jsonl(places["built"] / name) for name in ("attempts.jsonl", "asked.jsonl", "instances.jsonl")
    )
    attempts = [*{row["request"]: row for row in ends}.values()]
    assert len(attempts) == len(ends) - 1 == len(answers)
    accepted = [row for row in attempts if row["outcome"] == "instance"]
    failed = [row for row in attempts if row["outcome"] != "instance"]
    seconds = [row["latency"]["last_s"] for row in answers]
    expected = {
        "attempts": len(attempts),
        "instances": len(accepted),
        "scenarios": len({row["scenario"] for row in attempts}),
        "wall_hours": 1.25,
        "request_hours": sum(seconds) / 3600,
        "cost": None,
        "unpriced": 1,
        "prompt_versions": counted(str(row["prompt_version"]) for row in instances),
        "attempts_per_instance": mean(row["attempts"] for row in instances),
        "reasons": counted(row["outcome"] for row in failed),
        "cells": {
            cell: {
                "attempts": sum(row["cell"] == cell for row in attempts),
                "instances": sum(row["cell"] == cell for row in accepted),
                "reasons": counted(row["outcome"] for row in failed if row["cell"] == cell),
            }
            for cell in {row["cell"] for row in attempts}
        },
    }
    generators = figures.pop("generators")
    assert figures == approximate(expected)
    for name in ("openai/gpt-x", "anthropic/claude-x"):
        own = [row for row in answers if row["model"] == name]
        assert generators[name] == approximate(
            {
                "family": name.partition("/")[2].removesuffix("-x"),
                "attempts": sum(row["generator"] == name for row in attempts),
                "instances": sum(row["generator"] == name for row in instances),
                "cost": None if any(row["cost"] is None for row in own) else sum(row["cost"] for row in own),
                "request_hours": sum(row["latency"]["last_s"] for row in own) / 3600,
            }
        )


def approximate(value: Any) -> Any:
    """The same value, whose numbers need only be near."""
    if isinstance(value, dict):
        return {name: approximate(inner) for name, inner in value.items()}
    return pytest.approx(value) if isinstance(value, float) else value


def test_figures_of_the_review_and_of_the_parts(places: dict[str, Path]) -> None:
    sheet = sheet_of(places, "public")
    settled, decisions = (read_jsonl(places["review"] / name) for name in ("settled.jsonl", "decisions.jsonl"))
    own = [row for row in decisions if row["holds"] and row["kind"] == "item" and not row["event"]["repeat"]]
    values = [row["event"]["answers"]["realism"] for row in own]
    review = sheet["review"]
    assert review["items"] == review["settled"] == len(settled) == 16
    assert (review["accepted"], review["rejected"]) == (14, 2)
    assert review["rejections"] == counted(REJECTED.values())
    assert review["states"] == {"agreed": 16}
    assert (review["people"], review["decisions"], review["hours"]) == (2, len(own), pytest.approx(len(own) * 0.01))
    realism = review["questions"]["realism"]
    assert (realism["items"], realism["equal"], realism["mean"]) == (16, 0.5, pytest.approx(mean(values)))
    assert review["questions"]["decision"]["alpha"] == 1.0
    parts = [len(rows_of(places, part)) for part in ("public", "holdout")]
    assert sum(parts) == 14
    for part in ("public", "holdout"):
        one = sheet_of(places, part)
        assert (one["holdout_problems"], one["holdout_share"]) == (parts[1], parts[1] / 14)
        assert one["licences"] == counted(row["licence"] for row in rows_of(places, part))
        assert (one["licence"], one["canary"], one["part"], one["version"]) == ("MIT", CANARY, part, "2.0.0")


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def every_number(value: Any) -> set[float]:
    if isinstance(value, dict):
        return {number for inner in value.values() for number in every_number(inner)} | every_number([*value])
    if isinstance(value, list):
        return {number for inner in value for number in every_number(inner)}
    if isinstance(value, str):
        return {float(number) for number in NUMBER.findall(value)}
    return {float(value)} if isinstance(value, int | float) else set()


def test_the_page_has_no_number_that_is_not_in_the_rows(places: dict[str, Path]) -> None:
    """Each number of a table is, as it is rounded, one of the datasheet, a sum or share of these, or a printed one."""
    sheet = sheet_of(places, "public")
    known = every_number(sheet) | every_number(printed_figures().model_dump(mode="json"))
    counts = sorted(number for number in known if number == int(number) and number < 100)
    shares = {one / other for one in counts for other in counts if other}
    known |= shares | {number + other for number in counts for other in counts}
    page = (places["public"] / "datasheet.md").read_text("utf-8").split("## Adaptations")
    tables = page[0] + page[1].split("##", 1)[1]
    for line in tables.splitlines():
        if line.startswith("| ") and "DS-1000" not in line:
            for cell in line.strip("| ").split(" | ")[1:]:
                for number in re.findall(r"(?<![\w.-])(\d+(?:\.(\d+))?)(%?)(?![\w-])", cell):
                    text, decimals, percent = number
                    places_ = len(decimals)
                    assert any(f"{100 * one if percent else one:.{places_}f}" == text for one in known), (line, text)


def test_the_page_has_the_tables_of_the_paper_and_its_printed_figures(places: dict[str, Path]) -> None:
    page = (places["public"] / "datasheet.md").read_text("utf-8")
    for number in (2, 3, 4):
        assert f"(form of Table {number})" in page
    assert "| CrossCodeEval | 71.1 to 116.5 | – |" in page
    assert "| DevBench, the release | 65.3 | 5.5 |" in page
    assert "| too-simple | 1 | 50.0% | 32% |" in page
    assert "| low-complexity | 0 | 0.0% | 28% |" in page
    assert "https://example.org/set" in page
    assert "| decision | 16 | – | 100.0% | 1.00 |" in page
    assert re.search(r"\| realism \| 16 \| \d\.\d\d \| \d+\.\d% \|", page)
    assert re.search(r"Canary, in every row of `texts\.jsonl` and \d+ source files", page)


def test_costs_of_attempts_stand_in_for_missing_answers(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    (built / "asked.jsonl").unlink()
    found = release_set(built, tmp_path / "out", ReleaseOptions()).public.generation
    assert found.attempts is not None
    assert found.cost == pytest.approx(0.5 * found.attempts)
    assert found.request_hours == pytest.approx(2.0 * found.attempts / 3600)


def test_numbers_of_the_manifest_are_used_where_no_row_has_them(tmp_path: Path) -> None:
    built = write_programs(tmp_path / "mine")
    (built / "manifest.json").write_text('{"wall_hours": 2.5, "cost": 4.0}')
    found = release_set(built, tmp_path / "out", ReleaseOptions(licence="MIT")).public.generation
    assert (found.wall_hours, found.cost) == (2.5, 4.0)


def test_private_texts_are_counted_and_named(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine", lambda row: row | {"justification": "ask jane.roe@corp-mail.com"})
    found = release_set(built, tmp_path / "out", ReleaseOptions())
    assert found.public.figures.private_texts == 16
    (note,) = (line for line in found.notes if "unknown" not in line)
    assert note.startswith("16 problems (go/api_usage/program-0, ")
    assert note.endswith("(instances.jsonl, go/api_usage/program-0, justification:1: a mail address)")


def test_what_scenarios_asked_for_is_not_printed_as_a_property(places: dict[str, Path]) -> None:
    page = (places["public"] / "datasheet.md").read_text("utf-8")
    labels, requested = page.split("## Labels, measured")[1].split("## Requested by the scenarios")
    requested = requested.split("##")[0]
    assert "| boundary | declaration |" in labels
    assert "not checked" in requested
    for name in ("documentation", "domain", "language_construct"):
        assert f"| {name} |" in requested
        assert f"| {name} |" not in labels
