"""What the parser finds wrong with a file that holds an answer, before anything runs."""

import pytest

from caretbench.problem import Caret, FileSplice, Problem, Provenance
from caretbench.suites.simcopilot import suite as simcopilot

FILES = {
    "a.py": "def f(items):\n    total = 0\n    for item in items:\n        total += item\n    return total\n",
    "A.java": "class A {\n  int f(int x) {\n    if (x > 0) {\n      return g(x);\n    }\n    return 0;\n  }\n}\n",
    "odd.cpp": "BEGIN_NAMESPACE(x\nint f() {\n  return 1;\n}\n",
}
SPANS = {
    "a.py": ("    for item in items:\n        total += item\n", "python"),
    "A.java": ("    if (x > 0) {\n      return g(x);\n    }\n", "java"),
    "odd.cpp": ("  return 1;\n", "cpp"),
}


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simcopilot, "original_file", lambda _snapshot, path: FILES[path].encode())
    simcopilot._faults.cache_clear()


def problem(path: str) -> Problem:
    reference, language = SPANS[path]
    start = FILES[path].index(reference)
    return Problem.model_validate(
        {
            "id": path, "suite": "simcopilot", "reference": reference, "cluster": "p",
            "shown": Caret(language=language, prefix=FILES[path][:start], suffix=""),
            "splice": FileSplice(snapshot="s", path=path, start=start, end=start + len(reference)),
            "checks": [{"kind": "tests", "command": ("true",)}], "provenance": Provenance(source="p"),
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "answer", "fault"),
    [
        *((path, reference, "") for path, (reference, _) in SPANS.items()),
        ("a.py", "    total = sum(items)\n", ""),
        ("a.py", "    for item in items:\n    total += item\n", "indentation"),
        ("a.py", "    for item in items:\n        total += item\n      total -= 1\n", "indentation"),
        ("a.py", "    total = sum(\n        item for item in [", "truncated"),
        ("a.py", "    for item in items:\n", "truncated"),
        ("a.py", "Here is what you want: a loop!\n", "syntax"),
        ("A.java", "    return g(x);\n", ""),
        ("A.java", "    if (x > 0) {\n      return g(x", "truncated"),
        ("A.java", "    if (x > 0) {\n      return g(x);\n", "truncated"),
        ("A.java", "    if x > 0 then return;\n", "syntax"),
        ("odd.cpp", "  return 2;\n", ""),
    ],
)
def test_a_file_is_faulty_where_it_was_not_before(path: str, answer: str, fault: str) -> None:
    assert simcopilot.syntax_fault(problem(path), answer) == fault
