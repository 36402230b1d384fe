"""Differences between two versions of a set."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import NamedTuple

from caretbench.files import sha256_text
from caretbench.grouping import grouped
from caretbench.people.releases.built_set import BuiltSet, earlier_parts
from caretbench.problem import Caret, FileSplice, InlineSplice, Problem, Row


class SetDifference(Row):
    """Problems that were added, removed, renamed (new id by old id) or changed (names of the changed parts by id).

    ``published`` were held out before, ``held`` were public before: the score on these says nothing of memory.
    ``facts`` has old and new values of name, version, licence and canary that differ.
    """

    same: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: Mapping[str, str] = {}
    changed: Mapping[str, tuple[str, ...]] = {}
    published: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    facts: Mapping[str, tuple[str, str]] = {}


def folder_difference(old: Path, new: Path, old_holdout: Path, new_holdout: Path) -> SetDifference:
    """Return the differences between two folders; hold-outs are compared where they exist.

    Raises:
        DataError: a folder has no problems, or a file is malformed.
    """
    before, after = BuiltSet(old), BuiltSet(new)
    public = set_difference(before, after)
    hidden = [BuiltSet(path) if path.is_dir() else None for path in (old_holdout, new_holdout)]
    return public.model_copy(update={"published": _repeated(after, hidden[0]), "held": _repeated(hidden[1], before)})


def _repeated(later: BuiltSet | None, earlier: BuiltSet | None) -> tuple[str, ...]:
    """Return the ids of problems that another part of the earlier version had, under any name."""
    if later is None or earlier is None:
        return ()
    return tuple(sorted(earlier_parts(later.problems, [earlier]).public))


def set_difference(before: BuiltSet, after: BuiltSet) -> SetDifference:
    """Return the differences between two sets; the canaries of their files do not count."""
    old, new = ({problem.id: _version(built, problem) for problem in built.problems} for built in (before, after))
    facts = {
        name: (str(before.datasheet.get(name, "unknown")), str(after.datasheet.get(name, "unknown")))
        for name in ("name", "version", "licence", "canary")
    }
    return version_difference(old, new, facts)


class ProblemVersion(NamedTuple):
    """Parts of a problem by name in one version of a set; a problem with another id and the same ``key`` is renamed."""

    key: Hashable
    parts: Mapping[str, object]


def version_difference(
    old: Mapping[str, ProblemVersion], new: Mapping[str, ProblemVersion], facts: Mapping[str, tuple[str, str]]
) -> SetDifference:
    """Return the differences between two versions of a set's problems by id; of ``facts``, those that differ."""
    # A renamed file with the same texts is one problem: without this it would count as removed and as added.
    names = grouped((version.key, name) for name, version in new.items() if name not in old)
    renamed = {
        name: names[version.key].pop(0) for name, version in old.items() if name not in new and names.get(version.key)
    }
    changed = {
        name: tuple(part for part in {**parts, **new[name].parts} if new[name].parts.get(part) != parts.get(part))
        for name, (_, parts) in old.items()
        if name in new and new[name].parts != parts
    }
    named = {*renamed.values()}
    return SetDifference(
        same=len(old.keys() & new.keys()) - len(changed),
        added=tuple(name for name in new if name not in old and name not in named),
        removed=tuple(name for name in old if name not in new and name not in renamed),
        renamed=renamed,
        changed=changed,
        facts={name: values for name, values in facts.items() if values[0] != values[1]},
    )


def _version(built: BuiltSet, problem: Problem) -> ProblemVersion:
    """Return the parts of a problem, without the canary and without its id, and their hash."""
    shown, splice = problem.shown, problem.splice
    parts = {"reference": problem.reference}
    if isinstance(shown, Caret):
        parts |= {"prefix": shown.prefix, "suffix": shown.suffix, "instruction": shown.instruction or ""}
        # NUL is in no file that is shown, so that two files cannot be taken for one.
        parts["context"] = "\0".join(f"{file.path}\0{file.text}" for file in shown.context)
    else:
        parts |= {"question": shown.text, "choices": "\0".join(shown.choices)}
    if isinstance(splice, InlineSplice):
        # Each release may have a canary of its own; that is no change of the problem.
        parts["tests"] = _without_canary(splice.after, built.canary)
    elif isinstance(splice, FileSplice):
        parts["file"] = f"{splice.snapshot} {splice.path} {splice.start} {splice.end}"
    parts["checks"] = "\n".join(check.model_dump_json() for check in problem.checks)
    parts["licence"] = built.licence_of(problem) or ""
    return ProblemVersion(sha256_text(*parts.values()), parts)


def _without_canary(text: str, canary: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if canary not in line).rstrip("\n")
