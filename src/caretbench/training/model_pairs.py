"""Pairs whose middle and instruction a model chooses: seeds by one model, and by their example those of another."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from caretbench.build.build_models import BuildModels
from caretbench.errors import DataError
from caretbench.files import describe_validation_error, read_packaged_toml
from caretbench.local.weights import catalogue
from caretbench.models import Sampling
from caretbench.problem import Row
from caretbench.suites.c3bench.build.variants.model_roles import (
    RolePrompt,
    StructuredRequest,
    UnreadableAnswer,
    listed_values,
    readable_answers,
)
from caretbench.training.pair_making import Excerpt, Middle, pair_of
from caretbench.training.pairs import TrainingPair

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
    "type": "object", "properties": {"middle": {"type": "string"}, "instruction": {"type": "string"}},
    "required": ["middle", "instruction"], "additionalProperties": False,
}  # fmt: skip
_SCHEMA: Final[Mapping[str, JsonValue]] = {
    "type": "object", "properties": {"pairs": {"type": "array", "items": {**_PAIR}}}, "required": ["pairs"],
    "additionalProperties": False,
}  # fmt: skip


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


class ModelPairs(NamedTuple):
    """Pairs that models chose, the number of them that are seeds, and what was refused."""

    pairs: Sequence[TrainingPair]
    seeds: int
    refused: Sequence[RefusedMiddle]

    @property
    def faults(self) -> Mapping[str, int]:
        """Number of refused pairs by kind of fault."""
        return dict(Counter(one.fault.partition(":")[0] for one in self.refused).most_common())


@cache
def pair_prompts() -> Mapping[str, RolePrompt]:
    """Return the prompts by role."""
    return TypeAdapter(dict[str, RolePrompt]).validate_python(read_packaged_toml(__package__, "pair_prompts.toml"))


def terms_notes(specs: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each model, by role, of a family whose terms have something to say about trained models."""
    for role, spec in specs.items():
        for name, known in catalogue().items():
            if known.terms is not None and name in spec.lower():
                licence = f"{known.licence}, {known.terms.address}"
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
    choices = _Choices(models, context)
    draw = random.Random(f"{seed} seeds")  # noqa: S311 - a reproducible draw, no secret
    first = draw.sample(excerpts, min(seeds, max(1, len(excerpts) // 2)))
    choices.ask(SEEDER_ROLE, dict.fromkeys(first, ""), 1)
    number = len(choices.pairs)
    if GENERATOR_ROLE in models.roles:
        if not number:
            raise DataError(f"-m {SEEDER_ROLE}: no seed of {len(first)} can be used: {choices.result(0).faults}")
        choices.ask(GENERATOR_ROLE, {one: _examples(one, choices.pairs[:number], seed) for one in excerpts})
    return choices.result(number)


class _Choices:
    """Answers of models so far: pairs, and what was refused."""

    def __init__(self, models: BuildModels, context: int) -> None:
        self._models, self._context = models, context
        self.pairs: list[TrainingPair] = []
        self._refused: list[RefusedMiddle] = []
        self._taken = set[tuple[str, int, int]]()

    def result(self, seeds: int) -> ModelPairs:
        return ModelPairs(self.pairs, seeds, self._refused)

    def ask(self, role: str, examples: Mapping[Excerpt, str], count: int | None = None) -> None:
        """Ask the model of a role for ``count`` pairs of each excerpt, or as many as each has."""
        (model,) = self._models.names(role)
        requests = [
            StructuredRequest(
                one.id,
                {"language": one.language, "path": one.path, "code": one.shown, "examples": shown,
                 "count": str(count or one.pairs)},
                _SCHEMA, _SAMPLING, "a middle and its instruction",
            )
            for one, shown in examples.items()
        ]  # fmt: skip
        prompt = pair_prompts()[role]
        answers = readable_answers(
            self._models, role, {model: requests}, lambda _key, text: listed_values(text, "pairs", _MAX_PAIRS), prompt
        )
        for one in examples:
            answer = answers[model, one.id]
            if isinstance(answer, UnreadableAnswer):
                self._refuse(role, one, f"malformed: {answer.fault}", answer.text)
                continue
            for value in answer:
                self._add(role, model, one, value)

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
        place = {"role": role, "source": excerpt.source, "path": excerpt.path}
        self._refused.append(RefusedMiddle(**place, fault=fault, text=text[:2000]))


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
    others = [one for one in seeds if (one.source, one.path) != (excerpt.source, excerpt.path)] or seeds
    alike = [one for one in others if one.language == excerpt.language] or others
    draw = random.Random(f"{seed} {excerpt.id}")  # noqa: S311 - a reproducible draw, no secret
    shown = []
    for number, one in enumerate(draw.sample(alike, min(_EXAMPLES, len(alike))), 1):
        answer = json.dumps({"middle": one.middle, "instruction": one.instruction}, ensure_ascii=False)
        code = one.prefix[-_EXAMPLE_CONTEXT:] + one.middle + one.suffix[:_EXAMPLE_CONTEXT]
        shown.append(f"Example {number}, in this code:\n\n{code.rstrip()}\n\n{answer}")
    return "\n\n".join(shown)
