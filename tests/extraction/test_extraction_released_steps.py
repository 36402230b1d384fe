"""SimCopilot's released steps, faults included."""

import pytest

from caretbench.extraction import policy
from caretbench.problem import Caret

CARET = Caret(
    language="python", prefix="import os\ndef f(a):\n    b = 1\n    for x in a:\n", suffix="    c = b\n    return c\n"
)
JAVA = Caret(language="java", prefix="class A {\n  int f() {\n", suffix="    return 1;\n  }\n}\n")


def apply(name: str, text: str, caret: Caret = CARET) -> str:
    return policy(f"simcopilot/{name}").apply(text, caret).text


def test_a_fenced_block_or_what_stands_between_the_markers_comes_out_untouched() -> None:
    assert apply("clean", "Sure.\n```python\n# kept\n\nb += x\n```\nDone.") == "# kept\n\nb += x"
    assert apply("clean", "# --BEGIN MISSING CODE--\n# kept\nb += x\n# --END MISSING CODE--\nx") == "# kept\nb += x"


def test_without_either_comments_blank_lines_and_prose_go() -> None:
    text = "<think>maybe\nx</think>\nHere is the code that you want\n\nb += x  # add\n# gone\nbreak\n"
    assert apply("clean", text) == "b += x  \nbreak"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("    for x in a:\n        b += x", "        b += x"),
        ("        b += x\n    c = b\n    return c\n    more()", "        b += x"),
        ("import os\n        b += x", "        b += x"),  # any line of the whole prefix
        ("        b += x\n    return c\n    d()", "        b += x"),
        ("    for x in a :\n        b += x", "        b += x"),  # alike but for blanks
        ("    for x in a:", "    for x in a:"),  # nothing would be left
        ("    return c\n    b = 1\n    d()", "    return c\n    b = 1\n    d()"),  # begins behind its end; tail at 0
    ],
)
def test_one_equal_line_trims(text: str, kept: str) -> None:
    assert apply("trim", f"```python\n{text}\n```") == kept


def test_python_is_moved_to_the_column_that_the_last_line_suggests() -> None:
    assert apply("repair", "```python\nb += x\nif b:\n    d()\n```") == "        b += x\n        if b:\n            d()"
    after = Caret(language="python", prefix="if a:\n    for b in a:\n        return 1\n")
    assert apply("repair", "```python\nd()\n```", after) == "    d()"
    assert apply("repair", "```python\n        else:\n            d()\n```", after) == "    else:\n        d()"
    within = Caret(language="python", prefix="if a:\n    ")
    assert apply("repair", "```python\nd()\n    e()\n```", within) == "d()\n    e()"


def test_brackets_are_counted_in_strings_too() -> None:
    assert apply("repair", "```java\nif (x) {\n```", JAVA) == "if (x) {\n}"
    assert apply("repair", "```java\nx();\n}\n}\n```", JAVA) == "x();\n\n"
    assert apply("repair", '```java\nprint("(");\n```', JAVA) == 'print("(");\n)'


def test_without_a_suffix_closers_of_all_scopes_are_appended() -> None:
    hidden = JAVA.model_copy(update={"suffix": ""})
    assert apply("repair", "```java\nreturn 1;\n```", hidden) == "return 1;\n}}"


def test_codev_benchs_cut_takes_the_last_closed_block() -> None:
    def cut(text: str) -> str:
        return policy("codevbench/answer").apply(text, CARET).text

    assert cut("```a\nx\n```\nor\n```b\ny\n```") == "y"
    assert cut("```a\nx\n``````b\ny\n```") == "y", "a block may open where the one before it ends"
    assert cut("```a\nx\n```\n```b\ny") == "x", "the last is not closed"
    assert cut("```a\nx ``` y\n```") == "x ``` y", "a fence within a line closes nothing"
