"""Reverse-QA and Reverse-QA-Hallu: a patch is shown, and the model writes the change's title and description.

Both tasks show the same and differ in what is judged: how much of the people's text is there, and whether something is
said that neither the patch nor that text supports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, NamedTuple

from caretbench.problem import ContextFile, CriterionCheck, NoSplice, Problem, Question, Row
from caretbench.sources.changes.descriptions import NO_TEMPLATE
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.answers import without_reasoning
from caretbench.suites.efcb.describing import SUITE, Rejected, cluster, common_labels, provenance
from caretbench.suites.efcb.efcb_score import HALLUCINATION, JUDGED_MAXIMUM, REVERSE
from caretbench.suites.efcb.options import EfcbOptions
from caretbench.suites.efcb.queries import query
from caretbench.suites.efcb.rendering import Rendered, render
from caretbench.suites.efcb.seeding import item_id
from caretbench.suites.efcb.written.masking import NO_FORMS, PATCH

Task = Literal["reverse-qa", "reverse-qa-hallu"]
TASKS: Final[tuple[Task, ...]] = (REVERSE, HALLUCINATION)
CRITERIA: Final[Mapping[Task, CriterionCheck]] = {
    "reverse-qa": CriterionCheck(name="efcb-description", maximum=JUDGED_MAXIMUM),
    "reverse-qa-hallu": CriterionCheck(name="efcb-claims", maximum=1.0),
}

ASKED: Final = (
    "Write the title and the description of the pull request that makes the following patch: what changes and why, as"
    " far as the patch tells. Answer in this form:\n\nTitle: the title, in one line\n\nBody: the description"
)


class ReverseItem(Row):
    """One patch and what people wrote of it; the ``body`` is cleaned, or raw under the ``paper`` profile."""

    pull: PullRequest
    rendered: Rendered
    title: str
    body: str
    options: EfcbOptions

    @property
    def reference(self) -> str:
        """Title and description in the form that is asked for."""
        return f"Title: {self.title}\n\nBody: {self.body}"


def reverse_items(
    pulls: Iterable[PullRequest], options: EfcbOptions, forms: Mapping[str, Collection[str]] = NO_FORMS
) -> tuple[list[ReverseItem], list[Rejected]]:
    """Return one item for each change, by repository, newest first; and the changes that give none."""
    items: list[ReverseItem] = []
    rejected: list[Rejected] = []
    newest = sorted(pulls, key=lambda pull: pull.merge_order, reverse=True)
    for pull in sorted(newest, key=lambda pull: pull.repo):
        rendered = render(pull, generated=options.rules.generated_shown)
        body = query(pull, "description_only", options.profile, forms.get(pull.repo, NO_TEMPLATE)).text
        title = " ".join(pull.title.split())
        missing = {"no_patch": rendered.files, "no_title": title, "no_description": body}
        reason = next((reason for reason, there in missing.items() if not there), None)
        if reason is None:
            items.append(ReverseItem(pull=pull, rendered=rendered, title=title, body=body, options=options))
        else:
            rejected += [Rejected.of(pull, task, reason) for task in TASKS]
    return items, rejected


def problem(item: ReverseItem, task: Task) -> Problem:
    """The item as a problem of one of the two tasks; ``released`` keeps title and description as they were written."""
    pull = item.pull
    return Problem(
        id=item_id(task, "", pull.repo, pull.merge_sha, item.options.configuration),
        suite=SUITE,
        shown=Question(text=ASKED, context=(ContextFile(path=PATCH, text=item.rendered.text),)),
        splice=NoSplice(),
        reference=item.reference,
        checks=(CRITERIA[task],),
        labels=common_labels(pull, item.rendered, task, ""),
        cluster=cluster(pull),
        provenance=provenance(pull),
        released={"title": pull.title, "description": pull.description},
    )


Form = Literal["labelled", "json", "plain", "empty", "unfinished_reasoning"]

_MARKS: Final = r"[\s>#*_`\[\]\"']*"
_TITLE: Final = re.compile(
    rf"^{_MARKS}(?:PR |Pull Request )?Title{_MARKS}(?::|$)", re.MULTILINE | re.IGNORECASE
)
_BODY: Final = re.compile(
    rf"^{_MARKS}(?:PR )?(?:Body|Description){_MARKS}(?::|$)", re.MULTILINE | re.IGNORECASE
)
_WRAPPED: Final = re.compile(r"\A\s*(```+|~~~+)[^\n`]*\n(.*?)\n?\1\s*\Z", re.DOTALL)


class Described(NamedTuple):
    """A title and a description, and in which form they came; ``plain``: the first line is the title."""

    title: str
    body: str
    form: Form

    @property
    def text(self) -> str:
        """Both, without what labels them."""
        return f"{self.title}\n\n{self.body}".strip()


def described(text: str | None) -> Described:
    """Title and description from a raw answer; reasoning and a fence around the whole are taken off."""
    said = without_reasoning((text or "").replace("\r\n", "\n"))
    if said is None:
        return Described("", "", "unfinished_reasoning")
    wrapped = _WRAPPED.fullmatch(said)
    said = (wrapped[2] if wrapped else said).strip()
    if not said:
        return Described("", "", "empty")
    return _from_json(said) or _from_labels(said) or _plain(said)


def _from_json(said: str) -> Described | None:
    if not said.startswith("{"):
        return None
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return None
    fields = {str(name).lower(): entry for name, entry in value.items()} if isinstance(value, dict) else {}
    title, body = fields.get("title"), fields.get("body", fields.get("description"))
    if not isinstance(title, str) or not isinstance(body, str):
        return None
    return Described(_bare(title), body.strip(), "json")


def _from_labels(said: str) -> Described | None:
    title = _TITLE.search(said)
    body = _BODY.search(said, title.end() if title else 0)
    if title is None and body is None:
        return None
    before = _behind(said[title.end() if title else 0 : body.start() if body else len(said)])
    first, _, rest = before.partition("\n")
    return Described(_bare(first), _behind(said[body.end() :] if body else rest), "labelled")


def _behind(text: str) -> str:
    """What stands behind a label, without the marks that close it (``**Title:**``)."""
    return text.strip().removeprefix("**").removeprefix("__").strip()


def _plain(said: str) -> Described:
    first, _, rest = said.partition("\n")
    return Described(_bare(first), rest.strip(), "plain")


def _bare(title: str) -> str:
    """Return a title in one line, without marks of Markdown and quotes around it."""
    line = " ".join(title.split()).lstrip("# ")
    for mark in ("**", "__", "`", '"', "'"):
        if len(line) > 2 * len(mark) and line.startswith(mark) and line.endswith(mark):
            line = line[len(mark) : -len(mark)].strip()
    return line
