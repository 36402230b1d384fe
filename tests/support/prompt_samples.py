"""Short carets in all six languages, and prompts as text."""

from __future__ import annotations

from caretbench.models import ChatPrompt
from caretbench.problem import Caret
from caretbench.prompts.strategy import PromptBudget

EVERYTHING = PromptBudget(None, len)

CARETS = {
    "python": Caret(language="python", prefix="def half(number):\n    ", suffix="\n\n\nassert half(4) == 2\n"),
    "javascript": Caret(language="javascript", prefix="const half = (number) => ", suffix=";\nconsole.log(half(4));\n"),
    "typescript": Caret(language="typescript", prefix="const half = (number: number): number => {\n", suffix="};\n"),
    "java": Caret(language="java", prefix="class Half {\n    static int of(int number) {\n", suffix="\n    }\n}\n"),
    "cpp": Caret(language="cpp", prefix="int half(int number) {\n    return number", suffix=""),
    "csharp": Caret(language="c_sharp", prefix="static class Half\n{\n\t", suffix="\n}\n"),
}


def as_text(prompt: ChatPrompt) -> str:
    """A conversation as a file holds it."""
    return "".join(f"=== {message.role}\n{message.text}\n" for message in prompt.messages)
