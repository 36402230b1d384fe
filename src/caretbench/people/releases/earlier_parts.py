"""Parts of a set's problems in an earlier release: what was public stays public, under other names too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from caretbench.build.validation.duplicates import repeated_problems
from caretbench.build.validation.reviewed import problem_hash
from caretbench.errors import DataError
from caretbench.people.releases.built_set import BuiltSet
from caretbench.problem import Problem


class EarlierParts(NamedTuple):
    """Problems of a set that were public or held out in an earlier release: id → id of the earlier problem."""

    public: dict[str, str]
    held: dict[str, str]

    def check(self, place: str) -> None:
        """Raise DataError if a problem was held out, and its text is that of a public one."""
        for name in sorted(self.public.keys() & self.held.keys()):
            raise DataError(
                f"{place}: {name} was held out ({self.held[name]}) and public ({self.public[name]}) in the earlier "
                "version; delete its file, or release without --previous"
            )


def earlier_parts(problems: Sequence[Problem], earlier: Sequence[BuiltSet]) -> EarlierParts:
    """Return the parts of problems in an earlier release: its public part, and its hold-out if there is one.

    A problem is recognised by its id, by its texts, and as a near-duplicate.
    """
    found = EarlierParts({}, {})
    for ids, part in zip(found, earlier, strict=False):
        ids.update(_recognised(problems, part.problems))
    return found


def _recognised(problems: Sequence[Problem], earlier: Sequence[Problem]) -> dict[str, str]:
    ids = {one.id for one in earlier}
    texts = {problem_hash(one): one.id for one in earlier}
    found = repeated_problems(problems, earlier)
    found |= {one.id: texts[digest] for one in problems if (digest := problem_hash(one)) in texts}
    return found | {one.id: one.id for one in problems if one.id in ids}
