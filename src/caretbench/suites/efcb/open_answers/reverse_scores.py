"""Scores of a patch's description without a judge: similarity to the original, and unsupported mentions.

Most words of authors' texts are not in the patch, so no model can know them and recall has a low ceiling. Recall is
reported raw, with its ceiling, and as a share of the ceiling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import get_args

from caretbench.metrics.text_overlap import bag_overlap, chrf, content_words, rouge_l
from caretbench.problem import Problem, Question
from caretbench.suites.efcb.open_answers.mentions import Mention, MentionKind, MentionSources, find_mentions
from caretbench.suites.efcb.open_answers.written_descriptions import WrittenDescription, parse_description


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
    return values | _content(answer.text, reference.text, patch)


def _content(answer: str, reference: str, patch: str) -> dict[str, float]:
    said, wanted, there = (frozenset(content_words(text)) for text in (answer, reference, patch))
    if not wanted:
        return {}
    recall, ceiling = len(said & wanted) / len(wanted), len(wanted & there) / len(wanted)
    values = {"content_recall": recall, "recall_ceiling": ceiling}
    if ceiling:
        values["normalised_recall"] = min(1.0, recall / ceiling)
        values["patch_word_f1"] = bag_overlap(said & there, wanted & there).f1
    return values


def unsupported_mentions(problem: Problem, answer: WrittenDescription) -> tuple[list[Mention], int]:
    """Return the mentions of an answer that are in no source, and the number of all mentions.

    Sources are the patch, and title and description in their original and requested form.
    """
    sources = _sources(shown_patch(problem), problem.reference, *sorted(problem.released.values()))
    found = find_mentions(answer.text)
    return [mention for mention in found if not sources.supports(mention)], len(found)


@lru_cache(maxsize=64)
def _sources(*texts: str) -> MentionSources:
    return MentionSources(*texts)


def hallucination_scores(problem: Problem, text: str | None) -> Mapping[str, float]:
    """Return the measures of Reverse-QA-Hallu that need no judge; 1 is bad.

    ``names_unsupported`` is 1 if the answer has an unsupported mention or is empty (as judges decide:
    ``hallucination``), ``unsupported_share`` is their share of all mentions, missing without mentions;
    ``unsupported_identifiers``, ``…_paths``, ``…_numbers``, ``…_references`` count them, ``mentions`` counts all.
    ``answered`` is 1 unless the answer is empty.
    """
    answer = parse_description(text)
    made_up, total = unsupported_mentions(problem, answer)
    counts = Counter(mention.kind for mention in made_up)
    values = {
        "names_unsupported": float(bool(made_up) or not answer.text),
        "mentions": float(total),
        "answered": float(bool(answer.text)),
    }
    values |= {f"unsupported_{kind}s": float(counts[kind]) for kind in get_args(MentionKind)}
    return values | ({"unsupported_share": len(made_up) / total} if total else {})
