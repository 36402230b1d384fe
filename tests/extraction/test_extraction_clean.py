from __future__ import annotations

import pytest

from caretbench.extraction import Surroundings, clean, get_policy
from caretbench.extraction.clean import begins_with_reasoning, holds_special_token, strip_released_fence
from caretbench.problem import Caret

HERE = Surroundings("def f(a):\n", "\nprint(f(1))\n", "python")
SCRIPT = Surroundings("function f(a) {\n", "\n}\n", "javascript")
TEXT_BLOCK = Surroundings("class A { String f() {\n", "\n} }\n", "java")
CODE = "    return a + 1"


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{CODE}\n```",
        f"```\n{CODE}\n```",
        f"```py\n{CODE}\n```\n",
        f"\n```python\n{CODE}\n```\nThis returns the next number.",
        f"Here is the completion:\n\n```python\n{CODE}\n```\nIt adds one.",
        f"Some words\n```python\n{CODE}\n```",
        f"Run this:\n```bash\npip install x\n```\nand then\n```python\n{CODE}\n```\nor\n```python\nno\n```",
        f"````python\n{CODE}\n````",
        f"```python\n{CODE}",
        f"{CODE}\n```\n\nThis returns the next number.",
    ],
)
def test_fences(text: str) -> None:
    cleaned = clean(text, HERE)
    assert cleaned.text == CODE
    assert cleaned.steps == ("fence removed",)


def test_first_block_when_none_speaks_the_language() -> None:
    assert clean("```ruby\na\n```\n```perl\nb\n```", HERE).text == "a"


@pytest.mark.parametrize(
    ("before", "after", "language"),
    [
        ("template <typename T>\nT next(T a) {\n", "\n}\n", "cpp"),
        ("template <typename T>\nstruct Next<T*> {\n", "\n};\n", "cpp"),
        ("type Next<T> = {\n", "\n};\n", "typescript"),
    ],
)
def test_code_of_a_template_is_no_literal(before: str, after: str, language: str) -> None:
    assert clean("```\n    int a = 1;\n```", Surroundings(before, after, language)).text == "    int a = 1;"


DOCSTRING = Surroundings('def f(a):\n    """', '"""\n    return a + 1\n', "python")
EXAMPLE = "Adds one.\n\n```python\nf(1)\n```\n"


@pytest.mark.parametrize("text", ["```python\nAdds one.\n```", "\n```py\nAdds one.\n```\n"])
def test_the_form_that_prompts_ask_for_is_taken_off_in_a_comment_too(text: str) -> None:
    assert clean(text, DOCSTRING).text == "Adds one."


@pytest.mark.parametrize(
    "text", [EXAMPLE, "```\nf(1)\n```", "```text\nf(1)\n```", f"```python\n{EXAMPLE}\n```", "```python\nf(1)"]
)
def test_other_fences_in_a_comment_belong_to_it(text: str) -> None:
    assert clean(text, DOCSTRING).text == text


def test_script_fences_are_not_taken_for_templates() -> None:
    assert clean("```js\nreturn a + 1;\n```", SCRIPT).text == "return a + 1;"
    assert clean("```javascript\nreturn a + 1;\n```\nDone.", SCRIPT).text == "return a + 1;"
    assert clean("Here:\n```javascript\nreturn a + 1;\n```", SCRIPT).text == "return a + 1;"


def test_newline_is_kept_where_the_suffix_needs_it() -> None:
    here = Surroundings("a = 1\n", "c = 3\n", "python")
    assert clean("```python\nb = 2\n```", here).text == "b = 2\n"


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ('    """Do it.\n\n    ```\n    f(1)\n    ```\n    """\n    return a', HERE),
        ('    """Do it.\n```python\nf(1)\n```\n    """\n    return a', HERE),
        ('String s = """\n```\nf(1)\n```\n""";\nreturn s;', TEXT_BLOCK),
        ("/*\n```\nf(1)\n```\n*/\nreturn s;", TEXT_BLOCK),
        ("  const text = `a ${a} b`; // `quoted`\n  return text;", SCRIPT),
        ("  /**\n   * ```\n   * f(1)\n   * ```\n   */\n  return a;", SCRIPT),
        ("```\n    f(1)\n    ```\n", Surroundings('def f():\n    """Do it.\n\n    ', '    """\n', "python")),
        ("```\nf(1)\n```\n", Surroundings("/**\n * Example:\n", " */\nfunction f() {}\n", "javascript")),
        ("Here is the text:\nmore of it.\n", Surroundings('def f():\n    """', '\n    """\n', "python")),
        (" Here is why:\n    return a", Surroundings("def f(a):\n    #", "\n", "python")),
        ("<think>\n", Surroundings('PROMPT = """\n', '"""\n', "python")),
        ("    marks = ('<think>', '</think>')\n    return a", HERE),
        ("    return a.split('</think>')\n", HERE),
        ("    return a  # Sure, here is why:\n", HERE),
        ("", HERE),
        ("\n\n", HERE),
    ],
)
def test_code_is_left_alone(text: str, around: Surroundings) -> None:
    assert clean(text, around) == (text, ())


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning", "Think"])
def test_reasoning(tag: str) -> None:
    assert clean(f"<{tag}>\nLet me see:\n```\nx\n```\n</{tag}>\n\n{CODE}", HERE) == (CODE, ("reasoning removed",))
    assert clean(f"\n<{tag}>never ends\n{CODE}", HERE) == ("", ("reasoning removed",))
    assert clean(f"<{tag}>a</{tag}><{tag}>b</{tag}>\n{CODE}", HERE).text == CODE
    assert clean(f"It must add one.\n</{tag}>\n{CODE}", HERE).text == CODE


def test_reasoning_and_fence() -> None:
    cleaned = clean(f"<think>hm</think>\n```python\n{CODE}\n```", HERE)
    assert cleaned == (CODE, ("reasoning removed", "fence removed"))


@pytest.mark.parametrize(
    "first",
    [
        "Here is the completion:",
        "Here's the missing code:",
        "Sure! Here is the code.",
        "**Certainly! Here's the code:**",
        "Sure!",
        "To complete the function, we return the next number:",
    ],
)
def test_chatter(first: str) -> None:
    assert clean(f"{first}\n\n{CODE}", HERE) == (CODE, ("chatter removed",))


@pytest.mark.parametrize(
    "text", ["Here is the completion:", "this.value = 1;\nfoo(", "completion = model()\nx = (", "sure = 1.\nx = ("]
)
def test_no_chatter(text: str) -> None:
    assert clean(text, HERE).text == text


def test_released_cleaning() -> None:
    assert strip_released_fence("```python\na\nb\n```\nwords") == "a\nb"
    assert strip_released_fence("  ```\na\n  ```  ") == "a"
    for untouched in ("```python\na", "a\n```\nb\n```", "", "words\n```\na\n```"):
        assert strip_released_fence(untouched) == untouched
    assert strip_released_fence(strip_released_fence("```\na\n```")) == "a"


_SPECIAL_TOKENS = (
    "<|fim_pad|>", "<|endoftext|>", "<|im_end|>\n", " <EOT>", "</s>", "<eos>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "\n<end_of_turn>", "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nMore.", "<|endofmask|>",
    "<|file_sep|>other.py\nx = (", "<fim_pad>", "<|fim_pad|><|endoftext|>import os\n",
)  # fmt: skip


def test_a_text_ends_before_a_special_token_under_every_policy() -> None:
    here = Caret(language="python", prefix=HERE.before, suffix=HERE.after)
    for token in _SPECIAL_TOKENS:
        for name in ("raw", "released", "syntax", "block"):
            assert get_policy(name).apply(CODE + token, here).text.rstrip() == CODE, (name, token)
        assert holds_special_token(CODE + token)
    assert clean(f"<|im_start|>assistant\n{CODE}<|im_end|>", HERE).text == CODE


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ('    end = "<|endoftext|>"\n    return a', HERE),
        ("    # ends with <|im_end|> here\n    return a", HERE),
        ('    """Use <|fim_pad|>.\n    """\n    return a', HERE),
        ("    return ['</s>', '<s>', '<pad>']", HERE),
        ("<EOT>", Surroundings("class A { List<EOT> f() {\n return new ArrayList", "();\n } }\n", "java")),
        ("<s>old</s>", Surroundings("function f() {\n  return (\n    ", "\n  );\n}\n", "javascript")),
        ("<code>a</code>", Surroundings("function f() {\n  return (\n    ", "\n  );\n}\n", "javascript")),
        ("    return a <b> 2", HERE),
        ('    """Example: ```f(1)```\n    """\n    return a', HERE),
        ("    # Note: ```python\n    return a", HERE),
    ],
)
def test_marks_that_are_content_are_left(text: str, around: Surroundings) -> None:
    assert clean(text, around).text == text


@pytest.mark.parametrize(
    "text",
    [
        "[THINK]hm[/THINK]{}",
        "\u25c1think\u25b7hm\u25c1/think\u25b7\n{}",
        "<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>\n{}<|end_of_solution|>",
        "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
        "<seed:think>hm</seed:think>{}",
        "<unused94>thought\nhm<unused95>{}",
        "analysisIt adds.assistantfinal{}",
        "<|channel|>analysis<|message|>It adds.<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
        "<|channel|>commentary<|message|>It.<|end|><|start|>assistant<|channel|>final <|constrain|>code<|message|>{}",
        "<|im_start|>assistant\n<think>hm</think>\n{}",
        "It adds one.</think>{}",
    ],
)
def test_reasoning_in_the_marks_of_other_families(text: str) -> None:
    assert clean(text.format(CODE), HERE).text == CODE
    assert begins_with_reasoning(text.format(CODE)) is not text.startswith("It")


@pytest.mark.parametrize(
    "text",
    [
        "<code>{}</code>",
        '<code lang="python">\n{}\n</code>',
        "<answer>\n```python\n{}\n```\n</answer>",
        "[PYTHON]\n{}\n[/PYTHON]",
        "Here it is:\n<code>{}</code>\nIt adds one.",
        '```python title="a.py"\n{}\n```',
        "```{{.python .numberLines}}\n{}\n```",
        "```python:src/a.py\n{}\n```",
        "Here you go: ```python\n{}\n```",
        "```python\n{}```",
        "```python\n{}```\nThis adds one.",
        "```python\n{}\n``` This adds one.",
        "{}```",
        "~~~python\n{}\n~~~",
        "    ```python\n{}\n    ```",
    ],
)
def test_fences_and_tags_in_other_forms(text: str) -> None:
    assert clean(text.format(CODE), HERE).text.rstrip() == CODE


def test_code_between_marks_on_one_line() -> None:
    here = Surroundings("def f(a):\n    return ", "\nprint(f(1))\n", "python")
    for text in ("```python a + 1```", "```a + 1```"):
        assert clean(text, here).text == "a + 1"
