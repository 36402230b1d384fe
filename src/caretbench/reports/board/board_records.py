"""Records of a board in the schema of EvalEval (every_eval_ever 0.2.1), one a model, and their changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from caretbench.files import DataError
from caretbench.reports.board.board import Board, BoardColumn, BoardEntry

SCHEMA: Final = "0.2.1"
_DIGITS: Final = 9
"""Digits of a rate that must be equal: machines may sum in another order."""

Record = Mapping[str, Any]


def board_records(board: Board, organisation: str) -> list[dict[str, Any]]:
    """Return the records, by model; baselines have none."""
    entries: dict[str, list[tuple[BoardColumn, BoardEntry]]] = {}
    for column in board.columns:
        for entry in column.models:
            entries.setdefault(f"{entry.model}@{entry.parameters}", []).append((column, entry))
    return [_record(identity, results, organisation) for identity, results in sorted(entries.items())]


def _record(identity: str, results: Sequence[tuple[BoardColumn, BoardEntry]], organisation: str) -> dict[str, Any]:
    column, entry = results[0]
    date = max(result.date for _, result in results)
    seconds = str(int(datetime.fromisoformat(f"{date}T00:00Z").timestamp()) if date else 0)
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"caretbench/{identity}/{seconds}",
        "retrieved_timestamp": seconds,
        "evaluation_timestamp": date or "unknown",
        "source_metadata": {
            "source_name": "CaretBench board",
            "source_type": "evaluation_run",
            "source_organization_name": organisation,
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "caretbench", "version": column.version or "unknown"},
        "model_info": {"name": entry.model, "id": identity, "additional_details": {"parameters": entry.parameters}},
        "evaluation_results": [_result(*result) for result in results],
    }


def _result(column: BoardColumn, entry: BoardEntry) -> dict[str, Any]:
    number = entry.rate
    uncertainty: dict[str, Any] = {"num_samples": number.problems}
    if number.low is not None and number.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": number.low, "upper": number.high, "confidence_level": 0.95, "method": number.method,
        }  # fmt: skip
    details = {
        "title": entry.title,
        "rank": entry.rank,
        "models": len(column.models),
        "rate_on_all_problems": entry.raw.value,
        "rate_on_valid_problems": entry.valid and entry.valid.value,
        "coverage": entry.coverage,
        "share_of_empty_answers": entry.empty,
        "cost_usd": entry.cost,
        "seconds": entry.seconds,
    }
    about = ("data_hash", "profile", "policy", "prompt", "variants", "isolation", "problems", "leading", "rule")
    sampling = {name: entry.settings[name] for name in ("temperature", "top_p", "max_tokens") if name in entry.settings}
    return {
        "evaluation_name": column.key,
        "source_data": {
            "dataset_name": f"{column.suite}/{column.data}",
            "source_type": "other",
            "additional_details": {name: str(getattr(column, name)) for name in about},
        },
        "metric_config": {
            "evaluation_description": f"{column.measure}: {column.about}",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {
            "score": number.value,
            "details": {name: str(value) for name, value in details.items() if value is not None},
            "uncertainty": uncertainty,
        },
        "generation_config": {"generation_args": {**sampling, "execution_command": entry.command}},
    }


def records_text(records: Sequence[Record]) -> str:
    """Return the content of ``board.json``."""
    return json.dumps(records, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def read_records(path: Path) -> list[Record]:
    """Return the records of a ``board.json``.

    Raises:
        DataError: it is damaged.
    """
    try:
        records = json.loads(path.read_text("utf-8"))
        results_of(records)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not the records of a board ({error!r})") from None
    return list(records)


def results_of(records: Sequence[Record]) -> dict[tuple[str, str], Mapping[str, str]]:
    """Return rate, number of problems and rank, as texts, by the key of a column and the id of a model."""
    return {
        (str(result["evaluation_name"]), str(record["model_info"]["id"])): {
            "rate": f"{100 * round(float(score['score']), _DIGITS):.10g}%",
            "problems": str(score["uncertainty"]["num_samples"]),
            "rank": str(score["details"]["rank"]),
        }
        for record in records
        for result in record["evaluation_results"]
        for score in (result["score_details"],)
    }


def changes(before: Sequence[Record], after: Sequence[Record]) -> Iterator[str]:
    """Yield the differences between two versions of a board."""
    old, new = results_of(before), results_of(after)
    for column, model in sorted(old.keys() | new.keys()):
        was, now = old.get((column, model)), new.get((column, model))
        if was is None or now is None:
            yield f"{column}: {model} {'is new' if was is None else 'is gone'}"
        elif parts := [f"{name} {was[name]} to {now[name]}" for name in was if was[name] != now[name]]:
            yield f"{column}: {model}: {', '.join(parts)}"
