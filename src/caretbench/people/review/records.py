"""Review events: everything that people do in a review, one row each. Rows are appended and never changed."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints

from caretbench.errors import UsageError
from caretbench.files import sha256_text
from caretbench.judging.criteria import Criterion
from caretbench.judging.prompting import question_text
from caretbench.people.review.protocol import Answer
from caretbench.problem import Caret, ContextFile, Problem, Row, StoredRow


class ShownItem(Row):
    """Texts of an item that people see, as far as the protocol shows them.

    ``before``, ``span`` and ``after`` are the program with the reviewed text as ``span``; of a question, ``question``
    has its text, ``choices`` and ``files`` what belongs to it, and ``span`` the answer.
    """

    instruction: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    files: tuple[ContextFile, ...] = ()
    before: str = ""
    span: str = ""
    after: str = ""
    reference: str | None = None
    """The reference, beside an answer."""
    tests: str = ""
    """Hidden tests: what the program has after the shown text, or the command that runs tests."""
    verdict: str = ""
    """Outcome of the run with a message."""


class HiddenItem(Row):
    """Facts that no reviewer sees: authors, scores by judge, and the known answers of a control."""

    models: tuple[str, ...] = ()
    judges: Mapping[str, float] = Field(default_factory=dict)
    control: str | None = None
    expect: Mapping[str, tuple[Answer, ...]] = Field(default_factory=dict)
    explanation: str = ""


class ReviewItem(StoredRow):
    """One item of a review: a row of its database.

    ``answer`` is the hash of the span, as in judgements. ``successor_of`` is the item that this one replaces.
    ``warm_up`` and ``control`` items are decided by everybody and are no part of the result.
    """

    problem_id: str
    suite: str
    language: str = ""
    kind: Literal["item", "control", "warm_up"] = "item"
    answer: str
    labels: Mapping[str, str] = Field(default_factory=dict)
    shown: ShownItem
    hidden: HiddenItem = HiddenItem()
    successor_of: str | None = None
    problem_hash: str = ""
    """Hash of the problem's texts, by which builders know that a result is about them."""

    @property
    def id(self) -> str:
        """Hash of the problem, its kind and what is shown: 16 hexadecimal digits, the same wherever the item is made.

        It says nothing about the author or the kind.
        """
        # From the contents, so that two copies of a review on two machines have one id for an item, and their decisions
        # can be joined.
        return sha256_text(self.problem_id, self.kind, self.shown.model_dump_json())[:16]


PersonRole = Literal["reviewer", "adjudicator", "owner"]

EventKind = Literal[
    "decision", "withdrawal", "later", "send_back", "reopen", "assign", "release", "invite", "remove", "erase"
]
"""``decision``: a person's answers; the last one counts. ``withdrawal``: a decision is undone. ``later``: the item goes
to the end of the person's queue. ``send_back``: the adjudicator asks the people of an item to decide again.
Made by the owner: ``reopen``: everybody decides an item again; ``assign`` and ``release``: ``person`` gets an item, or
no longer has it; ``invite``: ``person`` gets a ``role``; ``remove``: the person takes no further part; ``erase``: the
person's name and notes were replaced by this ``person``."""

PEOPLE_KINDS: Final = frozenset({"invite", "remove", "erase"})
"""Kinds of events that are about a person and no item."""

OWN_KINDS: Final = frozenset({"decision", "withdrawal", "later", "send_back"})
"""Kinds of events that their person made; the others are made by the owner."""

OWNER: Final = "owner"
"""Name of the owner in events. No reviewer can have it."""

# `fromisoformat` takes texts of any length; an event of a browser is not trusted.
_MAXIMUM_TIME_TEXT = 40


def now() -> str:
    """Return the time in ISO 8601, UTC, with microseconds."""
    return _utc(datetime.now(UTC))


def _utc(moment: datetime) -> str:
    # One zone and one number of digits: events are ordered by comparing these texts.
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _is_time(text: str) -> str:
    """Return the time in UTC with microseconds, so that texts have the order of times; ValueError where it is none."""
    if len(text) > _MAXIMUM_TIME_TEXT:
        raise UsageError("not a time in ISO 8601")
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise UsageError("a time needs its zone: 2026-01-31T12:00:00Z")
    return _utc(moment)


Time = Annotated[str, AfterValidator(_is_time)]
EventId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
# A page of text; the limit is for programs that send more.
Note = Annotated[str, StringConstraints(max_length=20_000)]


class ReviewEvent(StoredRow):
    """One thing that a person did, or that the owner did about an item or a person.

    ``id`` is made where the event happens (in the browser), so that a second submit is the same event. ``repeat`` is 1
    for a person's second decision of an item that comes twice. ``active_s`` are the seconds in which the item was open
    and the person active.
    """

    id: EventId
    kind: EventKind
    person: str
    role: PersonRole | None = None
    """Role in which the person acted, or gets by an ``invite``. None: the role of the first invitation."""
    item: str = ""
    repeat: int = Field(default=0, ge=0, le=1)
    protocol: str
    """Name and version of the protocol that was decided by."""
    made_at: Time
    """Time by the clock of the browser."""
    offset_s: float | None = Field(default=0.0, allow_inf_nan=False)
    """Clock of the server minus that of the browser in seconds, when the event was sent. None: the browser's time
    cannot be right, and the time of arrival counts."""
    received_at: Time
    answers: Mapping[str, Answer] = Field(default_factory=dict)
    note: Note = ""
    active_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    simulated: bool = False
    """True: made by a program in a test. No report calls such ratings validated."""

    @cached_property
    def moment(self) -> str:
        """Time at which the event was made, by the clock of the server."""
        if self.offset_s is None:
            return self.received_at
        if not self.offset_s:
            return min(self.made_at, self.received_at)
        try:
            made = datetime.fromisoformat(self.made_at) + timedelta(seconds=self.offset_s)
        except OverflowError:  # the year 9999
            return self.received_at
        return min(_utc(made), self.received_at)

    @property
    def order(self) -> tuple[str, str, str]:
        """Key that orders events: by the time at which they were made, then by arrival, then by id."""
        # A browser without a connection sends its events later, so the order of arrival is not that of deciding.
        return (self.moment, self.received_at, self.id)


def new_event_id() -> str:
    """Return a new id of an event."""
    return uuid.uuid4().hex


def new_event(kind: EventKind, person: str, protocol: str, **fields: Any) -> ReviewEvent:
    """Return an event that happens now; ``fields`` are its other fields."""
    moment = now()
    return ReviewEvent(
        id=new_event_id(), kind=kind, person=person, protocol=protocol, made_at=moment, received_at=moment, **fields
    )


# Names are shown on pages, and written into the tables of an export.
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")


def checked_name(name: str) -> str:
    """Return the name of a person; ValueError where it cannot be one."""
    # The owner decides no item; a reviewer of this name could open items again.
    if not _NAME.match(name) or name == OWNER:
        raise UsageError(f"{name!r} is no name for a reviewer: up to 64 letters, digits, . _ @ -, and not 'owner'")
    return name


def rated_score_names(criterion: Criterion) -> list[str]:
    """Return the names of a person's scores: the criterion's, or hallucination (1) or none (0)."""
    return ["hallucination"] if criterion.then is not None else [scale.name for scale in criterion.scores]


def shown_texts(problem: Problem) -> dict[str, str]:
    """Return the texts of a problem that a rating has for its readers, by field."""
    shown = problem.shown
    if isinstance(shown, Caret):
        texts = {"language": shown.language, "prefix": shown.prefix, "suffix": shown.suffix}
        if shown.instruction:
            texts |= {"instruction": shown.instruction, "reference": problem.reference}
        return texts
    language = problem.label("language") if "language" in problem.labels else ""
    return {"language": language, "question": question_text(shown), "reference": problem.reference}
