"""Explicit exits that belong to the problem: exit(0) in its code or reference counts as a normal end.

``main().then(() => process.exit(0))``, ``sys.exit(main())`` and ``unittest.main()`` behind the caret are honest. An
answer that exits itself is not, unless the reference does so too. An exit with a literal status other than 0 is a
failure whoever says it, so it decides nothing here.
"""

from __future__ import annotations

import re
from functools import cache

from caretbench.execution.tamper import plain_spelling, tamper_flags

EARLY_EXIT = "tamper:early_exit"

_CALLS = {
    "python": r"(?:\bsys\s*\.\s*exit|(?<![\w.])(?:exit|quit)|\bSystemExit|\bunittest\s*\.\s*main)",
    "javascript": r"\bprocess\s*\.\s*exit",
    "typescript": r"\bprocess\s*\.\s*exit",
    "java": r"\bSystem\s*\.\s*exit",
    "cpp": r"(?<![\w.>])exit",
    "csharp": r"\bEnvironment\s*\.\s*Exit",
}
"""Calls that end a process in order, by language: what is left undone by others (``_exit``, ``halt``) is no end."""

_COMMENT = re.compile(r"^[ \t]*(?://|#(?!include)).*$", re.MULTILINE)
_FAILURE = r"\s*\(\s*(?:-?[1-9]\d{0,9}|EXIT_FAILURE)\s*\)"


@cache
def _failing(language: str) -> re.Pattern[str]:
    return re.compile(_CALLS[language] + _FAILURE)


@cache
def _calling(language: str) -> re.Pattern[str]:
    # C++: `exit() override` declares a method of that name.
    return re.compile(_CALLS[language] + (r"\s*\(\s*[^\s)]" if language == "cpp" else r"\s*\("))


def may_exit(before: str, answer: str, after: str, reference: str, language: str) -> bool:
    """Return whether an explicit exit with status 0 is an end of this program.

    Args:
        before: What the program holds before the answer.
        answer: What is inserted.
        after: What the program holds behind the answer.
        reference: The reference answer: what it does is honest.
        language: Language, by its name in languages.toml; False where it has no such calls, or no harness knows them.
    """
    if language not in _CALLS or not any(_exits(text, language) for text in (before, after, reference)):
        return False
    return EARLY_EXIT not in tamper_flags(_failing(language).sub("", answer), reference, language)


def _exits(text: str, language: str) -> bool:
    code = _failing(language).sub("", _COMMENT.sub("", plain_spelling(text, language)))
    return _calling(language).search(code) is not None
