"""Problems of Reverse-QA and Reverse-QA-Hallu: the model writes title and description of a shown patch.

Both tasks show the same. Reverse-QA compares with the author's text; Reverse-QA-Hallu counts statements that neither
the patch nor that text supports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from caretbench.build.sources.changes.descriptions import NO_TEMPLATE
from caretbench.build.sources.pull_request import PullRequest
from caretbench.problem import ContextFile, NoSplice, Problem, Question, Row
from caretbench.suites.efcb.build.change_metadata import RejectedChange, change_provenance, cluster_id, common_labels
from caretbench.suites.efcb.build.change_queries import change_query
from caretbench.suites.efcb.build.change_rendering import render_patch
from caretbench.suites.efcb.build.masked_problems import NO_TEMPLATES
from caretbench.suites.efcb.build.options import EfcbOptions
from caretbench.suites.efcb.open_answers.masked_answers import PATCH_FILE
from caretbench.suites.efcb.open_answers.written_descriptions import INSTRUCTION, JUDGE_CRITERIA, TASKS, Task
from caretbench.suites.efcb.patch_rendering import RenderedPatch
from caretbench.suites.efcb.problem_metadata import SUITE_NAME
from caretbench.suites.efcb.seeding import problem_id


class ReverseItem(Row):
    """One patch and its author's text; ``body`` is cleaned, or raw under the ``paper`` profile."""

    pull: PullRequest
    rendered: RenderedPatch
    title: str
    body: str
    options: EfcbOptions

    @property
    def reference(self) -> str:
        """Title and description in the requested form."""
        return f"Title: {self.title}\n\nBody: {self.body}"


def reverse_items(
    pulls: Iterable[PullRequest], options: EfcbOptions, templates: Mapping[str, Collection[str]] = NO_TEMPLATES
) -> tuple[list[ReverseItem], list[RejectedChange]]:
    """Return one item for each change, by repository, newest first; and rejected changes."""
    items: list[ReverseItem] = []
    rejected: list[RejectedChange] = []
    newest = sorted(pulls, key=lambda pull: pull.merge_order, reverse=True)
    for pull in sorted(newest, key=lambda pull: pull.repo):
        rendered = render_patch(pull, include_generated=options.rules.shows_generated_files)
        body = change_query(pull, "description_only", options.profile, templates.get(pull.repo, NO_TEMPLATE)).text
        title = " ".join(pull.title.split())
        missing = {"no_patch": rendered.files, "no_title": title, "no_description": body}
        reason = next((reason for reason, there in missing.items() if not there), None)
        if reason is None:
            items.append(ReverseItem(pull=pull, rendered=rendered, title=title, body=body, options=options))
        else:
            rejected += [RejectedChange.from_pull_request(pull, task, reason) for task in TASKS]
    return items, rejected


def reverse_problem(item: ReverseItem, task: Task) -> Problem:
    """Return the item as a problem of one of the two tasks; ``released`` has the original texts."""
    pull = item.pull
    return Problem(
        id=problem_id(task, "", pull.repo, pull.merge_sha, item.options.configuration_hash),
        suite=SUITE_NAME,
        shown=Question(text=INSTRUCTION, context=(ContextFile(path=PATCH_FILE, text=item.rendered.text),)),
        splice=NoSplice(),
        reference=item.reference,
        checks=(JUDGE_CRITERIA[task],),
        labels=common_labels(pull, item.rendered, task, ""),
        cluster=cluster_id(pull),
        provenance=change_provenance(pull),
        released={"title": pull.title, "description": pull.description},
    )
