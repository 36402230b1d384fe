"""Options of a run as data, from which the command line and Inspect's tasks derive their parameters.

Each option fills one field of :class:`caretbench.runs.plans.config.RunConfig`. This module imports nothing heavy, so
that ``caretbench --help`` stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from caretbench.options import Option, Words

Group = Literal["suite", "ask", "sampling", "client", "run"]
"""The part of a configuration that an option belongs to."""

OPTIONS: Final = (
    Option("data", str, "The problems: starter (ships with the package), released (what `pull` fetched), or a folder "
           "(starter).", "suite", in_inspect=True),
    Option("select", str, "Only problems with these labels: language=python,category=low_context (| between values).",
           "suite", in_inspect=True),
    Option("limit", int, "N problems in total: a seeded sample, spread over the suite's cells, without overlapping "
           "spans.", "suite", minimum=1, metavar="N", in_inspect=True),
    Option("per_cell", int, "The first N problems of every cell: language × category, or × mode; of efcb task × tier "
           "× repository.", "suite", minimum=1, metavar="N", in_inspect=True),
    Option("sample_seed", int, "Seed of the sample that --limit draws (0).", "suite", field="seed",
           in_inspect=True),
    Option("policy", Words, "Truncation policy, by default the suite's own; may be repeated: the further ones are "
           "shown next to the first.", "suite", metavar="NAME", in_inspect=True),
    Option("profile", str, "default: as it should be scored; paper: as the released code scores.", "suite",
           in_inspect=True),
    Option("variant", Words, "A named build of a language: cpp=common_headers; may be repeated.", "suite",
           field="variants", metavar="LANGUAGE=NAME", in_inspect=True),
    Option("samples", int, "Answers wanted of each problem (1).", "ask", flags=("--samples", "-n"), minimum=1,
           in_inspect=True),
    Option("preset", str, "How a paper drew its answers: devbench-paper, c3-paper; or greedy.", "ask",
           in_inspect=True),
    Option("temperature", str, "A number, or none: do not send it (0.2).", "sampling", in_inspect=True),
    Option("top_p", str, "A number, or none: do not send it (1.0).", "sampling", in_inspect=True),
    Option("max_tokens", int, "Maximum number of tokens of an answer (800).", "sampling", minimum=1, in_inspect=True),
    Option("seed", int, "Sent to the model, where it takes one.", "sampling", in_inspect=True),
    Option("prompt", str, "The prompt strategy; auto: what the model takes and its tokens decide.", "ask",
           in_inspect=True),
    Option("context", str, "What else of a project is shown (simcopilot): as_is, retrieval, …", "ask",
           in_inspect=True),
    Option("prompt_tokens", int, "Maximum number of tokens of a prompt; by default what the context leaves.", "ask",
           minimum=1, in_inspect=True),
    Option("preprocess", Words, "A plug-in that changes what is shown; may be repeated.", "ask", metavar="NAME"),
    Option("connections", int, "Requests in flight at once (8).", "client", minimum=1),
    Option("timeout", float, "Seconds for one try (120; 1800 for models on this machine).", "client",
           field="timeout_s"),
    Option("retries", int, "Tries after the first (5).", "client", field="max_retries",
           flags=("--retries", "--max-retries"), minimum=0),
    Option("per_request", bool, "Several samples by one request; by default where it is known to work.", "client",
           flags=("--together/--one-by-one",)),
    Option("mode", str, "Local models: reproducible (one slot, no cache), or fast.", "client"),
    Option("threads", int, "Local models: threads that compute.", "client", minimum=1),
    Option("context_tokens", int, "Room for prompt and answer together, in tokens.", "client", minimum=1),
    Option("base_url", str, "The provider's address; graders have their own.", "client"),
    Option("tokenizer", Path, "The model's tokenizer.json, where the provider has none.", "client"),
    Option("prices", Path, "What tokens cost: a TOML file.", "run"),
    Option("criterion", str, "What graders are asked: a name or a TOML file. By default the profile's.", "run"),
    Option("max_cost", float, "US dollars, over the whole run: nothing is sent that could cost more.", "run",
           minimum=0),
    Option("baseline", str, "Baselines next to the models, reference,empty for example; all of the suite's, or none "
           "(all).", "run", field="baselines", metavar="NAMES"),
    Option("local_only", bool, "Refuse every model that is not on this machine.", "run", flags=("--local-only",),
           default=False),
    Option("execute", bool, "Run the programs; without, only similarity is measured.", "run",
           flags=("--execute/--no-execute",), default=True, in_inspect=True),
    Option("score", bool, "Score and report after generating.", "run", flags=("--score/--no-score",), default=True),
    Option("probe", bool, "Ask each model some short things first: does it see the suffix?", "run",
           flags=("--probe",), default=False),
    Option("output", Path, "The run's folder (runs/SUITE-DATA-PROFILE).", "run", flags=("--output", "-o")),
    Option("workers", int, "Programs in flight; by default eight times the processors.", "run", in_inspect=True),
    Option("engine", str, "Where programs run: local; ray, or a cluster by ray://HOST:PORT (extra `ray`) (local).",
           "run"),
    Option("use_cache", bool, "Take known verdicts from the cache.", "run", field="cache",
           flags=("--cache/--no-cache",), default=True, in_inspect=True),
    Option("fail_under", float, "Exit with 1 if a model's pass@1 (0 to 1) is lower; baselines do not count.", "run",
           minimum=0, maximum=1),
)  # fmt: skip
"""All options."""

BY_NAME: Final[Mapping[str, Option]] = {option.name: option for option in OPTIONS}

OVER_A_FILE: Final = frozenset(option.name for option in OPTIONS if option.group == "run") - {
    "prices", "criterion"
}  # fmt: skip
"""Options that win over a run file; the others belong into it."""


def tables_of(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the given options as the tables of a configuration; None and empty lists count as not given.

    Raises:
        ValueError: ``temperature`` or ``top_p`` is neither a number nor ``none``.
    """
    tables: dict[str, dict[str, Any]] = {"suite": {}, "ask": {}, "sampling": {}, "client": {}, "run": {}}
    for name, value in values.items():
        option = BY_NAME.get(name)
        if option is None or value is None or value == []:
            continue
        if name in ("temperature", "top_p"):
            value = _number(name, value)
        if name == "baseline":
            value = _names(value)
        tables[option.group][option.place] = value
    return tables


def _number(name: str, value: Any) -> float | Literal["none"]:
    if value == "none":
        return "none"
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"--{name.replace('_', '-')} {value!r}: expected a number, or none") from None


def _names(text: str) -> list[str] | None:
    """Return the names that ``--baseline`` lists; None: all."""
    if text == "all":
        return None
    return [] if text == "none" else [name.strip() for name in text.split(",") if name.strip()]
