"""Watch of checkpoints: each is asked once on some suites, and compared with the base as one family of tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import JsonValue

from caretbench.errors import CaretBenchError, UsageError
from caretbench.files import read_document, sha256_json, write_document
from caretbench.local.gguf import read_gguf, weights_sha256
from caretbench.models import AccessCheck, ClientOpener
from caretbench.problem import Row
from caretbench.progress import FolderProgress, Progress
from caretbench.reports.charts import Spec, field, finished_spec, layer, layered, model_colour, names_in_order, tooltips
from caretbench.reports.compare import ComparisonReport, compare_runs, comparison_tables
from caretbench.reports.output.page import render_page
from caretbench.reports.results.paired_models import ComparisonRow
from caretbench.reports.results.run_settings import IncomparableError
from caretbench.reports.run_summary import load_run_folder, suite_stratification
from caretbench.reports.section import Chart, PageBlock, PagePart
from caretbench.runs.plans.config import RunConfig
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.runner import run
from caretbench.suites import suite_of_run
from caretbench.text_tables import p_text

BASE: Final = "base"
_ADAPTERS: Final = ("adapter_config.json", "adapter_model.safetensors", "adapter.gguf")


class Checkpoint(NamedTuple):
    """A checkpoint: its name in tables, the model that is asked, and its files."""

    name: str
    spec: str
    path: Path | None = None

    @property
    def stamp(self) -> str:
        """Hash of the spec and of the files."""
        files = [] if self.path is None else [self.path, *sorted(self.path.rglob("*"))]
        return sha256_json([self.spec, [(file.name, weights_sha256(file)) for file in files if file.is_file()]])


class _Watched(Row):
    """Runs of a checkpoint: the stamp of its files, and the hash of the settings; empty until all is answered."""

    stamp: str
    settings: str


class Curve(NamedTuple):
    """Results of one suite: the comparison of all checkpoints with the base."""

    suite: str
    comparison: ComparisonReport

    def to_json(self) -> dict[str, JsonValue]:
        """Return sentences and comparison as JSON."""
        return {"suite": self.suite, "sentences": [*self.sentences()], **self.comparison.model_dump(mode="json")}

    def sentences(self) -> Iterator[str]:
        """Yield for each part the first checkpoint that is better than the base, and those that are worse."""
        rows = self.comparison.overall
        for label in dict.fromkeys(row.label for row in rows):
            title = self.suite if label == "all" else f"{self.suite}, {label}"
            of_label = [row for row in rows if row.label == label]
            different = [row for row in of_label if row.distinguishable]
            # A row is the base minus the checkpoint.
            better = next((row for row in different if row.difference < 0), None)
            worse = [row for row in different if row.difference > 0]
            first = f"the first checkpoint that is better is {_gain(better)}" if better else "no checkpoint is better"
            yield f"{title}: {first}" + (f"; worse: {', '.join(map(_gain, worse))}" if worse else "; none is worse")


def _gain(row: ComparisonRow) -> str:
    interval = "" if row.low is None or row.high is None else f", {-100 * row.high:+.1f} to {-100 * row.low:+.1f}"
    return f"{row.second} ({-100 * row.difference:+.1f} points{interval}, p {p_text(row.p_value, row.family)})"


def find_checkpoints(folder: Path, base: str | None, template: str | None) -> list[Checkpoint]:
    """Return the checkpoints of a folder in the order of the numbers in their names.

    A checkpoint is a GGUF file or a folder with one, an adapter of ``base`` (file or folder), or, with a ``template``,
    any file or folder, whose path replaces ``{}``.

    Raises:
        UsageError: there is none, or an adapter without a base.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; give the one that holds the checkpoints")
    if template is not None and "{}" not in template:
        raise UsageError(f"-m {template}: {{}} is missing, the place of a checkpoint's path")
    checkpoints = []
    for path in sorted(folder.resolve().iterdir(), key=lambda file: _natural(file.name)):
        # A checkpoint that is still written has such a name.
        if path.name.startswith(".") or path.suffix in (".tmp", ".partial"):
            continue
        spec = template.replace("{}", str(path)) if template else _spec(path, base)
        if spec is not None:
            checkpoints.append(Checkpoint(path.stem if path.is_file() else path.name, spec, path))
    names = [BASE, *(checkpoint.name for checkpoint in checkpoints)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{folder}: two checkpoints are called {twice!r}; rename one")
    if not checkpoints:
        raise UsageError(f"{folder}: no checkpoint: no GGUF file and no adapter; name other models by -m TEMPLATE")
    return checkpoints


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _spec(path: Path, base: str | None) -> str | None:
    is_gguf = path.suffix == ".gguf" or any(path.glob("*.gguf"))
    if not any((path / name).is_file() for name in _ADAPTERS):
        if not is_gguf:
            return None
        if path.is_dir() or read_gguf(path).text("general.type") != "adapter":
            return f"gguf/{path}"
    if base is None:
        raise UsageError(f"{path}: an adapter; name its base: --base gguf/smollm2, for example")
    return f"{base}+{path}"


def watch(
    checkpoints: Sequence[Checkpoint],
    config: RunConfig,
    output: Path,
    *,
    opener: ClientOpener,
    check_access: AccessCheck,
    progress: Progress,
) -> tuple[list[Curve], list[str]]:
    """Run the suites of ``config`` on each checkpoint, as ``caretbench run`` does; return curves, and complaints.

    Each checkpoint has a folder of runs in ``output``. What is there is not asked again, and one that cannot be asked
    does not end the others. The first one is the base.

    Raises:
        CaretBenchError: a setting is wrong, or the base cannot be asked.
    """
    runs: dict[str, list[Path]] = {}
    complaints: list[str] = []
    for index, checkpoint in enumerate(checkpoints):
        model = config.models[0].model_copy(update={"name": checkpoint.name, "spec": checkpoint.spec})
        alone = config.model_copy(update={"models": (model,), "output": output / checkpoint.name, "together": True})
        try:
            plan = ResolvedRun.from_config(alone, None, check_access)
            complaints += [f"{checkpoint.name}: {line}" for line in _complete(checkpoint, plan, opener, progress)]
        except CaretBenchError as error:
            if not index:
                raise
            complaints.append(f"{checkpoint.name}: {error}")
            continue
        progress("checkpoints", 1, len(checkpoints), checkpoint.name)
        for resolved in plan.suites:
            if resolved.folder.scores_path.exists():
                runs.setdefault(resolved.suite.name, []).append(resolved.folder.path)
    curves = []
    for suite, paths in runs.items():
        try:
            if len(paths) > 1:
                strata = suite_stratification(suite)._replace(labels=(), crossed=())
                loaded = [load_run_folder(path) for path in paths]
                curves.append(Curve(suite, compare_runs(loaded, stratification=strata, suite=suite_of_run(suite))))
        # Too few problems of one suite say nothing about the others.
        except IncomparableError as error:
            complaints.append(f"{suite}: {error}")
    return curves, complaints


def _complete(checkpoint: Checkpoint, plan: ResolvedRun, opener: ClientOpener, progress: Progress) -> Sequence[str]:
    """Run a checkpoint's suites, unless they are complete; return complaints.

    Raises:
        UsageError: the files of the checkpoint changed since.
    """
    path = plan.config.root / "watched.json"
    expected = _Watched(stamp=checkpoint.stamp, settings=sha256_json(plan.config.model_dump(mode="json")))
    stored = read_document(path, _Watched) if path.exists() else None
    if stored == expected:
        return ()
    # One that was still being written has no answer yet.
    answered = any(path.parent.glob("*/completions.jsonl"))
    if answered and stored is not None and stored.stamp != expected.stamp:
        raise UsageError(f"{checkpoint.spec}: changed since its answers in {path.parent}; name another -o")
    # Begun by these files: a stop in between must not mix the answers of two states.
    write_document(path, expected.model_copy(update={"settings": ""}))
    complaints = run(plan, opener, FolderProgress(progress, checkpoint.name)).complaints
    if not complaints:
        write_document(path, expected)
    return complaints


def watch_page(curves: Sequence[Curve]) -> str:
    """Return the curves as a self-contained HTML page."""
    parts = []
    for curve in curves:
        chart = Chart(curve.suite, "Gain over the base in points, with 95% intervals", _chart(curve.comparison.overall))
        notes, tables = [*curve.sentences(), *curve.comparison.notes], comparison_tables(curve.comparison)
        blocks = [PageBlock(notes=notes, charts=[chart], tables=tables)]
        parts.append(PagePart(curve.suite, curve.suite, curve.suite, blocks=blocks))
    return render_page("Checkpoints", parts)


def _chart(rows: Sequence[ComparisonRow]) -> Spec:
    """Return lines of gains over the base, one for each part, with a rule for each interval."""
    shown = [
        {
            "checkpoint": row.second, "model": row.label, "gain": -100 * row.difference,
            "low": None if row.high is None else -100 * row.high, "high": None if row.low is None else -100 * row.low,
        }
        for row in rows
    ]  # fmt: skip
    base = {
        "y": field("gain:Q", title="points"),
        "x": names_in_order("checkpoint", [row.second for row in rows], title=None),
        "color": model_colour(list(dict.fromkeys(row.label for row in rows))),
        "tooltip": tooltips({"checkpoint": "N", "model": "N"}, ["gain", "low", "high"], "+.1f"),
    }
    chart = layered(
        shown,
        layer("rule", {**base, "y": field("low:Q"), "y2": {"field": "high"}}, strokeWidth=2, opacity=0.5),
        layer("line", base),
        layer("point", base, filled=True, size=60),
    )
    return finished_spec(chart, 260, "Gain of each checkpoint over the base")
