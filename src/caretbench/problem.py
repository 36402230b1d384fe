"""Data model: problems, completions and scores.

Read this file first. A *problem* shows a model a place in a program (a :class:`Caret`) or asks it something
(a :class:`Question`); a *completion* is a model's answer; the answer is *spliced* into a program, *checked*, and
every check leaves a *score*. Each class here is one line of a JSONL file, and the files are the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from caretbench.files import replace_surrogates

Profile = Literal["paper", "default"]
"""``paper`` scores as the paper's released code does; ``default`` as it should be. Never mixed in one column."""

Label = str | float | list[str]
"""One value, a raw number (binned only when summarised), or several values at once."""


class Row(BaseModel):
    """Base class of stored rows and table entries: immutable, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredRow(Row):
    """Base class of rows and documents of files, which name the version of their form."""

    schema_version: Literal[1] = 1


class ContextFile(Row):
    """Another file of the project that the model may see."""

    path: str
    text: str


class Caret(Row):
    """Position in a program: the text before and after it, and further context for the model.

    ``repository`` names the project where other files of it are shown: some prompts have a place for it. It is stored
    only where it is known, so that the hashes of problems without it stay as they are.
    """

    kind: Literal["caret"] = "caret"
    language: str
    prefix: str
    suffix: str = ""
    path: str | None = None
    instruction: str | None = None
    context: tuple[ContextFile, ...] = ()
    repository: str | None = Field(default=None, exclude_if=lambda name: name is None)
    statement: str | None = Field(default=None, exclude_if=lambda text: text is None)
    """Text that a prompt shows before the program and that is no part of it, such as the task of a contest."""
    hole: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """Kind of the missing text, where the released truncation depends on it. No prompt shows it."""


class ReleasedMessage(Row):
    """One message of a released prompt."""

    role: Literal["system", "user"]
    text: str


class Question(Row):
    """A question about code; with choices it is a multiple-choice question.

    ``messages`` are those of a released question: prompts show them unchanged, in place of the other fields, which
    hold the same content for baselines, measures and judges. They are stored only where there are any, so that the
    hashes of other questions stay as they are.
    """

    kind: Literal["question"] = "question"
    text: str
    choices: tuple[str, ...] = ()
    context: tuple[ContextFile, ...] = ()
    messages: tuple[ReleasedMessage, ...] = Field(default=(), exclude_if=lambda messages: not messages)


class InlineSplice(Row):
    """Splice of the answer between two texts of one program: ``before + answer + after``, nothing else.

    The texts may hold more than the caret shows (assertions, for example): hidden text never reaches a prompt.
    """

    kind: Literal["inline"] = "inline"
    before: str
    after: str

    def program(self, answer: str) -> str:
        """Return the whole program with ``answer`` in its place; U+FFFD replaces lone surrogates, as in any file."""
        # A model that is cut off within a character leaves half a surrogate pair, which no file in UTF-8 can hold.
        return replace_surrogates(self.before + answer + self.after)


class FileSplice(Row):
    """Splice in a file: the answer replaces bytes ``start`` to ``end`` of a file of a stored project snapshot.

    The caret shows the file with line feeds at the ends of lines, as models write; ``newline`` is what ends the lines
    of the file, and the answer's lines get it. The bytes around the span stay as they are.
    """

    kind: Literal["file"] = "file"
    snapshot: str
    path: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    newline: Literal["\n", "\r\n"] = "\n"

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"the span ends at {self.end}, before it starts at {self.start}")
        return self

    def content(self, original: bytes, answer: str) -> bytes:
        """Return the file with ``answer`` in the place of the span; ValueError where the file is shorter than that."""
        if self.end > len(original):
            raise ValueError(f"{self.path} has {len(original)} bytes; the span ends at {self.end}")
        # Models answer with line feeds, whatever the file has: mixed line ends would change more of the
        # file than was asked for.
        text = answer.replace("\r\n", "\n").replace("\n", self.newline)
        return original[: self.start] + replace_surrogates(text).encode() + original[self.end :]


class NoSplice(Row):
    """No splice: the answer is judged as it is (a choice, a description)."""

    kind: Literal["none"] = "none"


class ProgramCheck(Row):
    """Check that the spliced program runs to its end, including its assertions."""

    kind: Literal["program"] = "program"
    needs: tuple[str, ...] = ()
    """Requirements on the machine in addition to packages: ``display``, ``network``."""


class ProgramCase(Row):
    """Input of a program, and the outputs that are accepted for it."""

    stdin: str = ""
    outputs: tuple[str, ...] = Field(min_length=1)


class CasesCheck(Row):
    """Check that the spliced program prints an accepted output for the input of each case.

    The program is compiled once; the first case that fails ends the check. Exit status 0 and the output decide, and a
    program need not reach its end: ``System.exit(0)`` is how many contest programs end.
    """

    kind: Literal["cases"] = "cases"
    cases: tuple[ProgramCase, ...] = Field(min_length=1)
    comparison: Literal["exact", "whitespace", "contest"] = "contest"
    needs: tuple[str, ...] = ()


class ExpectedOutput(Row):
    """Expected output of a command: ``exact``, up to ``whitespace``, only the ``last_line``, ``numeric``, ``contest``.

    ``numeric`` compares word by word; words that are numbers may differ by ``absolute`` plus ``relative`` times the
    expected value. ``contest`` compares as ExecEval does, without regard to both.
    """

    text: str
    comparison: Literal["exact", "whitespace", "last_line", "numeric", "contest"] = "whitespace"
    relative: float = Field(default=1e-6, ge=0)
    absolute: float = Field(default=1e-9, ge=0)


class TestsCheck(Row):
    """Check that tests of the project pass in a workspace with the spliced file.

    ``command`` starts in ``directory`` of the project; it must end with exit status 0, at least ``minimum_tests`` of
    the reports ``junit`` (paths or patterns) must have passed, and ``output``, where given, must be printed.
    ``prepare`` runs once in the project as it is, to save time: ``command`` finds what it left, and does all without
    it. ``tests`` names the tests, or test files, that reach the span; empty: all. ``excluded_tests`` do not run, by the
    names that the runner's plugin, or else its reports, have for them. ``bundle`` names the packages that are bound
    read-only, and ``reference_s`` the CPU seconds that the reference took, from which limits follow.
    """

    # pytest takes every class called Test… for one of its own.
    __test__ = False

    kind: Literal["tests"] = "tests"
    command: tuple[str, ...]
    prepare: tuple[str, ...] = Field(default=(), exclude_if=lambda words: not words)
    tests: tuple[str, ...] = ()
    excluded_tests: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    needs: tuple[str, ...] = ()
    directory: str = "."
    environment: Mapping[str, str] = Field(default_factory=dict)
    junit: tuple[str, ...] = ()
    minimum_tests: int = Field(default=0, ge=0)
    output: ExpectedOutput | None = None
    bundle: str | None = None
    reference_s: float | None = Field(default=None, ge=0)


class ChoiceCheck(Row):
    """Check that the answer names the right choice, counted from 0."""

    kind: Literal["choice"] = "choice"
    correct: int = Field(ge=0)


class PredicateCheck(Row):
    """Check that a predicate of the suite, found by name, holds for the program with the answer inserted.

    With ``counts`` false it is a measure of its own, and no part of passing. With ``reduce`` an answer that passes is
    reduced while it passes, and the predicate asked about what is left.
    """

    kind: Literal["predicate"] = "predicate"
    name: str
    arguments: Mapping[str, JsonValue] = Field(default_factory=dict)
    counts: bool = Field(default=True, exclude_if=lambda counts: counts)
    reduce: bool = Field(default=False, exclude_if=lambda reduce: not reduce)


class CriterionCheck(Row):
    """Check by a judge, who rates the answer by a named criterion, from 0 to ``maximum``."""

    kind: Literal["criterion"] = "criterion"
    name: str
    maximum: float = 5.0


Shown = Annotated[Caret | Question, Field(discriminator="kind")]
Splice = Annotated[InlineSplice | FileSplice | NoSplice, Field(discriminator="kind")]
Check = Annotated[
    ProgramCheck | CasesCheck | TestsCheck | ChoiceCheck | PredicateCheck | CriterionCheck, Field(discriminator="kind")
]


class Provenance(Row):
    """Origin of a problem; ``date`` (ISO 8601) lets a split start after a model's cut-off."""

    source: str
    revision: str | None = None
    licence: str | None = None
    date: str | None = None


class Problem(StoredRow):
    """One problem of one suite.

    ``cluster`` names the source that problems share, for resampling; ``overlap_group`` the problems whose spans
    overlap. ``released`` keeps fields of the released row that only the ``paper`` profile needs, and hidden texts that
    a suite's baselines need.
    """

    id: str = Field(min_length=1)
    suite: str
    shown: Shown
    splice: Splice
    reference: str
    # Data, which rows store and people read; a function of Python would be neither.
    checks: tuple[Check, ...] = Field(min_length=1)
    labels: Mapping[str, Label] = Field(default_factory=dict)
    cluster: str
    overlap_group: str | None = None
    provenance: Provenance
    released: Mapping[str, str] = Field(default_factory=dict)
    block_hash: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """Hash of the hidden block, if the id does not change with it: rows of other blocks are of other problems."""

    def label(self, name: str) -> str:
        """Return the label ``name`` as text, or raise KeyError where there is none."""
        value = self.labels[name]
        return value if isinstance(value, str) else ",".join(value) if isinstance(value, list) else f"{value:g}"

    @property
    def runs_as_program(self) -> bool:
        """True if answers are complete programs, and not files of a project with a test command."""
        return any(check.kind in ("program", "cases") for check in self.checks)

    @property
    def caret(self) -> Caret:
        """Return the caret, or raise TypeError if the problem asks a question instead."""
        if not isinstance(self.shown, Caret):
            raise TypeError(f"{self.id} asks a question: it has no caret")
        return self.shown

    @property
    def hidden_tests(self) -> str:
        """Text behind the shown suffix that the program has but nobody is shown; empty for problems of projects."""
        if not (isinstance(self.splice, InlineSplice) and isinstance(self.shown, Caret)):
            return ""
        return self.splice.after.removeprefix(self.shown.suffix)


CompletionKey = tuple[str, str, str, int]
ScoreKey = tuple[str, str, str, int, str, str, str]


class Usage(Row):
    """Token counts of one request. ``answers`` is its number of samples: divide by it before summing over samples.

    ``input_tokens`` counts the whole prompt, the ``cached_tokens`` of it included; ``output_tokens`` all answers, the
    ``reasoning_tokens`` included. None: the provider does not tell.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    answers: int = Field(default=1, ge=1)


class Latency(Row):
    """Seconds from sending a request (its last try) to the first and to the last token of the answer.

    ``first_s`` is None where the answer came in one piece. ``attempts`` counts the tries.
    """

    first_s: float | None = None
    last_s: float
    attempts: int = 1


class Completion(StoredRow):
    """Completion: raw answer of one model to one problem, before truncation by a policy.

    Further fields of a recorded row are kept. ``text`` is None where the provider answered with nothing at all.
    ``error`` marks a released row that holds an error message in place of a completion: only the ``paper`` profile
    counts it, as the released code did.
    """

    model_config = ConfigDict(extra="allow")

    problem_id: str
    # Names are printed to terminals: a control character could hide or forge what stands around it.
    model: str = Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")
    parameters: str = "none"
    """Hash of the sampling and prompt settings; ``recorded`` or ``none`` if the answer was not requested here."""
    sample: int = Field(default=0, ge=0, lt=1 << 31)
    at: int = Field(default=0, ge=0, exclude_if=lambda at: not at)
    """Number of typed characters of the reference in the prompt (``--typing``); a row with some is never scored."""
    text: str | None
    error: bool = False
    finish_reason: str | None = None
    """``stop``, ``length``, or the provider's own word."""
    prompt: str | None = None
    """Key of the prompt strategy, ``chat@1`` or ``fim/starcoder@1``; None for recorded answers."""
    usage: Usage | None = None
    cost: float | None = None
    """Cost of this answer in US dollars: the request's cost, divided by its answers; None if no price is known."""
    latency: Latency | None = None
    log_probabilities: Mapping[str, float] | None = None
    """Known log-probabilities of the choices' letters, if the answer is the likeliest letter."""
    block_hash: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """That of the problem when it was asked."""

    @property
    def key(self) -> CompletionKey:
        """Unique key of the row in its file."""
        return (place_key(self.problem_id, self.at), self.model, self.parameters, self.sample)


def place_key(problem_id: str, at: int) -> str:
    """Return a problem's id with the number of typed characters, as keys have it; without any, the id."""
    return f"{problem_id}@{at}" if at else problem_id


# Models of pydantic took 1.3 kB for each of the 80,952 completions of nine models: a report peaked at 482 MB, now at
# 389.
class StoredCompletion(NamedTuple):
    """Completion of a stored run, as reports read it: a tenth of a :class:`Completion`'s memory.

    Rows of equal content share its objects.
    """

    problem_id: str
    model: str
    parameters: str
    sample: int
    text: str | None
    error: bool
    finish_reason: str | None
    prompt: str | None
    usage: Usage | None
    cost: float | None
    latency: Latency | None

    @property
    def key(self) -> CompletionKey:
        """Unique key of the row in its file."""
        return self[:4]


AnyCompletion = Completion | StoredCompletion


class MissingSample(StoredRow):
    """Missing sample: a line of ``errors.jsonl``, never a completion.

    The next run asks for it again; ``unpromptable`` ones (the text holds a sentinel of the model's) only under
    another prompt. ``message`` holds no key.
    """

    problem_id: str
    model: str
    parameters: str
    sample: int = 0
    at: int = Field(default=0, ge=0, exclude_if=lambda at: not at)
    kind: str
    message: str
    attempts: int = 1

    @property
    def key(self) -> CompletionKey:
        """Key of the missing completion."""
        return (place_key(self.problem_id, self.at), self.model, self.parameters, self.sample)


class Judgement(StoredRow):
    """Judgement of one text by one judge under one criterion: a line of ``judgements.jsonl``.

    A text is judged once for each problem, whoever wrote it: ``answer`` is the hash of what was inserted at the
    caret. ``values`` holds the sub-scores and is empty where the answer could not be understood after all tries
    (``fault`` is the reason); such a row is asked again by the next run.
    """

    problem_id: str
    answer: str
    judge: str
    parameters: str
    criterion: str
    """Name and version of the criterion, its prompt included: ``devbench-quality@1``."""
    repeat: int = 0
    values: Mapping[str, float] = Field(default_factory=dict)
    fault: str | None = None
    text: str | None = None
    """Raw text of the judge's last answer."""
    attempts: int = 1
    usage: Usage | None = None
    cost: float | None = None
    latency: Latency | None = None

    @property
    def key(self) -> tuple[str, str, str, str, str, int]:
        """Unique key of the row in its file."""
        return (self.problem_id, self.answer, self.judge, self.parameters, self.criterion, self.repeat)


class Score(StoredRow):
    """Score of one completion by one scorer under one policy and profile.

    ``values`` holds numbers by metric name (``passed`` is 0 or 1); ``outcome`` the execution status where a program
    ran; a row whose ``counted`` is false has no verdict (``outcome`` is the reason) and lowers coverage.
    """

    problem_id: str
    model: str
    parameters: str = "none"
    sample: int = Field(default=0, ge=0)
    scorer: str
    policy: str
    profile: Profile
    counted: bool = True
    outcome: str | None = None
    values: Mapping[str, float] = Field(default_factory=dict)
    details: Mapping[str, JsonValue] = Field(default_factory=dict)

    @property
    def key(self) -> ScoreKey:
        """Unique key of the row in its file."""
        return (self.problem_id, self.model, self.parameters, self.sample, self.scorer, self.policy, self.profile)

    @property
    def completion_key(self) -> CompletionKey:
        """Key of the scored completion."""
        return (self.problem_id, self.model, self.parameters, self.sample)
