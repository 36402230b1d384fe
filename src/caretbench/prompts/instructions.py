"""Instructions in prompts: modes of ``--instruction``, and the instruction as a comment at the end of the prefix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from caretbench.models import ModelClient
from caretbench.problem import Caret, Problem
from caretbench.prompts.strategy import PromptStrategy
from caretbench.prompts.templating import as_line_comments, caret_language

InstructionMode = Literal["shown", "none", "comment"]
"""``shown``: where the prompt has a place for it; ``none``: omitted; ``comment``: at the end of the prefix."""

BLIND: Final = "blind"
"""Mode of ``--blind``: a question without the text that it is about."""

AskingMode = InstructionMode | Literal["blind"]
"""A mode of ``--instruction``, or :data:`BLIND`."""

INSTRUCTION_VERSION: Final = 1
"""Version of the rule that places the comment; a change of the shown text needs a new one."""

_OPENING: Final = (":", "{", "(", "[", "=>", "->")
"""Ends of lines after which lines are indented more."""


class InstructionPlacement(NamedTuple):
    """Placement of a caret's instruction in a prompt, other than ``shown``."""

    mode: AskingMode

    @property
    def key(self) -> str:
        """Name and version, ``comment@1``: part of the key of every completion."""
        return f"{self.mode}@{INSTRUCTION_VERSION}"

    def __call__(self, caret: Caret) -> Caret:
        """Return the caret with its instruction as this mode shows it; the program around the answer is the same.

        Raises:
            UnpromptableError: a comment is wanted, and the table of languages does not have the caret's.
        """
        if not caret.instruction:
            return caret
        prefix = with_comment(caret, caret.instruction) if self.mode == "comment" else caret.prefix
        return caret.model_copy(update={"prefix": prefix, "instruction": None})


def mode_words(mode: str) -> str:
    """Return a mode for titles of models: ``instruction none``, ``blind``."""
    return mode if mode == BLIND else f"instruction {mode}"


def instruction_placement(mode: AskingMode | None) -> InstructionPlacement | None:
    """Return the placement of a mode; None for ``shown``, the default, which is not part of any key."""
    return None if mode in (None, "shown") else InstructionPlacement(mode)


def with_comment(caret: Caret, text: str) -> str:
    """Return the prefix with ``text`` as line comments at its end, above the caret's line where one has begun.

    The comment is indented as the caret's line. Where nothing of that line is shown, it is indented as the deeper of
    the lines around it, and one level more than a line that opens a block.
    """
    head, line_feed, line = caret.prefix.rpartition("\n")
    margin = _margin(line) if line else _expected_margin(caret)
    comment = as_line_comments(text, caret_language(caret))
    lines = "".join(margin + line + "\n" for line in comment.splitlines())
    # The comment gets the line ends of the file around it.
    if head.endswith("\r"):
        lines = lines.replace("\n", "\r\n")
    return head + line_feed + lines + line


def _expected_margin(caret: Caret) -> str:
    """Return the probable indentation of a line of which nothing is shown."""
    before = next((line for line in reversed(caret.prefix.splitlines()) if line.strip()), "")
    after = next((line for line in caret.suffix.splitlines() if line.strip()), "")
    deeper = max(_margin(before), _margin(after), key=_width)
    # A block is opened and the next line is not indented more: the block is empty so far, so its indentation is one
    # unit.
    if before.rstrip().endswith(_OPENING) and _width(deeper) <= _width(_margin(before)):
        return _margin(before) + _unit(caret.prefix.splitlines())
    return deeper


def _unit(lines: Iterable[str]) -> str:
    """Return the smallest indentation of the lines; four blanks if none is indented."""
    return min((margin for line in lines if line.strip() and (margin := _margin(line))), key=_width, default="    ")


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _width(margin: str) -> int:
    return len(margin.expandtabs())


def instruction_fault(
    strategy: PromptStrategy, client: ModelClient, mode: AskingMode | None, problems: Sequence[Problem]
) -> str | None:
    """Return the reason for which these problems cannot be asked so, with the remedy; None if they can."""
    # The other modes put nothing into the place that may be missing.
    if mode not in (None, "shown"):
        return None
    count = sum(map(has_instruction, problems))
    # Only endpoints that fill in may lack a place for it; a conversation or a text has one always.
    sends = strategy.kind != "fill" or getattr(client, "takes_instructions", True)
    if not count or (strategy.takes_instructions and sends):
        return None
    what = strategy.name if not strategy.takes_instructions else f"{client.name}, asked by {strategy.name},"
    return (
        f"{what} has no place for an instruction, and {count} of {len(problems)} problems have one; ask "
        f"{'in a conversation (--prompt chat), ' if 'chat' in client.accepts else ''}without it "
        "(--instruction none), with it as a comment at the end of the prefix (--instruction comment), or both "
        "(--instruction none,comment)"
    )


def has_instruction(problem: Problem) -> bool:
    """Return whether a problem is a caret with an instruction."""
    return isinstance(problem.shown, Caret) and bool(problem.shown.instruction)
