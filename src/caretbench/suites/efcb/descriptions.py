"""Descriptions of patches: request, parser, mentions that can be checked, scores without a judge.

A mention (identifier, path, number, reference) that is neither in the patch nor in the author's text is invented, or
known from elsewhere: both are hallucinations in a description of this patch. Statements in plain words are left to
judges.

Most words of authors' texts are not in the patch, so no model can know them and recall has a low ceiling. Recall is
reported raw, with its ceiling, and as a share of the ceiling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Final, Literal, NamedTuple

from caretbench.metrics.text_overlap import bag_overlap, chrf, content_words, rouge_l
from caretbench.problem import CriterionCheck, Problem, Question
from caretbench.suites.efcb.choices import remove_reasoning
from caretbench.suites.efcb.efcb_score import MAX_JUDGED_SCORE
from caretbench.suites.efcb.problem_metadata import EfcbTask

Task = Literal["reverse-qa", "reverse-qa-hallu"]


DESCRIPTION_TASKS: Final[tuple[Task, ...]] = (EfcbTask.REVERSE, EfcbTask.HALLUCINATION)


JUDGE_CRITERIA: Final[Mapping[Task, CriterionCheck]] = {
    "reverse-qa": CriterionCheck(name="efcb-description", maximum=MAX_JUDGED_SCORE),
    "reverse-qa-hallu": CriterionCheck(name="efcb-claims", maximum=1.0),
}


DESCRIPTION_INSTRUCTION: Final = (
    "Write the title and the description of the pull request that makes the following patch: what changes and why, as"
    " far as the patch tells. Answer in this form:\n\nTitle: the title, in one line\n\nBody: the description"
)
_WRAP: Final = r"[\s>#*_`\[\]\"']*"
_TITLE: Final = re.compile(rf"^{_WRAP}(?:PR |Pull Request )?Title{_WRAP}(?::|$)", re.MULTILINE | re.IGNORECASE)
_BODY: Final = re.compile(rf"^{_WRAP}(?:PR )?(?:Body|Description){_WRAP}(?::|$)", re.MULTILINE | re.IGNORECASE)
_WRAPPED: Final = re.compile(r"\A\s*(```+|~~~+)[^\n`]*\n(.*?)\n?\1\s*\Z", re.DOTALL)


class WrittenDescription(NamedTuple):
    """A title and a description."""

    title: str
    body: str

    @property
    def text(self) -> str:
        """Both texts, without labels."""
        return f"{self.title}\n\n{self.body}".strip()


def parse_description(text: str | None) -> WrittenDescription:
    """Return title and description of a raw answer; without labels, the first line is the title."""
    said = remove_reasoning((text or "").replace("\r\n", "\n"))
    wrapped = _WRAPPED.fullmatch(said or "")
    said = (wrapped[2] if wrapped else said or "").strip()
    first, _, rest = said.partition("\n")
    return _from_json(said) or _from_labels(said) or WrittenDescription(_bare(first), rest.strip())


def _from_json(said: str) -> WrittenDescription | None:
    if not said.startswith("{"):
        return None
    try:
        value = json.loads(said)
    # Some thousand open brackets end the parser in a RecursionError; such a text is plain text.
    except (ValueError, RecursionError):
        return None
    fields = {str(name).lower(): entry for name, entry in value.items()} if isinstance(value, dict) else {}
    # The request names no fields: a model that answers in JSON by itself may call the text as the form does, or as
    # GitHub does.
    title, body = fields.get("title"), fields.get("body", fields.get("description"))
    if not isinstance(title, str) or not isinstance(body, str):
        return None
    return WrittenDescription(_bare(title), body.strip())


def _from_labels(said: str) -> WrittenDescription | None:
    title = _TITLE.search(said)
    body = _BODY.search(said, title.end() if title else 0)
    if title is None and body is None:
        return None
    before = _behind(said[title.end() if title else 0 : body.start() if body else len(said)])
    first, _, rest = before.partition("\n")
    return WrittenDescription(_bare(first), _behind(said[body.end() :] if body else rest))


def _behind(text: str) -> str:
    """Return the text after a label, without closing marks (``**Title:**``)."""
    return text.strip().removeprefix("**").removeprefix("__").strip()


def _bare(title: str) -> str:
    """Return a title in one line, without Markdown marks and quotes around it."""
    line = " ".join(title.split()).lstrip("# ")
    for mark in ("**", "__", "`", '"', "'"):
        if len(line) > 2 * len(mark) and line.startswith(mark) and line.endswith(mark):
            line = line[len(mark) : -len(mark)].strip()
    return line


MentionKind = Literal["identifier", "path", "number", "reference"]

_SUFFIXES: Final = (
    "bash|bazel|c|cc|cfg|conf|cpp|cs|css|csv|go|gradle|h|hpp|html|ini|java|js|json|jsx|kt|lock|md|mod|mts|php|proto|py|rb|rs"
    "|scala|sh|sql|sum|swift|toml|ts|tsx|txt|xml|yaml|yml"
)
_URL: Final = re.compile(r"\bhttps?://[^\s)>\]\"'`]+")
_REFERENCE: Final = re.compile(r"(?<![\w&])(?:[\w.-]+/[\w.-]+)?#(\d+)\b|\bGH-(\d+)\b")
_PATH: Final = re.compile(
    rf"(?<![\w/@.-])(?:\.{{0,2}}/)?(?:[\w.@*+-]+/)+[\w.@*+-]*[\w*]|(?<![\w/.-])[\w+-]+(?:\.[\w-]+)*\.(?:{_SUFFIXES})\b(?![(\w])"
)
_CODE: Final = re.compile(r"`([^`\s]{2,120})`")
_DOTTED: Final = re.compile(r"(?<![\w./-])[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*(\(\))?")
_CODE_LIKE: Final = re.compile(r"\w_+\w|[a-z\d][A-Z]|[A-Z]{2,}[a-z]{2}|::|->|\(\)|[^\W\d]{3}\w*\.[^\W\d]{3}")
_NUMBER: Final = re.compile(r"(?<![\w.,/#:-])v?(\d+(?:[.,]\d+)*)(?=%|[a-zA-Zµ]{0,3}\b)")
_LIST_NUMBER: Final = re.compile(r"^[ \t]*\d+[.)][ \t]", re.MULTILINE)
_NAME: Final = re.compile(r"\w+")
_NO_PATH: Final = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+)?|[A-Z]+/[\d.]+|[^A-Za-z]*")  # read/write, HTTP/2, 24/7
# `port` for `maxPortRange` is how people write; `id` or `get` would be part of a name in nearly every patch.
_SHORTEST_PART: Final = 4

_BRANDS: Final = frozenset(
    {
        "bluesky", "devops", "dockerhub", "github", "gitlab", "graphql", "ios", "ipados", "ipv4", "ipv6", "javascript",
        "json", "linkedin", "macos", "mongodb", "mysql", "nodejs", "oauth", "openapi", "openssl", "postgresql",
        "powershell", "sqlite", "systemd", "tvos", "typescript", "webassembly", "websocket", "wifi", "wireguard",
        "yaml", "youtube",
    }
)  # fmt: skip
"""Names of products that look like identifiers, also with an s at the end."""


class Mention(NamedTuple):
    """One mention, as it is written."""

    kind: MentionKind
    text: str


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return the different mentions of a text, by kind and in the order of the text.

    Paths have a slash or a file suffix; two plain words with a slash (``read/write``) are no path. Identifiers look
    like one (``snake_case``, ``camelCase``, ``call()``, ``a.member``) or are single words in code spans. Numbers of
    one digit are ignored: they may count parts of the patch.
    """
    taken = []
    for pattern in (_URL, _REFERENCE, _PATH):
        taken.append([match.group() for match in pattern.finditer(text)])
        text = pattern.sub(" ", text)
    urls, references, paths = taken
    mentions = [Mention("reference", url.rstrip(".,;:")) for url in urls]
    mentions += [Mention("reference", reference) for reference in references]
    mentions += [Mention("path", path) for path in paths if not _NO_PATH.fullmatch(path)]
    mentions += [Mention("identifier", name) for name in _identifiers(text)]
    # "2 files", "3 tests" count what the patch shows, and no source contains the digit.
    numbers = (match[1] for match in _NUMBER.finditer(_LIST_NUMBER.sub(" ", text)))
    mentions += [Mention("number", number) for number in numbers if len(number) > 1]
    return tuple(dict.fromkeys(mentions))


def _identifiers(text: str) -> Iterable[str]:
    for span in _CODE.finditer(text):
        yield from (match.group() for match in _DOTTED.finditer(span[1]) if len(match.group()) > 1)
    for match in _DOTTED.finditer(_CODE.sub(" ", text)):
        name = match.group()
        is_acronym = name[:-1].isupper() and name.endswith("s")  # `APIs`, `IDs`
        # GitHub and PostgreSQL look like identifiers, and a description may name them although the patch does not.
        if _CODE_LIKE.search(name) and name.lower().removesuffix("s") not in _BRANDS and not is_acronym:
            yield name


class MentionSources:
    """Texts that support mentions: the patch, the title, the description."""

    def __init__(self, *texts: str) -> None:
        self._text = "\n".join(texts).casefold()

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(_NAME.findall(self._text))

    def supports(self, mention: Mention) -> bool:
        """Return whether a mention is in the texts, ignoring case.

        All names of an identifier must be; from four letters on, part of a longer name is enough. The number of a
        reference must follow ``#`` or ``/``, and a number must not be part of a longer one.
        """
        return _SUPPORTS[mention.kind](self, mention.text)

    def _identifier(self, text: str) -> bool:
        return all(map(self._name, _NAME.findall(text.casefold())))

    def _name(self, name: str) -> bool:
        if name in self._names:
            return True
        stem = name.removesuffix("s")
        return stem in self._names or (len(stem) >= _SHORTEST_PART and stem in self._text)

    def _path(self, text: str) -> bool:
        bare = text.removeprefix("./").strip("/*")
        if bare.casefold() in self._text:
            return True
        # Alternatives look like paths, too: AddSlice/AddSeq.
        return "." not in bare and not bare.islower() and self._identifier(bare)

    def _number(self, text: str) -> bool:
        plain = text.replace(",", "")
        # `1,000` of a description is `1000` in code.
        return any(re.search(rf"(?<!\d){re.escape(form)}(?!\d)", self._text) for form in {text, plain})

    def _reference(self, text: str) -> bool:
        # The same issue is `#7`, `GH-7`, `owner/name#7` or an address that ends in `/7`.
        number = re.search(r"(?:#|GH-)(\d+)$", text)
        if number is None:
            return text.casefold() in self._text
        return bool(re.search(rf"(?:[#/]|gh-){number[1]}(?!\d)", self._text))


_SUPPORTS: Final = {
    "identifier": MentionSources._identifier,
    "path": MentionSources._path,
    "number": MentionSources._number,
    "reference": MentionSources._reference,
}


def shown_patch(problem: Problem) -> str:
    """Return the patch that a problem of Reverse-QA shows.

    Raises:
        ValueError: it is no such problem.
    """
    if not isinstance(problem.shown, Question) or len(problem.shown.context) != 1 or problem.shown.choices:
        raise ValueError(f"{problem.id} shows no patch alone")
    return problem.shown.context[0].text


def reverse_scores(problem: Problem, text: str | None) -> Mapping[str, float]:
    """Return the measures of one raw answer to Reverse-QA, each from 0 to 1.

    ``rouge_l`` and ``chrf`` compare title and description, ``title_rouge_l`` and ``title_chrf`` the titles.
    ``patch_word_f1``: F1 of different content words that occur in the patch. ``content_recall`` is the share of the
    reference's content words in the answer, ``recall_ceiling`` the share in the patch, and ``normalised_recall`` their
    ratio, at most 1. The last and ``patch_word_f1`` are missing if no word of the reference is in the patch.
    ``answered`` is 1 unless the answer is empty.
    """
    patch = shown_patch(problem)
    answer, reference = parse_description(text), parse_description(problem.reference)
    values = {
        "rouge_l": rouge_l(answer.text, reference.text).f1,
        "chrf": chrf(answer.text, reference.text),
        "title_rouge_l": rouge_l(answer.title, reference.title).f1,
        "title_chrf": chrf(answer.title, reference.title),
        "answered": float(bool(answer.text)),
    }
    # Of the content words of released descriptions 81.6 % are not in the patch, so recall alone would say little about
    # models.
    said, wanted, there = (frozenset(content_words(text)) for text in (answer.text, reference.text, patch))
    if not wanted:
        return values
    recall, ceiling = len(said & wanted) / len(wanted), len(wanted & there) / len(wanted)
    values |= {"content_recall": recall, "recall_ceiling": ceiling}
    if ceiling:
        values["normalised_recall"] = min(1.0, recall / ceiling)
        values["patch_word_f1"] = bag_overlap(said & there, wanted & there).f1
    return values


def unsupported_mentions(problem: Problem, answer: WrittenDescription) -> tuple[list[Mention], int]:
    """Return the mentions of an answer that are in no source, and the number of all mentions.

    Sources are the patch, and title and description in their original and requested form.
    """
    sources = _sources(shown_patch(problem), problem.reference, *sorted(problem.released.values()))
    mentions = find_mentions(answer.text)
    return [mention for mention in mentions if not sources.supports(mention)], len(mentions)


@lru_cache(maxsize=64)
def _sources(*texts: str) -> MentionSources:
    return MentionSources(*texts)


def hallucination_scores(problem: Problem, text: str | None) -> Mapping[str, float]:
    """Return the measures of Reverse-QA-Hallu that need no judge; 1 is bad.

    ``names_unsupported`` is 1 if the answer has an unsupported mention or is empty (as judges decide:
    ``hallucination``), ``unsupported_share`` is their share of all mentions, missing without mentions;
    ``mentions`` counts all.
    ``answered`` is 1 unless the answer is empty.
    """
    answer = parse_description(text)
    made_up, total = unsupported_mentions(problem, answer)
    values = {
        # Otherwise silence would be the best answer to a task that counts inventions.
        "names_unsupported": float(bool(made_up) or not answer.text),
        "mentions": float(total),
        "answered": float(bool(answer.text)),
    }
    return values | ({"unsupported_share": len(made_up) / total} if total else {})
