"""Learns the attackers of GMCQ-Hard that ship with the package, from the histories of several clones.

    python benchmarks/efcb_learn_attackers.py psf/black=~/clones/black gin-gonic/gin=~/clones/gin … \
        --unseen tokio-rs/tokio=~/clones/tokio … -o src/caretbench/suites/efcb/build/attacks/attackers.json

The last rounds learn from the ``--unseen`` clones, what the first ones let pass in repositories new to them.
Set OMP_NUM_THREADS=1: the same clones then give the same file. ``--keep FOLDER`` keeps what was counted, so that
leaving a repository out (``--without``) counts nothing again.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from caretbench.build.sources.git_mining import MiningPeriod, mine_git
from caretbench.build.sources.pull_request import PullRequest
from caretbench.build.sources.repository import SourceFilesByRepository
from caretbench.files import read_rows, write_atomically
from caretbench.suites.efcb.build.attacks.code_likelihood import CodeModels
from caretbench.suites.efcb.build.attacks.edit_sites import edit_differences
from caretbench.suites.efcb.build.attacks.learned_attackers import (
    MAX_LOG_ODDS,
    AttackerRound,
    AttackersFile,
    EditSample,
    LearnedAttackers,
    RoundParameters,
    edit_weights,
    keep_probabilities,
)
from caretbench.suites.efcb.build.attacks.learners import BoostedTrees, LinearLearner
from caretbench.suites.efcb.build.attacks.line_context import FloatArray
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES
from caretbench.suites.efcb.build.change_filters import filter_changes
from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.problem_metadata import seeded_random

ROUNDS: Final = 2
"""Rounds that select, before one that corrects them by other repositories."""
_FOLDS: Final = 3
# What cross-validated scores are multiplied with to be odds.
_TRUSTS: Final = tuple(step / 20 for step in range(25))


class Size(NamedTuple):
    """How much the learners of a round may learn: :meth:`Linear.learn` and :meth:`Trees.learn` say what each is."""

    linear_penalty: float
    trees: int
    depth: int
    rate: float
    penalty: float
    every: int


FIRST: Final = Size(linear_penalty=3.0, trees=400, depth=6, rate=0.08, penalty=10.0, every=4)
"""Of the first round, which sees edits as they are drawn: most of them tell, and there are many."""
LATER: Final = Size(linear_penalty=20.0, trees=80, depth=3, rate=0.1, penalty=40.0, every=3)
"""Of rounds that see what passed: little is left to learn, and few edits count."""


def learn_round(differences: FloatArray, importance: FloatArray, size: Size = LATER) -> AttackerRound:
    """Learners of differences, each the right reading less the wrong one."""
    linear = LinearLearner.fit(differences, importance, penalty=size.linear_penalty)
    trees = BoostedTrees.fit(
        differences,
        importance,
        linear.score(differences),
        tree_count=size.trees,
        depth=size.depth,
        learning_rate=size.rate,
        penalty=size.penalty,
        feature_stride=size.every,
    )
    return AttackerRound(linear, trees)


def row(one: AttackerRound) -> RoundParameters:
    """A round as numbers."""
    return RoundParameters.model_validate(
        {
            "odds_factor": one.odds_factor,
            "linear_sizes": one.linear.scale.sizes.tolist(),
            "linear_weights": one.linear.weights.tolist(),
            "tree_sizes": one.trees.scale.sizes.tolist(),
            "tree_features": one.trees.features.tolist(),
            "tree_cuts": one.trees.cuts.tolist(),
            "tree_values": one.trees.values.tolist(),
        }
    )


def learned(samples: Sequence[EditSample], unseen: Sequence[EditSample] = (), rounds: int = ROUNDS) -> LearnedAttackers:
    """Attackers from edits of several repositories.

    What a round lets pass, and how far its scores can be trusted, is told by learners of the same round that did not
    see the repository. Changes count alike: a question takes two edits of a change, however many it has.

    Args:
        samples: One of each repository.
        unseen: Of other repositories. One more round, and the judge, learn from them what the rounds before let pass
            where they have not learned; without them the judge learns from ``samples``, too.
        rounds: Those that select and learn from ``samples``.
    """
    passes = [np.ones(len(sample.change_numbers)) for sample in samples]
    found: list[AttackerRound] = []
    for number in range(rounds):
        one, passes = _next_round(samples, passes, LATER if number else FIRST)
        found.append(one)
    if unseen:
        samples, passes = unseen, [keep_probabilities(found, sample.differences) for sample in unseen]
        one, passes = _next_round(samples, passes, LATER)
        found.append(one)
    return LearnedAttackers(tuple(found), _next_round(samples, passes, LATER)[0])


def _next_round(
    samples: Sequence[EditSample], passes: Sequence[FloatArray], size: Size
) -> tuple[AttackerRound, list[FloatArray]]:
    """Return a round learned on edits with these chances to pass, and the chances after it."""
    weights = [edit_weights(sample, chances) for sample, chances in zip(samples, passes, strict=True)]
    unseen = _unseen_scores(samples, weights, size)
    trust = _trust(np.concatenate(unseen), np.concatenate(weights))
    after = [
        chances * np.exp(-np.clip(trust * scores, 0.0, MAX_LOG_ODDS))
        for chances, scores in zip(passes, unseen, strict=True)
    ]
    return _learned(samples, weights, size)._replace(odds_factor=trust), after


def _unseen_scores(samples: Sequence[EditSample], weights: Sequence[FloatArray], size: Size) -> list[FloatArray]:
    """The scores of each sample's edits by learners that did not see the repository."""
    found: list[FloatArray] = [np.zeros(0)] * len(samples)
    for fold in range(min(_FOLDS, len(samples))):
        others = [place for place in range(len(samples)) if place % _FOLDS != fold] or [0]
        one = _learned([samples[place] for place in others], [weights[place] for place in others], size)
        for place in range(fold, len(samples), _FOLDS):
            found[place] = one.scores(samples[place].differences)[:, 1]
    return found


def _trust(scores: FloatArray, weights: FloatArray) -> float:
    """Return the factor by which scores are the likeliest odds."""
    losses = [float((np.log1p(np.exp(-trust * scores)) * weights).sum()) for trust in _TRUSTS]
    return _TRUSTS[int(np.argmin(np.round(losses, 6)))]


def _learned(samples: Sequence[EditSample], weights: Sequence[FloatArray], size: Size) -> AttackerRound:
    together = np.concatenate([*weights])
    scale = together.sum() / max(float((together**2).sum()), 1e-12)  # as many rows as they are worth
    return learn_round(np.concatenate([sample.differences for sample in samples]), together * scale, size)


def sample(name: str, clone: Path, folder: Path, changes: int, edits: int) -> EditSample:
    """The edits of a clone's newest accepted changes; counted once for a folder."""
    kept = folder / f"{name.replace('/', '+')}.npz"
    if not kept.exists():
        records = folder / f"{name.replace('/', '+')}.jsonl"
        mine_git(clone, records, MiningPeriod(limit=3000), name=name)
        pulls = list(read_rows(records, PullRequest))
        backgrounds = CodeModels(pulls)
        rows: list[np.ndarray] = []
        numbers: list[int] = []
        newest = sorted(filter_changes(pulls, "default").pulls, key=lambda pull: pull.merge_order)[:changes]
        with SourceFilesByRepository({name: clone}) as trees:
            for number, pull in enumerate(newest):
                patch = EditablePatch(render_patch(pull), trees.file_reader(pull))
                drawn = patch.draw_edits(seeded_random(0, "learn attackers", f"{pull.repo} {pull.merge_sha}"), edits)
                rows.append(edit_differences(patch, drawn, backgrounds.excluding(pull.repo, pull)))
                numbers += [number] * len(drawn)
        np.savez(kept, differences=np.concatenate(rows), changes=np.array(numbers, dtype=np.int64))
    with np.load(kept) as found:
        return EditSample(found["differences"], found["changes"])


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", metavar="OWNER/NAME=CLONE")
    parser.add_argument("-o", "--output", type=Path, help="without it, edits are only counted")
    parser.add_argument("--unseen", nargs="+", default=[], metavar="OWNER/NAME=CLONE")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--without", action="append", default=[], metavar="OWNER/NAME")
    parser.add_argument("--changes", type=int, default=300)
    parser.add_argument("--edits", type=int, default=60)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        counted: list[dict[str, EditSample]] = []
        for clones in (chosen.clones, chosen.unseen):
            counted.append({})
            for name, clone in sorted(entry.split("=", 1) for entry in clones):
                if name not in chosen.without:
                    one = sample(name, Path(clone).expanduser(), folder, chosen.changes, chosen.edits)
                    print(name, len(one.change_numbers), "edits", flush=True)  # noqa: T201 - a script
                    if len(one.change_numbers):
                        counted[-1][name] = one
    if chosen.output:
        found = learned(*([*samples.values()] for samples in counted))
        file = AttackersFile(
            features=FEATURE_NAMES,
            learned_on=tuple(counted[0]),
            corrected_on=tuple(counted[1]),
            rounds=tuple(row(one) for one in (*found.rounds, found.evaluation_round)),
        )
        write_atomically(chosen.output, file.model_dump_json() + "\n")


if __name__ == "__main__":
    main()
