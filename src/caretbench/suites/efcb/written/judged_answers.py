"""What of an answer a judge sees: the lines or the text that were asked for, in one form, whatever stands around them.

A judge that saw the whole answer would rate copied surroundings, fences and manners. Under the paper profile it does:
the raw answer is judged, as it was when the scores were published.
"""

from __future__ import annotations

from caretbench.problem import Problem, Profile, Question
from caretbench.profiles import rules_of
from caretbench.suites.efcb.efcb_score import MASKED
from caretbench.suites.efcb.written.masked_answers import fill
from caretbench.suites.efcb.written.masking import WHOLE_PATCH
from caretbench.suites.efcb.written.reverse import described


def judged_text(problem: Problem, text: str, profile: Profile) -> str:
    """The written lines, or title and description as ``Title:`` and ``Body:``; the empty text where there are none.

    Where the whole patch is asked for, as the paper does, the whole answer is judged.
    """
    if rules_of(profile).judged_as_it_came or problem.labels.get("tier") == WHOLE_PATCH:
        return text
    if problem.label("task") == MASKED and isinstance(problem.shown, Question) and problem.shown.context:
        return fill(text, problem.shown.context[0].text).text
    found = described(text)
    return f"Title: {found.title}\n\nBody: {found.body}".rstrip() if found.text else ""
