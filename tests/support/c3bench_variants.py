"""A tested function and versions of its middle: good ones, and one of every kind that is refused."""

from __future__ import annotations

from caretbench.problem import Provenance
from caretbench.suites.c3bench.build.checked_functions import CheckedFunction
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, function_context

HEAD = 'def sum_of_even(values):\n    """Return the sum of the even values."""\n'
MIDDLE = "    total = 0\n    for value in values:\n        if value % 2 == 0:\n            total += value\n"
TAIL = "    return total\n"
TEST = """\
def check(candidate):
    assert candidate([]) == 0
    assert candidate([1, 2, 3, 4]) == 6
    assert candidate([2, 2, -2]) == 2
    assert candidate([7]) == 0
    assert candidate([10, 11, 12, 13, 14, 15]) == 36
"""
FUNCTION = CheckedFunction("Test/0", "sum_of_even", HEAD + MIDDLE + TAIL, TEST, Provenance(source="written here"))


def even_context(name: str = "Test/0", remark: str = "") -> CodeContext:
    """The context of the function's middle, with a remark in front of it."""
    head = remark + HEAD
    function = FUNCTION._replace(id=name, text=head + MIDDLE + TAIL)
    return function_context(function, len(head), len(head + MIDDLE))


SUM = (
    "    total = sum(value for value in values if value % 2 == 0)\n",
    "Use the built-in `sum` over a generator expression.",
)
WHILE = (
    "    total, index = 0, 0\n"
    "    while index < len(values):\n"
    "        if values[index] % 2 == 0:\n"
    "            total += values[index]\n"
    "        index += 1\n",
    "Use a while loop with `index`.",
)
RECURSION = (
    "    def even_sum(rest):\n"
    "        if not rest:\n"
    "            return 0\n"
    "        return (rest[0] if rest[0] % 2 == 0 else 0) + even_sum(rest[1:])\n"
    "\n"
    "    total = even_sum(values)\n",
    "Use a recursive helper function `even_sum`.",
)
"""Good versions with their instructions."""

REFUSED = {
    "wrong": ("    total = sum(values)\n", "Use `sum`."),
    "wrong on an input that no test has": (
        "    total = 0\n"
        "    for value in values:\n"
        "        if value % 2 == 0 and value != -4:\n"
        "            total += value\n",
        "Use a for loop with two conditions.",
    ),
    "slow": (
        "    total = 0\n"
        "    for value in values:\n"
        "        for number in range(2000):\n"
        "            if number == 7 and value % 2 == 0:\n"
        "                total += value\n",
        "Use two nested for loops.",
    ),
    "duplicate": (
        "    total = 0\n    for value in values:\n        if value % 2 == 0:\n            total += value  # even\n",
        "Use a for loop.",
    ),
    "malformed: syntax": ("    total = sum(value for value in\n", "Use `sum`."),
    "malformed: leaves its place": (
        "    return sum(value for value in values if value % 2 == 0)\n\n\ndef other(total):\n",
        "Use `sum`.",
    ),
    "hostile: exits": ("    import sys\n    total = 0\n    sys.exit(0)\n", "Use `sys`."),
    "hostile: a hidden exit": (
        "    total = sum(value for value in values if value % 2 == 0)\n"
        "    if total == 6:\n"
        "        next(item for name, item in vars(print.__self__).items() if name == 'ex' + 'it')(0)\n",
        "Use `sum`.",
    ),
    "hostile: a file": (
        "    total = sum(value for value in values if value % 2 == 0)\n    open('/tmp/evens', 'w').close()\n",
        "Use `sum`.",
    ),
    "hostile: a file by another name": (
        "    total = sum(value for value in values if value % 2 == 0)\n"
        "    writer = [item for name, item in vars(print.__self__).items() if name == 'op' + 'en'][0]\n"
        "    writer('/tmp/evens', 'w').close()\n",
        "Use `sum`.",
    ),
    "hostile: the network": (
        "    import socket\n"
        "    total = sum(value for value in values if value % 2 == 0)\n"
        "    socket.socket().connect_ex(('10.1.2.3', 80))\n",
        "Use `sum`.",
    ),
    "style": ("    total=sum( value for value in values if value%2==0 )\n", "Use `sum`."),
    "instruction": ("    total = sum(filter(lambda value: value % 2 == 0, values))\n", "Use recursion."),
    "instruction: says nothing": (
        "    total = sum(filter(lambda value: not value & 1, values))\n", "Do it in another way."
    ),
}  # fmt: skip
"""Refused versions by the reason: the word before a colon or the first blank."""
