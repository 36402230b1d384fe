"""Small functions, each with the rewrite that applies to it and calls that its tests make."""

from __future__ import annotations

from typing import NamedTuple


class RewriteExample(NamedTuple):
    """A rewrite, a function ``f`` to which it applies, and texts of arguments."""

    rewrite: str
    source: str
    calls: tuple[str, ...]


NUMBERS = ("[3, 1, 2, 2]", "[]", "[5]", "[-4, 0, 9, 7, 1]")
WORDS = ("'abca'", "''", "'xyz xyz'")

EXAMPLES = (
    RewriteExample(
        "loop_to_comprehension", "r = []\nfor x in a:\n    if x > 1:\n        r.append(x * 2)\nreturn r", NUMBERS
    ),
    RewriteExample("comprehension_to_loop", "return [x + y for x in a if x for y in a if x != y]", NUMBERS),
    RewriteExample(
        "single_return", "if not a:\n    return None\nif len(a) > 2:\n    return a[2]\nreturn a[0]", NUMBERS
    ),
    RewriteExample("guard_clauses", "if a:\n    return a[0]\nelse:\n    b = 7\n    return b", NUMBERS),
    RewriteExample("else_after_return", "if a:\n    return a[0]\nb = 7\nreturn b", NUMBERS),
    RewriteExample("branch_to_conditional_expression", "if a:\n    b = a[0]\nelse:\n    b = 7\nreturn b", NUMBERS),
    RewriteExample("conditional_expression_to_branch", "return a[0] if a else 7", NUMBERS),
    RewriteExample(
        "chain_to_match",
        "if a == 1:\n    b = 2\nelif a == 'x':\n    b = 3\nelse:\n    b = 4\nreturn b",
        ("1", "'x'", "2"),
    ),
    RewriteExample(
        "check_to_handler",
        "d = {}\nfor x in a:\n    if x in d:\n        d[x] += 1\n    else:\n        d[x] = 1\nreturn d",
        NUMBERS,
    ),
    RewriteExample("sorted_to_heap", "b = sorted(a)\nreturn b[:2]", NUMBERS),
    RewriteExample("sorted_to_insertion", "return sorted(a)[-1:]", NUMBERS),
    RewriteExample("sorted_to_selection", "return sorted(set(a))", NUMBERS),
    RewriteExample("accumulator_to_sum", "t = 3\nfor x in a:\n    t += x * x\nreturn t", NUMBERS),
    RewriteExample("sum_to_loop", "return sum(x * x for x in a if x > 1)", NUMBERS),
    RewriteExample("comprehension_to_filter_and_map", "return [x * 2 for x in a if x > 0 if x < 6]", NUMBERS),
    RewriteExample(
        "loop_to_any_or_all",
        "for x in a:\n    for y in a:\n        if x + y == 4:\n            return True\nreturn False",
        NUMBERS,
    ),
    RewriteExample("loop_to_any_or_all", "for x in a:\n    if x < 1:\n        return False\nreturn True", NUMBERS),
    RewriteExample("key_function", "return sorted(a, key=lambda x: -x)", NUMBERS),
)


def function_text(body: str) -> str:
    """Return the text of a function ``f(a)`` with a body."""
    return "def f(a):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def check_text(calls: tuple[str, ...], source: str) -> str:
    """Return a program with ``check``, which compares a candidate with a function on some calls."""
    lines = [f"    assert candidate({call}) == f({call})" for call in calls]
    return source + "\ndef check(candidate):\n" + "\n".join(lines) + "\n"
