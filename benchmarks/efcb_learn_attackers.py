"""Learns the attackers of GMCQ-Hard that ship with the package, from the histories of several clones.

    python benchmarks/efcb_learn_attackers.py psf/black=~/clones/black gin-gonic/gin=~/clones/gin … \
        --unseen tokio-rs/tokio=~/clones/tokio … -o src/caretbench/suites/efcb/attacks/attackers.json

The last rounds learn from the ``--unseen`` clones, what the first ones let pass in repositories new to them.
Set OMP_NUM_THREADS=1: the same clones then give the same file. ``--keep FOLDER`` keeps what was counted, so that
leaving a repository out (``--without``) counts nothing again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from caretbench.files import read_rows, write_atomically
from caretbench.sources.mining import Period, mine_git
from caretbench.sources.pull_request import PullRequest
from caretbench.sources.source_tree import SourceTrees
from caretbench.suites.efcb.attacks.attackers import AttackersFile, Sample, learned
from caretbench.suites.efcb.attacks.line_features import FEATURES
from caretbench.suites.efcb.attacks.sites import edit_differences
from caretbench.suites.efcb.choices.backgrounds import Backgrounds
from caretbench.suites.efcb.edits.patches import Patch
from caretbench.suites.efcb.filtering import accepted
from caretbench.suites.efcb.rendering import render
from caretbench.suites.efcb.seeding import rng


def sample(name: str, clone: Path, folder: Path, changes: int, edits: int) -> Sample:
    """The edits of a clone's newest accepted changes; counted once for a folder."""
    kept = folder / f"{name.replace('/', '+')}.npz"
    if not kept.exists():
        records = folder / f"{name.replace('/', '+')}.jsonl"
        mine_git(clone, records, Period(limit=3000), name=name)
        pulls = list(read_rows(records, PullRequest))
        backgrounds = Backgrounds(pulls)
        rows: list[np.ndarray] = []
        numbers: list[int] = []
        newest = sorted(accepted(pulls, "default").pulls, key=lambda pull: pull.newest_first)[:changes]
        with SourceTrees({name: clone}) as trees:
            for number, pull in enumerate(newest):
                patch = Patch(render(pull), trees.of(pull))
                drawn = patch.edits(rng(0, "learn attackers", f"{pull.repo} {pull.merge_sha}"), edits)
                rows.append(edit_differences(patch, drawn, backgrounds.without(pull.repo, pull)))
                numbers += [number] * len(drawn)
        np.savez(kept, differences=np.concatenate(rows), changes=np.array(numbers, dtype=np.int64))
    with np.load(kept) as found:
        return Sample(found["differences"], found["changes"])


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
        counted: list[dict[str, Sample]] = []
        for clones in (chosen.clones, chosen.unseen):
            counted.append({})
            for name, clone in sorted(entry.split("=", 1) for entry in clones):
                if name not in chosen.without:
                    one = sample(name, Path(clone).expanduser(), folder, chosen.changes, chosen.edits)
                    print(name, len(one.changes), "edits", flush=True)  # noqa: T201 - a script
                    if len(one.changes):
                        counted[-1][name] = one
    if chosen.output:
        found = learned(*([*samples.values()] for samples in counted))
        file = AttackersFile(
            features=FEATURES,
            learned_on=tuple(counted[0]),
            corrected_on=tuple(counted[1]),
            rounds=tuple(one.row() for one in (*found.rounds, found.judge)),
        )
        write_atomically(chosen.output, file.model_dump_json() + "\n")


if __name__ == "__main__":
    main()
