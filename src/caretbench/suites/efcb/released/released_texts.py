"""Parsing of released user messages: description and choices, masked patch, patches by file."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from caretbench.suites.efcb.choice_positions import LETTERS
from caretbench.suites.efcb.open_answers.mask_windows import MASK_PLACEHOLDER
from caretbench.suites.efcb.patch_rendering import FILE_SEPARATOR, RenderedFile, RenderedPatch

_DESCRIPTION_HEAD: Final = re.compile(r"\A\s*Task Description:[ \t]*\n?")
_DIFF_HEAD: Final = re.compile(r"^Code Diff:[ \t]*\n?", re.MULTILINE)
_TITLE_AND_DESCRIPTION: Final = re.compile(r"\A\s*Title:(.*?)^Description:(.*)\Z", re.MULTILINE | re.DOTALL)
# Heads of choices: behind a line of dashes, as released; else any line, since a description may quote such a head.
_CHOICE_HEADS: Final = (
    re.compile(r"^---[ \t]*\n\s*^Choice ([A-Z]):[ \t]*\n?", re.MULTILINE),
    re.compile(r"^Choice ([A-Z]):[ \t]*\n?", re.MULTILINE),
)
_FILE_END: Final = re.compile(r"^---\n(?=[^\n]+\n@@ |\s*\Z)", re.MULTILINE)


class ChoiceTexts(NamedTuple):
    """The description of a change, and the patches to choose from."""

    description: str
    choices: tuple[str, ...]


class MaskedTexts(NamedTuple):
    """Title and description of a change, and its patch with masks."""

    description: str
    patch: str


def split_choices(user: str) -> ChoiceTexts:
    """Return description and choices of a message.

    Heads are searched from the end: a description may quote one, while lines of a patch begin with a mark.

    Raises:
        ValueError: the message does not have the choices A, B, C and D.
    """
    for form in _CHOICE_HEADS:
        heads = list(form.finditer(user))
        found: list[re.Match[str]] = []
        limit = len(user)
        for letter in reversed(LETTERS):
            head = next((head for head in reversed(heads) if head[1] == letter and head.end() <= limit), None)
            if head is None:
                break
            found.insert(0, head)
            limit = head.start() + 1  # a line of dashes may end one choice and begin the next head
        if len(found) < len(LETTERS):
            continue
        later = [head[1] for head in heads if head.start() > found[-1].start()]
        if later:
            raise ValueError(f"there is a choice {later[0]}: questions have the choices {', '.join(LETTERS)}")
        ends = [head.start() for head in found[1:]] + [len(user)]
        choices = tuple(_patch_text(user[head.end() : end]) for head, end in zip(found, ends, strict=True))
        return ChoiceTexts(_DESCRIPTION_HEAD.sub("", user[: found[0].start()], count=1).strip(), choices)
    missing = [letter for letter in LETTERS if not re.search(rf"^Choice {letter}:", user, re.MULTILINE)]
    cause = f"no line begins with 'Choice {missing[0]}:'" if missing else "the choices are not in order"
    raise ValueError(f"{cause}; the user message lists the choices {', '.join(LETTERS)}")


def _patch_text(text: str) -> str:
    """Return the patch of a choice: without blank lines around it and the line of dashes behind it."""
    lines = text.strip("\n").split("\n")
    # A blank line of a patch has a mark: a bare one before dashes ends the choice.
    while len(lines) > 1 and lines[-1].rstrip() in ("", "---") and not lines[-2]:
        lines.pop()
    return "\n".join((*lines, "")).rstrip("\n") + "\n" if any(lines) else ""


def split_masked_patch(user: str) -> MaskedTexts:
    """Return description and masked patch of a message.

    Raises:
        ValueError: there is no line ``Code Diff:``, or no mask below the last one.
    """
    heads = list(_DIFF_HEAD.finditer(user))
    if not heads:
        raise ValueError("no line begins with 'Code Diff:'")
    patch = user[heads[-1].end() :]
    if MASK_PLACEHOLDER not in patch:
        raise ValueError(f"there is no {MASK_PLACEHOLDER} below 'Code Diff:'")
    told = user[: heads[-1].start()]
    both = _TITLE_AND_DESCRIPTION.match(told)
    text = f"{both[1].strip()}\n\n{both[2].strip()}" if both else told
    return MaskedTexts(text.strip(), patch.rstrip("\n") + "\n")


def parse_rendered_patch(text: str) -> RenderedPatch:
    """Return a rendered patch by file; text that is no patch becomes one file without a path."""
    files = []
    for block in _FILE_END.split(text.rstrip("\n") + "\n"):
        title, _, hunks = block.rstrip("\n").partition("\n")
        if not block.strip():
            continue
        lines = hunks.split("\n")
        files.append(
            RenderedFile(
                path=title.rpartition(" => ")[2],
                title=title,
                hunks=hunks,
                additions=sum(line.startswith("+") for line in lines),
                deletions=sum(line.startswith("-") for line in lines),
            )
        )
    return RenderedPatch(files=tuple(files))


def patch_key(text: str) -> str:
    """Return a patch for comparison: without blank lines and separators at its end."""
    bare = text.rstrip()
    while bare.endswith(FILE_SEPARATOR.rstrip()):
        bare = bare.removesuffix(FILE_SEPARATOR.rstrip()).rstrip()
    return bare
