"""Options of a run as data: the source of command-line options and of Inspect task parameters.

Each option fills one field of :class:`caretbench.runs.plans.config.RunConfig`. This module imports nothing heavy, so
that ``caretbench --help`` stays quick.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from caretbench.errors import UsageError
from caretbench.options import Option, StringList

PROBLEMS, SAMPLING, PROMPTS, CONNECTION, COST, JUDGING, SCORING, EXECUTION, OUTPUT = (
    "Problems", "Models and sampling", "Prompts", "Connection", "Cost", "Judging", "Scoring", "Execution", "Output",
)  # fmt: skip
"""Headings of options in help texts."""

OPTIONS: Final = (
    Option("data", str, "Problems: starter (in the package), released (downloaded by `caretbench pull`), or a folder. "
           "Default: starter.", "suite", in_inspect=True, help_group=PROBLEMS),
    Option("select", str, "Only problems with these labels: language=python,category=low_context. Use | between "
           "values.", "suite", in_inspect=True, help_group=PROBLEMS),
    Option("limit", int, "Draw N problems in total, spread over the suite's cells, without overlapping spans. "
           "Default: all.", "suite", minimum=1, metavar="N", in_inspect=True, help_group=PROBLEMS),
    Option("per_cell", int, "Take the first N problems of every cell (language × category, for example). Default: "
           "all.", "suite", minimum=1, metavar="N", in_inspect=True, help_group=PROBLEMS),
    Option("sample_seed", int, "Random seed of --limit. Default: 0.", "suite", field="seed", in_inspect=True,
           help_group=PROBLEMS),
    Option("policy", StringList, "Truncation policy: the rule that cuts raw answers before they are inserted. Repeat "
           "it to score the same answers under several. Default: the suite's own.", "suite", metavar="NAME",
           in_inspect=True, help_group=SCORING),
    Option("profile", str, "Scoring rules: paper (as the released code scores) or default (corrected). Default: "
           "default.", "suite", in_inspect=True, help_group=SCORING),
    Option("metric", StringList, "Plug-in that gives each answer a further number from 0 to 1. May be repeated.",
           "suite", field="metrics", metavar="NAME", help_group=SCORING),
    Option("variant", StringList, "Named build of a language: cpp=common_headers. May be repeated.", "suite",
           field="variants", metavar="LANGUAGE=NAME", in_inspect=True, help_group=SCORING),
    Option("samples", int, "Number of answers for each problem. Default: 1.", "ask", flags=("--samples", "-n"),
           minimum=1, in_inspect=True, help_group=SAMPLING),
    Option("preset", str, "Named sampling settings: devbench-paper, c3-paper, codev-paper, safim-paper, "
           "crosscodeeval-paper, qwen-cross-file, qwen-fim or greedy.", "ask", in_inspect=True, help_group=SAMPLING),
    Option("temperature", str, "Sampling temperature, or none: not sent. Default: 0.2.", "sampling", in_inspect=True,
           help_group=SAMPLING),
    Option("top_p", str, "Nucleus sampling probability, or none: not sent. Default: 1.0.", "sampling",
           in_inspect=True, help_group=SAMPLING),
    Option("max_tokens", int, "Maximum number of tokens of an answer. Default: 800.", "sampling", minimum=1,
           in_inspect=True, help_group=SAMPLING),
    Option("seed", int, "Random seed sent to the model, if it accepts one.", "sampling", in_inspect=True,
           help_group=SAMPLING),
    Option("prompt", str, "Prompt strategy: chat, fill or fim/FORMAT, for example. Default: auto, chosen by the "
           "model's provider and special tokens.", "ask", in_inspect=True, help_group=PROMPTS),
    Option("context", str, "Additional project context in the prompt (simcopilot): as_is, retrieval, …", "ask",
           in_inspect=True, help_group=PROMPTS),
    Option("instruction", str, "Problems with an instruction (c3bench): shown, none, or comment (at the end of the "
           "prefix, for every prompt). Several, with commas, ask each problem in each way. Default: shown.", "ask",
           metavar="MODES", in_inspect=True, help_group=PROMPTS),
    Option("blind", bool, "Ask each question also without its text (efcb): what a model knows without it is a floor of "
           "its score.", "ask", flags=("--blind",), help_group=PROMPTS),
    Option("prompt_tokens", int, "Maximum number of tokens of a prompt. Default: the context length minus the "
           "answer.", "ask", minimum=1, in_inspect=True, help_group=PROMPTS),
    Option("preprocess", StringList, "Plug-in that changes the caret before the prompt is made. May be repeated.",
           "ask", metavar="NAME", help_group=PROMPTS),
    Option("connections", int, "Maximum number of requests in flight. Default: 8.", "client", minimum=1,
           help_group=CONNECTION),
    Option("timeout", float, "Seconds before one try is given up. Default: 120; 1800 for local models.", "client",
           field="timeout_s", help_group=CONNECTION),
    Option("retries", int, "Number of retries after a failed try. Default: 5.", "client", field="max_retries",
           flags=("--retries", "--max-retries"), minimum=0, help_group=CONNECTION),
    Option("per_request", bool, "Request several samples at once, or one by one. Default: at once if the provider is "
           "known to support it.", "client", flags=("--together/--one-by-one",), help_group=CONNECTION),
    Option("mode", str, "Local models: reproducible (one slot, no prompt cache) or fast. Default: reproducible.",
           "client", help_group=CONNECTION),
    Option("threads", int, "Local models: number of threads. Default: all physical cores but one.", "client", minimum=1,
           help_group=CONNECTION),
    Option("context_tokens", int, "Context length in tokens, prompt and answer together. Default: as the provider or "
           "the model file reports it.", "client", minimum=1, help_group=CONNECTION),
    Option("base_url", str, "Address of the provider; not used for judges. Default: the provider's own.", "client",
           help_group=CONNECTION),
    Option("header", StringList, "Header of every request, for a gateway; not used for judges, stored nowhere. May be "
           "repeated.", "client", field="headers", metavar="NAME=VALUE", help_group=CONNECTION),
    Option("tokenizer", Path, "The model's tokenizer.json, to count tokens. Default: the provider's, else an "
           "estimate.", "client", help_group=CONNECTION),
    Option("prices", Path, "Prices of tokens: a TOML file. Needed by --max-cost for models that cost money.", "run",
           help_group=COST),
    Option("criterion", str, "Criterion of the judges: a name or a TOML file. Default: the one of the suite and "
           "profile.", "run", help_group=JUDGING),
    Option("max_cost", float, "Maximum cost of the whole run in US dollars; stops before a request that could exceed "
           "it. Divided over several suites, as --minutes. Default: no limit.", "run", minimum=0, help_group=COST),
    Option("minutes", float, "Time of the whole run. The rate of 8 problems of each suite gives the number of its "
           "problems, so that all suites find the same difference. Default: no limit.", "run", metavar="N",
           help_group=COST),
    Option("baseline", str, "Baselines next to the models: reference,empty for example, or none. Default: all of the "
           "suite.", "run", field="baselines", metavar="NAMES", help_group=SCORING),
    Option("batch", bool, "Ask OpenAI's and Anthropic's models by their batch interfaces: half the price, answers "
           "within a day. The same command takes a batch up again after a stop.", "run", flags=("--batch",),
           default=False, help_group=COST),
    Option("local_only", bool, "Refuse every model that is not on this machine.", "run", flags=("--local-only",),
           default=False, help_group=CONNECTION),
    Option("execute", bool, "Run the programs, or only measure similarity and error kinds.", "run",
           flags=("--execute/--no-execute",), default=True, in_inspect=True, help_group=SCORING),
    Option("score", bool, "Score the answers and write a report, or only store them.", "run",
           flags=("--score/--no-score",), default=True, help_group=SCORING),
    Option("typing", str, "Ask also while the reference is typed, token (behind each word) or line (at starts of lines "
           "only): what a model spares while one types. For codevbench and simcopilot.", "run", metavar="token|line",
           help_group=SAMPLING),
    Option("probe", bool, "First send some 14 short requests to each model, to see that it answers and uses the "
           "suffix.", "run", flags=("--probe",), default=False, help_group=CONNECTION),
    Option("output", Path, "Folder of the run. Default: runs/SUITE-DATA-PROFILE.", "run", flags=("--output", "-o"),
           help_group=OUTPUT),
    Option("add", bool, "Add these problems to a run of other problems in the same folder. Default: such a folder is "
           "refused.", "run", flags=("--add",), default=False, help_group=OUTPUT),
    Option("workers", int, "Maximum number of programs that run at the same time. Default: eight times the "
           "processors.", "run", in_inspect=True, help_group=EXECUTION),
    Option("engine", str, "Machine that runs programs: local, ray, or ray://HOST:PORT for a cluster (extra `ray`). "
           "Default: local.", "run", help_group=EXECUTION),
    Option("use_cache", bool, "Take known verdicts from the cache, or run everything again.", "run", field="cache",
           flags=("--cache/--no-cache",), default=True, in_inspect=True, help_group=EXECUTION),
    Option("fail_under", float, "Exit with status 1 if a model's pass@1 (0 to 1) is lower; baselines do not count.",
           "run", minimum=0, maximum=1, help_group=SCORING),
)  # fmt: skip
"""All options."""

OPTIONS_BY_NAME: Final[Mapping[str, Option]] = {option.name: option for option in OPTIONS}

OVERRIDES_RUN_FILE: Final = frozenset(option.name for option in OPTIONS if option.table == "run") - {
    "prices",
    "criterion",
}
"""Names of the command-line options that may be combined with a run file and override it."""


def options_to_tables(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return option values as the tables of a configuration; None and empty lists are skipped.

    Raises:
        UsageError: ``temperature`` or ``top_p`` is neither a number nor ``none``.
    """
    tables: dict[str, dict[str, Any]] = {"suite": {}, "ask": {}, "sampling": {}, "client": {}, "run": {}}
    for name, value in values.items():
        option = OPTIONS_BY_NAME.get(name)
        if option is None or value is None or value == []:
            continue
        if name in ("temperature", "top_p"):
            value = _number(name, value)
        if name == "header":
            value = dict(map(_header, value))
        if name == "baseline":
            value = _names(value)
        tables[option.table][option.field_name] = value
    return tables


_MOST = {"temperature": 2, "top_p": 1}
"""Largest values; no hosted provider takes more, and a server may answer with noise."""


def _number(name: str, value: Any) -> float | Literal["none"]:
    if value == "none":
        return "none"
    try:
        number = float(value)
        if not 0 <= number <= _MOST[name]:
            raise ValueError  # noqa: TRY301  one message for both
    except (TypeError, ValueError):
        expected = f"expected a number from 0 to {_MOST[name]}, or none"
        raise UsageError(f"--{name.replace('_', '-')} {value!r}: {expected}") from None
    return number


def _header(text: str) -> tuple[str, str]:
    """Return name and value of ``NAME=VALUE`` or ``NAME: VALUE``."""
    name, separator, value = re.match(r"([!#$%&'*+.^_`|~\w-]*)\s*([=:]?)\s*(.*)", text, re.ASCII | re.DOTALL).groups()  # type: ignore[union-attr]
    # The value may be a key, so that it is not repeated.
    if not (name and separator and value and value.isascii() and value.isprintable()):
        raise UsageError(f"--header {name or '…'}: expected NAME=VALUE in printable ASCII, X-Team=code for example")
    return name, value


def _names(text: str) -> list[str] | None:
    """Return the names in a value of ``--baseline``; None: all."""
    if text == "all":
        return None
    return [] if text == "none" else [name.strip() for name in text.split(",") if name.strip()]
