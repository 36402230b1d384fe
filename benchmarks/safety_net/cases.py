"""The cases of the safety net: each drives one checkout, and returns keys with values."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.safety_net.checkout import PROBLEMS, Net, git
from benchmarks.safety_net.server import served
from benchmarks.safety_net.values import Values, digest, flat, of_build, of_problems, of_run, of_validity, rows

BASELINE = "a73c2c8"
SUITES = ("devbench", "simcopilot", "efcb")
PROFILES = ("default", "paper")
ASKED = 20
GATED = {"devbench": 8, "simcopilot": 6, "efcb": PROBLEMS}


def recorded(net: Net, name: str) -> Path:
    """Write answers of two models for the chosen problems: from the references, as a model would spoil them."""
    problems = net.load(name)
    path = net.folder / f"answers-{name}.jsonl"
    ids = net.chosen[name]
    with path.open("w", encoding="utf-8") as file:
        for number, identity in enumerate(ids):
            reference, other = problems[identity]["reference"], problems[ids[number - 1]]["reference"]
            letter = "ABCD"[int(digest(identity), 16) % 4]
            answers = {
                "fenced": [f"Here is the code:\n```\n{reference}\n```\nI hope that it helps."],
                "spoiled": [reference[: len(reference) * 2 // 3], f"The answer is {letter}." if number % 2 else other],
            }
            for model, texts in answers.items():
                for sample, text in enumerate(texts):
                    row = {
                        "schema_version": 1, "problem_id": identity, "model": model, "parameters": "recorded",
                        "sample": sample, "text": text, "error": False, "finish_reason": "stop", "prompt": None,
                        "usage": None, "cost": None, "latency": None, "log_probabilities": None,
                    }  # fmt: skip
                    file.write(json.dumps(row) + "\n")
    return path


def scored(net: Net, name: str, profile: str) -> Values:
    """Return the scores and the report of baselines and recorded models."""
    suite, released = name.partition("-")[0], name.endswith("-released")
    answers = net.data_of(name) if released else str(recorded(net, name))
    folder = net.folder / f"{name}-{profile}"
    values: Values = {}
    net.command(
        "score", suite, "--data", net.data_of(name) or "", "--profile", profile, *net.select(name), "--completions",
        str(answers), "--baseline", "none" if released else "all", "--no-html", "-o", str(folder), values=values,
    )  # fmt: skip
    report = net.command("report", str(folder), "--no-html", values=values)
    values |= of_problems(rows(folder / "problems.jsonl")) | of_run(folder)
    return values | {f"report{key}": value for key, value in flat(report)}


def asked(net: Net, suite: str) -> Values:
    """Return a run that asks a model and a judge by HTTP, and its comparison with the recorded models."""
    folder = net.folder / f"{suite}-asked"
    values: Values = {}
    judges = () if suite == "simcopilot" else ("-m", "judge=openai/gpt-4.1-mini")
    with served() as url:
        addresses = ("--base-url", url, *(("--judge-base-url", url) if judges else ()))
        report = net.command(
            "run", suite, *net.select(suite, ASKED), "-m", "mine=openai/gpt-4o-mini", *judges, *addresses,
            "--baseline", "none", "--no-html", "-o", str(folder), values=values,
        )  # fmt: skip
    values |= of_run(folder) | {f"report{key}": value for key, value in flat(report)}
    compared = net.command("compare", str(net.folder / f"{suite}-default"), str(folder), "--every-pair", values=values)
    return values | {f"compare{key}": value for key, value in flat(compared)}


def listed(net: Net, suite: str) -> Values:
    """Return the statistics, the labels and the texts of the starter set, and the gate's verdicts on some of it."""
    values: Values = {"starter": digest(list(net.load(suite).values()))}
    values["ids"] = [len(net.load(suite)), digest(list(net.load(suite)))]
    for profile in PROFILES:
        found = net.command("list", suite, "--statistics", "--profile", profile, values=values)
        values |= {f"statistics/{profile}{key}": value for key, value in flat(found)}
    values |= {f"labels/{row['id']}": digest(row["labels"]) for row in net.command("list", suite, values=values)}
    if suite == "efcb":
        values["tables"] = digest(net.command("list", suite, "--tables", values=values))
    return values | of_validity(net.command("validate", suite, *net.select(suite, GATED[suite]), values=values))


def build(net: Net, suite: str, source: str, *rest: str) -> Values:
    """Return a build from a source."""
    values: Values = {}
    folder = net.folder / f"build-{suite}-{Path(source).name}"
    summary = net.command("build", suite, source, "-o", str(folder), *rest, values=values)
    return values | of_build(folder) | {f"summary{key}": value for key, value in flat(summary)}


def baseline_source(net: Net) -> Path:
    """Return the package's source as it was when the net was made: later builds start from the same projects."""
    folder = net.folder / "baseline"
    if not folder.exists():
        folder.mkdir()
        packed = git(net.checkout, "archive", BASELINE, "src/caretbench")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
    return folder / "src"


def build_wayfarer(net: Net) -> Values:
    """Return a SimCopilot build of the sample project."""
    project = baseline_source(net) / "caretbench" / "samples" / "wayfarer"
    return build(net, "simcopilot", str(project), "--max-candidates", "16")


def build_history(net: Net) -> Values:
    """Return an EFCB build of the starter history, which the baseline's own writer writes."""
    environment = {**os.environ, "PYTHONPATH": str(baseline_source(net))}
    writer = [str(net.checkout / ".venv/bin/python"), "-m", "caretbench.suites.efcb.write_starter"]
    subprocess.run([*writer, str(net.folder / "history")], check=True, capture_output=True, env=environment)
    return build(net, "efcb", str(net.folder / "history"))


def build_records(net: Net) -> Values:
    """Return an EFCB build of mined pull requests under the paper's profile."""
    path = (net.data or Path()) / "pull_requests" / "indigo.jsonl.gz"
    return build(net, "efcb", str(path), "--profile", "paper") if path.exists() else {}


def cases(net: Net) -> dict[str, Callable[[], Values]]:
    """Return the cases by name, in their order; later ones read the folders of earlier ones."""
    found: dict[str, Callable[[], Values]] = {}
    for name in (*SUITES, "c3bench", "codevbench", "devbench-released"):
        if net.data_of(name):
            found |= {f"score {name} {profile}": partial(scored, net, name, profile) for profile in PROFILES}
    found |= {f"run {suite}": partial(asked, net, suite) for suite in SUITES}
    found |= {f"list {suite}": partial(listed, net, suite) for suite in SUITES}
    found["build simcopilot"] = partial(build_wayfarer, net)
    found["build efcb git"] = partial(build_history, net)
    if net.data:
        found["build efcb records"] = partial(build_records, net)
    return found
