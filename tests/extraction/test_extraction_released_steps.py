"""SimCopilot's released steps, faults included."""

import pytest

from caretbench.extraction import get_policy
from caretbench.problem import Caret

CARET = Caret(
    language="python", prefix="import os\ndef f(a):\n    b = 1\n    for x in a:\n", suffix="    c = b\n    return c\n"
)
JAVA = Caret(language="java", prefix="class A {\n  int f() {\n", suffix="    return 1;\n  }\n}\n")


def apply(name: str, text: str, caret: Caret = CARET) -> str:
    return get_policy(f"simcopilot/{name}").apply(text, caret).text


def test_a_fenced_block_or_what_is_between_the_markers_is_unchanged() -> None:
    assert apply("clean", "Sure.\n```python\n# kept\n\nb += x\n```\nDone.") == "\n# kept\n\nb += x\n"
    assert apply("clean", "# --BEGIN MISSING CODE--\n# kept\nb += x\n# --END MISSING CODE--\nx") == "\n# kept\nb += x\n"
    assert apply("clean", "```py\nb += x\n```") == "b += x", "only the language's name is known"


def test_without_either_lines_of_comments_blank_lines_and_prose_go() -> None:
    text = "<think>maybe\nx</think>\nHere is the code that you want\n\nb += x  # add\n# gone\nbreak\n"
    assert apply("clean", text) == "b += x  # add\nbreak"
    assert apply("clean", 'b = 1\n"""All from here\nis gone."""\nc = 2') == "b = 1"
    assert (
        apply("clean", "int b = 1; // kept\n// gone\nTo finish this:\n/* All\n*/\nc();", JAVA) == "int b = 1; // kept"
    )
    for line in ("for that we add the value, and so on, of it", "With the value, of each, we are done here now"):
        assert apply("clean", f"b = 1\n{line}") == ("b = 1" if line[0] == "W" else f"b = 1\n{line}")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("    for x in a:\n        b += x", "        b += x"),
        ("        b += x\n    c = b\n    return c\n    more()", "        b += x"),
        ("import os\n        b += x", "        b += x"),  # any line of the whole prefix
        ("        b += x\n    return c\n    d()", "        b += x"),
        ("    for x in a :\n        b += x", "        b += x"),  # alike but for blanks
        # Alike in the second of the lines behind the first: cut behind two lines, not three.
        ("import os\n        d()\n    for x in a :\n        b += x", "    for x in a :\n        b += x"),
        ("        });\n        b += x", "        });\n        b += x"),
        ("    for x in a:", "    for x in a:"),  # nothing would be left
        ("    return c\n    b = 1\n    d()", "    return c\n    b = 1\n    d()"),  # begins behind its end; tail at 0
    ],
)
def test_one_equal_line_trims(text: str, kept: str) -> None:
    assert apply("trim", f"```python{text}```") == kept


def test_python_is_moved_to_the_column_that_the_last_line_suggests() -> None:
    assert apply("repair", "```pythonb += x\nif b:\n    d()```") == "        b += x\n        if b:\n            d()"
    after = Caret(language="python", prefix="if a:\n    for b in a:\n        return 1\n")
    assert apply("repair", "```pythond()```", after) == "    d()"
    aligned = Caret(language="python", prefix="for a in b:\n    if a:\n        c = 1\n        d = 1\n")
    assert apply("repair", "```pythonelse:\n    d()```", aligned) == "    else:\n        d()"
    assert apply("repair", "```python  else:\n      d()```", aligned) == "        else:\n            d()", "indented"
    within = Caret(language="python", prefix="for a in b:\n    if a:\n        c = 1\n    d = ")
    assert apply("repair", "```pythond()\n    e()```", within) == "d()\n    e()"


def test_a_prefix_without_steps_is_taken_for_one_with_tabs() -> None:
    flat = Caret(language="python", prefix="a = 1\nb = 1\n")
    assert apply("repair", "```pythonif a:\n    b = [1,    2]\n\t\nc()```", flat) == "if a:\n\tb = [1,\t2]\n\t\nc()"
    stepped = Caret(language="python", prefix="if a:\n\tb = 1\n")
    assert apply("repair", "```python\tif c:\n\t\tc()```", stepped) == " if c:\n  c()", "a tab is one blank"


def test_brackets_are_counted_in_strings_too() -> None:
    assert apply("repair", "```javaif (x) {```", JAVA) == "if (x) {}"
    assert apply("repair", "```javax();\ny(); } ```", JAVA) == "x();\ny(); } ", "at the very end of a line alone"
    assert apply("repair", "```javax(); }\ny(); }}```", JAVA) == "x(); \ny(); }", "one in each line"
    assert apply("repair", '```javaprint("(");```', JAVA) == 'print("(");)'


def test_without_a_suffix_closers_of_all_scopes_are_appended() -> None:
    hidden = JAVA.model_copy(update={"suffix": ""})
    assert apply("repair", "```javareturn 1;```", hidden) == "return 1;}}"


def test_codev_benchs_cut_takes_the_last_closed_block() -> None:
    def cut(text: str) -> str:
        return get_policy("codevbench/answer").apply(text, CARET).text

    assert cut("```a\nx\n```\nor\n```b\ny\n```") == "y"
    assert cut("```a\nx\n``````b\ny\n```") == "y", "a block may open where the one before it ends"
    assert cut("```a\nx\n```\n```b\ny") == "x", "the last is not closed"
    assert cut("```a\nx ``` y\n```") == "x ``` y", "a fence within a line closes nothing"
