"""Folder of training pairs: made of sources by rule, and chosen by models; the paper's Figure 3 of its lengths."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, NamedTuple

from pydantic import Field, JsonValue, ValidationError

from caretbench.build.build_models import NO_MODELS, BuildModels
from caretbench.build.project_sources import folder_names
from caretbench.build.sources.fetching.source_spec import parse_source
from caretbench.errors import DataError, UsageError
from caretbench.files import describe_validation_error, read_rows, row_to_json, write_atomically, write_rows
from caretbench.languages import get_language
from caretbench.local.weights import catalogue
from caretbench.models import Sampling
from caretbench.problem import Row
from caretbench.progress import Progress
from caretbench.suites.c3bench.build.variants import model_roles
from caretbench.suites.suite_types import Table
from caretbench.training.pair_making import Excerpt, Middle, PairMaker, PairOptions, SourceReport, pair_of
from caretbench.training.pairs import DEFAULT_SHARES, MANIFEST_FILE, PAIRS_FILE, Boundary, TrainingPair
from caretbench.versions import versions

SEEDER_ROLE: Final = "seeder"
GENERATOR_ROLE: Final = "generator"
PAIR_ROLES: Final[Mapping[str, str]] = {
    SEEDER_ROLE: "writes the first pairs, which are the generator's examples",
    GENERATOR_ROLE: "chooses middles and writes their instructions",
}
"""Roles of models that make pairs, with their purposes."""

# C3-Bench's paper has 1,000 seeds for 200,000 pairs, and filters middles of more than 30 % of the text around them.
DEFAULT_SEEDS: Final = 1000
_MAX_SHARE: Final = 0.3
_EXAMPLES: Final = 3
_EXAMPLE_CONTEXT: Final = 400
"""Characters of an example before its middle, and after it."""
_MAX_PAIRS: Final = 20
"""Pairs of one answer that are read."""
_MIN_QUOTED: Final = 12
"""Length of a line that an instruction must not quote: a shorter one may be a name."""
_SAMPLING: Final = Sampling(max_tokens=2048, temperature=0.7, top_p=None)
_PAIR: Final[Mapping[str, JsonValue]] = {
    "type": "object",
    "properties": {"middle": {"type": "string"}, "instruction": {"type": "string"}},
    "required": ["middle", "instruction"],
    "additionalProperties": False,
}
_SCHEMA: Final[Mapping[str, JsonValue]] = {
    "type": "object",
    "properties": {"pairs": {"type": "array", "items": {**_PAIR}}},
    "required": ["pairs"],
    "additionalProperties": False,
}


class _ChosenPair(Row):
    """One pair of an answer."""

    middle: str = Field(min_length=1, pattern=r"\S")
    instruction: str = Field(min_length=1, max_length=400, pattern=r"\S")


class RefusedMiddle(Row):
    """Pair of a model that is not used, with the kind of its fault: a line of ``refused.jsonl``."""

    role: str
    source: str
    path: str
    fault: str
    text: str


def pair_prompts() -> Mapping[str, model_roles.RolePrompt]:
    """Return the prompts by role."""
    return model_roles.role_prompts(__package__, "pair_prompts.toml")


def terms_notes(specs: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each model, by role, of a family whose terms have something to say about trained models."""
    for role, spec in specs.items():
        for name, weights in catalogue().items():
            if weights.terms is not None and name in spec.lower():
                licence = f"{weights.licence}, {weights.terms.address}"
                yield f"-m {role}={spec}: a model trained on its answers may fall under its own terms ({licence})"


def model_pairs(excerpts: Sequence[Excerpt], models: BuildModels, seeds: int, seed: int, context: int) -> ModelPairs:
    """Return the pairs that models choose: the seeder in some files, the generator in all, with seeds as examples.

    Args:
        excerpts: What models see of each file; at most half of them are for seeds.
        models: Models of the build.
        seeds: Maximum number of seeds.
        seed: Random seed of the files for seeds, and of the examples.
        context: Maximum number of characters around a middle.

    Raises:
        AnswersMissingError: a model did not answer.
        DataError: no seed can be used.
    """
    chosen = ModelPairs(models, context)
    draw = random.Random(f"{seed} seeds")  # noqa: S311 - a reproducible draw, no secret
    first = draw.sample(excerpts, min(seeds, max(1, len(excerpts) // 2)))
    chosen.ask(SEEDER_ROLE, dict.fromkeys(first, ""), 1)
    examples = chosen.pairs[:]
    chosen.seeds = len(examples)
    if GENERATOR_ROLE in models.roles:
        if not examples:
            raise DataError(f"-m {SEEDER_ROLE}: no seed of {len(first)} can be used: {chosen.faults}")
        chosen.ask(GENERATOR_ROLE, {excerpt: _examples(excerpt, examples, seed) for excerpt in excerpts})
    return chosen


class ModelPairs:
    """Pairs that models chose so far, the number of them that are seeds, and what was refused."""

    def __init__(self, models: BuildModels, context: int) -> None:
        self.pairs: list[TrainingPair] = []
        self.seeds = 0
        self.refused: list[RefusedMiddle] = []
        self._models, self._context = models, context
        self._taken = set[tuple[str, int, int]]()

    @property
    def faults(self) -> Mapping[str, int]:
        """Number of refused pairs by kind of fault."""
        return dict(Counter(row.fault.partition(":")[0] for row in self.refused).most_common())

    def ask(self, role: str, examples: Mapping[Excerpt, str], count: int | None = None) -> None:
        """Ask the model of a role for ``count`` pairs of each excerpt, or as many as each has."""
        (model,) = self._models.names(role)
        requests = [
            model_roles.StructuredRequest(
                excerpt.id,
                {"language": excerpt.language, "path": excerpt.path, "code": excerpt.shown, "examples": shown,
                 "count": str(count or excerpt.pairs)},
                _SCHEMA, _SAMPLING, "a middle and its instruction",
            )
            for excerpt, shown in examples.items()
        ]  # fmt: skip

        def listed(_key: str, text: str) -> list[object]:
            return model_roles.listed_values(text, "pairs", _MAX_PAIRS)

        answers = model_roles.readable_answers(self._models, role, {model: requests}, listed, pair_prompts()[role])
        for excerpt in examples:
            answer = answers[model, excerpt.id]
            if isinstance(answer, model_roles.UnreadableAnswer):
                self._refuse(role, excerpt, f"malformed: {answer.fault}", answer.text)
                continue
            for value in answer:
                self._add(role, model, excerpt, value)

    def _add(self, role: str, model: str, excerpt: Excerpt, value: object) -> None:
        try:
            chosen = _ChosenPair.model_validate(value)
        except ValidationError as error:
            self._refuse(role, excerpt, f"malformed: {describe_validation_error(error)}", json.dumps(value))
            return
        start = excerpt.text.find(chosen.middle)
        span = (excerpt.id, start, start + len(chosen.middle))
        if fault := _fault(chosen, excerpt) or ("repeated" if span in self._taken else ""):
            self._refuse(role, excerpt, fault, chosen.middle)
            return
        self._taken.add(span)
        # An instruction is shown as one paragraph; line feeds could imitate the parts of a prompt.
        middle = Middle(*span[1:], " ".join(chosen.instruction.split()), author=model)
        self.pairs.append(pair_of(excerpt, middle, "instruction", self._context))

    def _refuse(self, role: str, excerpt: Excerpt, fault: str, text: str) -> None:
        refused = RefusedMiddle(role=role, source=excerpt.source, path=excerpt.path, fault=fault, text=text[:2000])
        self.refused.append(refused)


def _fault(chosen: _ChosenPair, excerpt: Excerpt) -> str:
    """Return the kind of fault for which a pair is not used; empty if it is."""
    middle, text = chosen.middle, excerpt.text
    start = text.find(middle)
    if start < 0:
        # Mostly other blanks: a model dedents, or leaves out the line end.
        return "altered: other blanks" if "".join(middle.split()) in "".join(text.split()) else "not in the file"
    if text.find(middle, start + 1) >= 0:
        return "several times in the file"
    if len(middle) > _MAX_SHARE * (len(excerpt.shown) - len(middle)):
        return f"long: more than {_MAX_SHARE:.0%} of the text around it"
    lines = (line.strip() for line in middle.split("\n"))
    if any(len(line) >= _MIN_QUOTED and line in chosen.instruction for line in lines):
        return "told: the instruction quotes a line of the middle"
    return ""


def _examples(excerpt: Excerpt, seeds: Sequence[TrainingPair], seed: int) -> str:
    """Return some seeds as text: of other files and of the same language, where there are such."""
    others = [example for example in seeds if (example.source, example.path) != (excerpt.source, excerpt.path)] or seeds
    alike = [example for example in others if example.language == excerpt.language] or others
    draw = random.Random(f"{seed} {excerpt.id}")  # noqa: S311 - a reproducible draw, no secret
    shown = []
    for number, example in enumerate(draw.sample(alike, min(_EXAMPLES, len(alike))), 1):
        answer = json.dumps({"middle": example.middle, "instruction": example.instruction}, ensure_ascii=False)
        code = example.prefix[-_EXAMPLE_CONTEXT:] + example.middle + example.suffix[:_EXAMPLE_CONTEXT]
        shown.append(f"Example {number}, in this code:\n\n{code.rstrip()}\n\n{answer}")
    return "\n\n".join(shown)


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
            "sources": [report._asdict() for report in self.sources],
            "models": chosen and {"seeds": chosen.seeds, "pairs": len(chosen.pairs), "refused": chosen.faults},
        }


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
        shares[next(boundary for boundary in DEFAULT_SHARES if boundary == name)] = share
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
    languages = [get_language(name).name for name in options.languages]
    options = options._replace(languages=languages, by_models=bool(models.roles))
    maker = PairMaker(options)
    specs = folder_names([parse_source(source) for source in sources])
    rows = [row_to_json(pair) + b"\n" for pair in maker.pairs(specs, progress)]
    chosen = None
    if maker.excerpts:
        chosen = model_pairs(maker.excerpts, models, seeds, options.seed, options.context)
        rows += [row_to_json(pair) + b"\n" for pair in chosen.pairs]
        write_rows(output / "refused.jsonl", chosen.refused)
    made = PairSet(output, len(rows), maker.reports, chosen)
    if not rows:
        return made
    content = b"".join(rows)
    manifest = made.numbers | {
        "options": options._asdict(),
        "roles": {
            role: {"model": models.names(role)[0], "prompt_version": pair_prompts()[role].version}
            for role in sorted(models.roles)
        },
        "sha256": hashlib.sha256(content).hexdigest(),
        "versions": versions(),
    }
    write_atomically(output / MANIFEST_FILE, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    # Last: with it the folder is whole.
    write_atomically(output / PAIRS_FILE, content)
    return made


def token_tables(folder: Path, count: Callable[[str], int], unit: str) -> list[Table]:
    """Return Figure 3 of C3-Bench's paper for a set: lengths of context, middle and instruction, and shares.

    ``count`` gives the length of a text in ``unit``.
    """
    lengths: dict[str, list[int]] = defaultdict(list)
    boundaries, languages = Counter[str](), Counter[str]()
    for pair in read_rows(folder / PAIRS_FILE, TrainingPair):
        lengths["context"].append(count(pair.prefix) + count(pair.suffix))
        lengths["middle"].append(count(pair.middle))
        if pair.instruction is not None:
            lengths["instruction"].append(count(pair.instruction))
        boundaries[pair.boundary] += 1
        languages[pair.language] += 1
    rows = [
        (name, str(len(values)), f"{fmean(values):.0f}", f"{median(values):.0f}", str(max(values)))
        for name, values in lengths.items()
    ]
    tables = [Table("lengths", "Lengths", ("Part", "Pairs", f"Mean {unit}", "Median", "Maximum"), tuple(rows))]
    for head, counts in (("Boundary", boundaries), ("Language", languages)):
        shares = tuple((name, str(n), f"{n / counts.total():.1%}") for name, n in counts.items())
        tables.append(Table(head.lower(), head, (head, "Pairs", "Share"), shares))
    return tables
