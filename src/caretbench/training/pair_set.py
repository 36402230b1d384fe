"""Folder of training pairs: rows and manifest; the paper's Figure 3 of its lengths."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, NamedTuple, get_args

from caretbench.build.build_models import NO_MODELS, BuildModels
from caretbench.build.project_sources import folder_names
from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.errors import UsageError
from caretbench.files import read_rows, row_to_json, write_atomically, write_rows
from caretbench.languages import language as language_named
from caretbench.progress import Progress
from caretbench.training.model_pairs import (
    DEFAULT_SEEDS,
    GENERATOR_ROLE,
    PAIR_ROLES,
    SEEDER_ROLE,
    ModelPairs,
    model_pairs,
    pair_prompts,
)
from caretbench.training.pair_making import DEFAULT_SHARES, PairMaker, PairOptions, SourceReport
from caretbench.training.pairs import MANIFEST_FILE, PAIRS_FILE, Boundary, TrainingPair
from caretbench.versions import versions

REFUSED_FILE: Final = "refused.jsonl"


class PairSet(NamedTuple):
    """A set of pairs: its folder, the number of pairs, what each source gave, and what models chose."""

    path: Path
    pairs: int
    sources: Sequence[SourceReport]
    chosen: ModelPairs | None

    @property
    def numbers(self) -> dict[str, Any]:
        """Numbers of the set: pairs by source, and what models chose."""
        chosen = self.chosen
        return {
            "pairs": self.pairs,
            "sources": [one._asdict() for one in self.sources],
            "models": chosen and {"seeds": chosen.seeds, "pairs": len(chosen.pairs), "refused": chosen.faults},
        }


class TokenTable(NamedTuple):
    """A table of the terminal."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def parse_shares(values: Iterable[str]) -> Mapping[Boundary, float]:
    """Return the shares of ``BOUNDARY=SHARE``; the default ones without any.

    Raises:
        UsageError: a boundary is not known, or a share is no number above or equal to 0, or all are 0.
    """
    shares: dict[Boundary, float] = {}
    for value in values:
        name, _, number = value.partition("=")
        if name not in DEFAULT_SHARES:
            raise UsageError(f"--share {value}: expected {'|'.join(DEFAULT_SHARES)}=SHARE")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not 0 <= share < float("inf"):
            raise UsageError(f"--share {value}: the share is a number from 0")
        shares[next(one for one in get_args(Boundary) if one == name)] = share
    if shares and not any(shares.values()):
        raise UsageError("--share: at least one share is above 0")
    return shares or DEFAULT_SHARES


def make_pair_set(
    sources: Sequence[str],
    output: Path,
    options: PairOptions,
    progress: Progress,
    models: BuildModels = NO_MODELS,
    seeds: int = DEFAULT_SEEDS,
) -> PairSet:
    """Make pairs of sources and write them to ``output``; the same call resumes. A set without a pair is not written.

    Raises:
        UsageError: ``output`` has other pairs, a language is not known, or a model is lacking.
        DataError: a source is none of the forms, or no seed can be used.
        AnswersMissingError: a model did not answer.
    """
    if (output / PAIRS_FILE).exists():
        raise UsageError(f"{output}: has pairs already; name another folder")
    if models.roles and SEEDER_ROLE not in models.roles:
        raise UsageError(f"-m {GENERATOR_ROLE}=…: it needs examples; add -m {SEEDER_ROLE}=SPEC")
    if models.roles and not options.shares.get("instruction"):
        raise UsageError("-m: models choose the middles with an instruction, and --share leaves none to them")
    languages = [language_named(name).name for name in options.languages]
    options = options._replace(languages=languages, by_models=bool(models.roles))
    maker = PairMaker(options)
    specs = folder_names([parse_source(source) for source in sources])
    rows = [row_to_json(pair) + b"\n" for pair in maker.pairs(specs, progress)]
    chosen = None
    if maker.excerpts:
        chosen = model_pairs(maker.excerpts, models, seeds, options.seed, options.context)
        rows += [row_to_json(pair) + b"\n" for pair in chosen.pairs]
        write_rows(output / REFUSED_FILE, chosen.refused)
    made = PairSet(output, len(rows), maker.reports, chosen)
    if not rows:
        return made
    content = b"".join(rows)
    manifest = made.numbers | {
        "options": options._asdict(),
        "roles": {
            role: {"model": models.names(role)[0], "prompt_version": pair_prompts()[role].version}
            for role in PAIR_ROLES
            if role in models.roles
        },
        "sha256": hashlib.sha256(content).hexdigest(),
        "versions": versions(),
    }
    write_atomically(output / MANIFEST_FILE, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    # Last: with it the folder is whole.
    write_atomically(output / PAIRS_FILE, content)
    return made


def token_tables(folder: Path, count: Callable[[str], int], unit: str) -> list[TokenTable]:
    """Return Figure 3 of C3-Bench's paper for a set: lengths of context, middle and instruction, and shares.

    ``count`` gives the length of a text in ``unit``.
    """
    lengths: dict[str, list[int]] = defaultdict(list)
    boundaries: dict[str, int] = defaultdict(int)
    languages: dict[str, int] = defaultdict(int)
    for pair in read_rows(folder / PAIRS_FILE, TrainingPair):
        lengths["context"].append(count(pair.prefix) + count(pair.suffix))
        lengths["middle"].append(count(pair.middle))
        if pair.instruction is not None:
            lengths["instruction"].append(count(pair.instruction))
        boundaries[pair.boundary] += 1
        languages[pair.language] += 1
    total = sum(boundaries.values())
    if not total:
        return []
    rows = [
        (name, str(len(values)), f"{fmean(values):.0f}", f"{median(values):.0f}", str(max(values)))
        for name, values in lengths.items()
    ]
    return [
        TokenTable(("Part", "Pairs", f"Mean {unit}", "Median", "Maximum"), rows),
        *(
            TokenTable((head, "Pairs", "Share"), [(name, str(n), f"{n / total:.1%}") for name, n in counts.items()])
            for head, counts in (("Boundary", boundaries), ("Language", languages))
        ),
    ]
