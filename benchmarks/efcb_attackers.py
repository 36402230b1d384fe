"""Prints what attackers find in the choice tasks of EFCB builds that are pooled: accuracy, n, chance, z by tier.

    caretbench build efcb ~/clones/black -o builds/black
    python benchmarks/efcb_attackers.py builds/*

The attackers of the leak report come first (learned ones by cross-validation over repositories), then floors: a 5-gram
and a byte-level model that were counted on the other repositories' patches, and two attackers that the selection has
not seen: LZMA, and a perceptron on hashed runs of characters, learned on the other repositories.
"""

from __future__ import annotations

import argparse
import lzma
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from caretbench.build.sources.pull_request import PullRequest
from caretbench.files import read_rows
from caretbench.problem import Problem
from caretbench.suites.efcb.build.attacks.leak_report import leak_report
from caretbench.suites.efcb.build.attacks.learned_attackers import AttackerRound, AttackersFile, LearnedAttackers
from caretbench.suites.efcb.build.build_folder import EfcbFolder
from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.built_folder import Leak
from caretbench.suites.efcb.floors import (
    AttackQuestion,
    choice_credit,
    code_lines,
    split_shared_lines,
    to_attack_question,
    tokenize,
)
from caretbench.suites.efcb.problem_metadata import HARD_TASK

MAX_ITEMS = 3_000_000
ORDER = 5
HASHES = 1 << 14
FOLDS = 5

Asked = list[tuple[AttackQuestion, int]]


class Grams:
    """Runs of up to five tokens or bytes, counted; each order is smoothed by the one below it."""

    def __init__(self, lines: Iterable[Sequence[object]]) -> None:
        self._counts: Counter[tuple[object, ...]] = Counter()
        self._total = 0
        for line in lines:
            for run in self._runs(line):
                for order in range(1, len(run) + 1):
                    self._counts[run[-order:]] += 1
                    self._counts[(*run[-order:-1], None)] += 1
            self._total += len(line)
            if self._total > MAX_ITEMS:
                break

    @staticmethod
    def _runs(line: Sequence[object]) -> Iterable[tuple[object, ...]]:
        marked = ("\n",) * (ORDER - 1) + tuple(line) + ("\r",)
        for end in range(ORDER, len(marked) + 1):
            yield marked[end - ORDER : end]

    def log_likelihood(self, line: Sequence[object]) -> float:
        """The natural logarithm of the probability of a line."""
        found = 0.0
        for run in self._runs(line):
            share = 1e-5
            for order in range(1, ORDER + 1):
                seen, context = self._counts[run[-order:]], self._counts[(*run[-order:-1], None)]
                share = (seen + 2 * share) / (context + 2)
            found += math.log(share)
        return found


def others(asked: Asked, pulls: Sequence[PullRequest]) -> dict[str, list[str]]:
    """For each repository the code lines of the other repositories' changes, turn by turn."""
    by_repository: dict[str, list[str]] = defaultdict(list)
    for pull in sorted(pulls, key=lambda pull: pull.key):
        by_repository[pull.repo] += code_lines(render_patch(pull).text)
    return {
        name: [
            line
            for other, lines in sorted(by_repository.items())
            if other != name
            for line in lines[: 400_000 // max(len(by_repository) - 1, 1)]
        ]
        for name in sorted({question.repository for question, _ in asked})
    }


def by_grams(asked: Asked, known: dict[str, list[str]], split: Callable[[str], Sequence[object]]) -> list[list[float]]:
    """The likelihood of the lines that not all choices have, by text of other repositories."""
    models = {name: Grams(map(split, lines)) for name, lines in known.items()}
    return [
        [
            sum(models[question.repository].log_likelihood(split(line)) for line in lines)
            for lines in split_shared_lines(question.choices)[1]
        ]
        for question, _ in asked
    ]


def by_lzma(asked: Asked) -> list[list[float]]:
    """The choice that LZMA makes smallest."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
    return [
        [-float(len(lzma.compress(choice.encode(), lzma.FORMAT_RAW, filters=filters))) for choice in question.choices]
        for question, _ in asked
    ]


def hashed(question: AttackQuestion) -> np.ndarray:
    """Runs of one to four characters in the lines that not all choices have, less their mean, a row for each choice."""
    found = np.zeros((len(question.choices), HASHES), dtype=np.float32)
    for row, lines in enumerate(split_shared_lines(question.choices)[1]):
        for line in lines:
            even = " ".join(line.split())
            for size in range(1, 5):
                for start in range(len(even) - size + 1):
                    found[row, zlib.crc32(even[start : start + size].encode()) % HASHES] += 1
    return found - found.mean(axis=0)


def by_perceptron(asked: Asked) -> list[list[float]]:
    """An averaged perceptron on hashed runs of characters, learned on the other repositories."""
    rows = [hashed(question) for question, _ in asked]
    repositories = [question.repository for question, _ in asked]
    if len(set(repositories)) < 3:
        repositories = [str(zlib.crc32(question.cluster.encode()) % FOLDS) for question, _ in asked]
    scores: list[list[float]] = [[] for _ in asked]
    for fold in sorted(set(repositories)):
        weights, mean = np.zeros(HASHES, dtype=np.float32), np.zeros(HASHES, dtype=np.float32)
        for _ in range(4):
            for place, (_, correct) in enumerate(asked):
                if repositories[place] != fold:
                    found = int((rows[place] @ weights).argmax())
                    weights += rows[place][correct] - rows[place][found]
                    mean += weights
        for place, name in enumerate(repositories):
            if name == fold:
                scores[place] = (rows[place] @ mean).tolist()
    return scores


def line(name: str, kind: str, accuracy: float, count: int, note: str = "") -> str:
    """One row of the output."""
    error = math.sqrt(0.25 * 0.75 / count)
    return f"  {kind:6} {name:48} {accuracy:.3f}  n {count:5}  chance 0.250  z {(accuracy - 0.25) / error:+6.2f} {note}"


def printed(part: tuple[str, str, str], leaks: Sequence[Leak], features: int) -> None:
    """The leak report of a tier, of its features the highest."""
    count = leaks[0].problems
    small = "  too small to test" if leaks[0].has_too_few_questions else ""
    print(f"\n{' '.join(part)}: {count} questions{small}")  # noqa: T201 - a script
    shown = [leak for leak in leaks if leak.family != "feature"]
    many = sorted((leak for leak in leaks if leak.family == "feature"), key=lambda leak: -leak.accuracy)
    for leak in [*shown, *many[:features]]:
        note = (
            f"allowed z {leak.allowed:.2f}{'  EXCEEDED' if leak.exceeds_limit else ''}" if leak.kind == "limit" else ""
        )
        print(line(leak.attack, leak.kind, leak.accuracy, count, note))  # noqa: T201 - a script


def main() -> None:
    """Read the builds, attack, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", type=Path)
    parser.add_argument("--attackers", type=Path, help="other learned attackers than those that ship")
    parser.add_argument("--features", type=int, default=5, help="how many of a tier's features are printed")
    parser.add_argument("--limits-only", action="store_true")
    chosen = parser.parse_args()
    problems: list[Problem] = []
    pulls: list[PullRequest] = []
    for build in chosen.builds:
        folder = EfcbFolder(build)
        problems += read_rows(folder.candidates_path, Problem)
        pulls += read_rows(folder.pull_requests_path, PullRequest)
    given = None
    if chosen.attackers:
        file = AttackersFile.model_validate_json(chosen.attackers.read_text())
        rounds = [AttackerRound.from_parameters(row) for row in file.rounds]
        given = LearnedAttackers((*rounds[:-1],), rounds[-1])
    by_tier: dict[tuple[str, str, str], list[Leak]] = defaultdict(list)
    for leak in leak_report(problems, pulls, given):
        by_tier[leak.task, leak.tier, leak.query].append(leak)
    for part, leaks in by_tier.items():
        printed(part, leaks, chosen.features)
        if part[0] != HARD_TASK or chosen.limits_only:
            continue
        asked = [
            found
            for problem in sorted(problems, key=lambda problem: problem.id)
            if problem.labels["task"] == HARD_TASK
            and not problem.labels.get("rotation")
            and (found := to_attack_question(problem)) is not None
        ]
        known = others(asked, pulls)
        attacks = {
            "5-gram of other repositories": by_grams(asked, known, tokenize),
            "bytes of other repositories": by_grams(asked, known, lambda text: text.strip().encode()),
            "LZMA (not seen by the selection)": by_lzma(asked),
            "perceptron on characters (not seen)": by_perceptron(asked),
        }
        for name, scores in attacks.items():
            for word, sign in (("", 1), ("least, ", -1)):
                hits = [
                    choice_credit([sign * value for value in values], correct)
                    for values, (_, correct) in zip(scores, asked, strict=True)
                ]
                print(line(word + name, "floor", sum(hits) / len(hits), len(hits)))  # noqa: T201 - a script


if __name__ == "__main__":
    main()
