"""Request of a description for a patch, its criteria, and the parser of written descriptions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from caretbench.problem import CriterionCheck
from caretbench.suites.efcb.choice_answers import remove_reasoning
from caretbench.suites.efcb.efcb_score import HALLUCINATION_TASK, MAX_JUDGED_SCORE, REVERSE_TASK

Task = Literal["reverse-qa", "reverse-qa-hallu"]


TASKS: Final[tuple[Task, ...]] = (REVERSE_TASK, HALLUCINATION_TASK)


JUDGE_CRITERIA: Final[Mapping[Task, CriterionCheck]] = {
    "reverse-qa": CriterionCheck(name="efcb-description", maximum=MAX_JUDGED_SCORE),
    "reverse-qa-hallu": CriterionCheck(name="efcb-claims", maximum=1.0),
}


INSTRUCTION: Final = (
    "Write the title and the description of the pull request that makes the following patch: what changes and why, as"
    " far as the patch tells. Answer in this form:\n\nTitle: the title, in one line\n\nBody: the description"
)


DescriptionForm = Literal["labelled", "json", "plain", "empty", "unfinished_reasoning"]


_MARKS: Final = r"[\s>#*_`\[\]\"']*"


_TITLE: Final = re.compile(rf"^{_MARKS}(?:PR |Pull Request )?Title{_MARKS}(?::|$)", re.MULTILINE | re.IGNORECASE)


_BODY: Final = re.compile(rf"^{_MARKS}(?:PR )?(?:Body|Description){_MARKS}(?::|$)", re.MULTILINE | re.IGNORECASE)


_WRAPPED: Final = re.compile(r"\A\s*(```+|~~~+)[^\n`]*\n(.*?)\n?\1\s*\Z", re.DOTALL)


class WrittenDescription(NamedTuple):
    """A title and a description, and their form; ``plain``: the first line is the title."""

    title: str
    body: str
    form: DescriptionForm

    @property
    def text(self) -> str:
        """Both texts, without labels."""
        return f"{self.title}\n\n{self.body}".strip()


def parse_description(text: str | None) -> WrittenDescription:
    """Return title and description of a raw answer, without reasoning and an enclosing fence."""
    said = remove_reasoning((text or "").replace("\r\n", "\n"))
    if said is None:
        return WrittenDescription("", "", "unfinished_reasoning")
    wrapped = _WRAPPED.fullmatch(said)
    said = (wrapped[2] if wrapped else said).strip()
    if not said:
        return WrittenDescription("", "", "empty")
    return _from_json(said) or _from_labels(said) or _plain(said)


def _from_json(said: str) -> WrittenDescription | None:
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
    return WrittenDescription(_bare(title), body.strip(), "json")


def _from_labels(said: str) -> WrittenDescription | None:
    title = _TITLE.search(said)
    body = _BODY.search(said, title.end() if title else 0)
    if title is None and body is None:
        return None
    before = _behind(said[title.end() if title else 0 : body.start() if body else len(said)])
    first, _, rest = before.partition("\n")
    return WrittenDescription(_bare(first), _behind(said[body.end() :] if body else rest), "labelled")


def _behind(text: str) -> str:
    """Return the text after a label, without closing marks (``**Title:**``)."""
    return text.strip().removeprefix("**").removeprefix("__").strip()


def _plain(said: str) -> WrittenDescription:
    first, _, rest = said.partition("\n")
    return WrittenDescription(_bare(first), rest.strip(), "plain")


def _bare(title: str) -> str:
    """Return a title in one line, without Markdown marks and quotes around it."""
    line = " ".join(title.split()).lstrip("# ")
    for mark in ("**", "__", "`", '"', "'"):
        if len(line) > 2 * len(mark) and line.startswith(mark) and line.endswith(mark):
            line = line[len(mark) : -len(mark)].strip()
    return line
