"""Ages of functions since an earlier release."""

from __future__ import annotations

import pytest

from caretbench.suites.codevbench.build.earlier_release import EarlierRelease
from caretbench.syntax.analysis import ProjectAnalysis, analyse
from caretbench.syntax.source import SourceFile

OLD = """\
class A:
    def f(self):
        return 1

    def g(self):
        return 2


def h(a):
    return a


def total(orders, limit):
    price = sum(order.price for order in orders)
    if price > limit:
        price -= round(price * orders[0].rate / 100)
    return print_price(price, orders[0].currency)
"""
NEW = """\
def h(a):
    return  a


class A:
    def f(self):
        return 1

    def g(self):
        return 3

    def k(self, names):
        return [name.strip() for name in names]


def whole_price(orders, most):
    price = sum(order.price for order in orders)
    if price > most:
        price -= round(price * orders[0].rate / 100)
    return print_price(price, orders[0].currency)


def with_rate(price, orders):
    price -= round(price * orders[0].rate / 100)
    return print_price(price, orders[0].currency)
"""


def project(**files: str) -> ProjectAnalysis:
    return analyse([SourceFile(f"{name}.py", text.encode()) for name, text in files.items()])


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("return 1", "same"),
        ("return 3", "changed"),
        ("return [", "new"),
        ("return  a", "same"),
        ("if price > most", "changed"),  # renamed
        ("def with_rate", "changed"),  # cut out of another
    ],
)
def test_ages(text: str, age: str) -> None:
    new = project(b=NEW)
    start = NEW.index(text)
    assert EarlierRelease(project(a=OLD)).age(new, "b.py", (start, start + len(text))) == age
