"""Ages of functions since an earlier release."""

from __future__ import annotations

import pytest

from caretbench.suites.codevbench.build.miner import EarlierRelease
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
"""
NEW = """\
def h(a):
    return  a


class A:
    def f(self):
        return 1

    def g(self):
        return 3

    def k(self):
        return 4
"""


def project(**files: str) -> ProjectAnalysis:
    return analyse([SourceFile(f"{name}.py", text.encode()) for name, text in files.items()])


@pytest.mark.parametrize(
    ("text", "age"), [("return 1", "same"), ("return 3", "changed"), ("return 4", "new"), ("return  a", "same")]
)
def test_ages(text: str, age: str) -> None:
    new = project(b=NEW)
    start = NEW.index(text)
    assert EarlierRelease(project(a=OLD)).age(new, "b.py", (start, start + len(text))) == age
