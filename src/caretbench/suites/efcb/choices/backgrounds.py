"""What code of each repository looks like: from its sources where they are at hand, else from its other changes.

The balance of GMCQ-Hard and the leak report ask the same of the same texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain

from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.attacks.plausibility import BackgroundCode, Without, code_lines
from caretbench.suites.efcb.rendering import render

Sources = Callable[[str], Iterable[str]]
"""The texts of a repository as it was before the oldest of its changes, by its name; none where none are at hand."""


class Backgrounds:
    """Models of repositories; few are kept at a time, so ask by repository.

    Args:
        records: Changes, filtered or not, each once; their order is irrelevant.
        sources: Texts that are learnt from instead, where there are any.
    """

    def __init__(self, records: Iterable[PullRequest], sources: Sources | None = None) -> None:
        self._records: dict[str, dict[str, PullRequest]] = defaultdict(dict)
        for pull in records:
            self._records[pull.repo][pull.merge_sha] = pull
        self._sources = sources
        self._of = lru_cache(maxsize=2)(self._learnt)

    def without(self, repo: str, *pulls: PullRequest) -> Without:
        """A repository, without what some changes say. One that is not known looks like nothing."""
        return self._of(repo).without(*map(_text, pulls))

    def _learnt(self, repo: str) -> BackgroundCode:
        sources = iter(self._sources(repo) if self._sources is not None else ())
        for first in sources:
            return BackgroundCode(chain((first,), sources))
        members = self._records.get(repo, {})
        return BackgroundCode(_text(members[sha]) for sha in sorted(members))


def _text(pull: PullRequest) -> str:
    return "\n".join(code_lines(render(pull).text))
