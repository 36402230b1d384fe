"""Rules of failures on completions with labels, which were written before the rules were run on them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from caretbench.people.telemetry.event_features import features_of
from tests.support.made_events import made_event

_PLACES = {
    "python": ("def ship(order, client, weight, limit):\n    ", "\n"),
    "javascript": ("function ship(order, client, weight, limit) {\n  ", "\n}\n"),
    "typescript": ("function ship(order: Order, client: Client, weight: number, limit: number) {\n  ", "\n}\n"),
    "java": ("class Ship { int ship(int order, int client, int weight, int limit) {\n    ", "\n  } }\n"),
    "csharp": ("class Ship { int Run(int order, int client, int weight, int limit) {\n    ", "\n  } }\n"),
    "cpp": ("int ship(int order, int client, int weight, int limit) {\n  ", "\n}\n"),
    "go": ("package a\nfunc ship(order, client, weight, limit int) int {\n\t", "\n}\n"),
    "rust": ("fn ship(order: i32, client: i32, weight: i32, limit: i32) -> i32 {\n    ", "\n}\n"),
}
"""Prefix and suffix of each language."""


class Case(NamedTuple):
    """A rejected completion, the text that was there later, and whether it has the failure."""

    language: str
    completion: str
    later: str
    label: bool


_CASES = {
    "wrong_name": (
        Case("python", "return weight > weight", "return weight > limit", label=True),
        Case("python", "self.client = order", "self.client = client", label=True),
        Case("python", "for one in client:\n        yield one", "for one in order:\n        yield one", label=True),
        Case("python", "return limit / weight", "return weight / limit", label=True),
        Case("javascript", "return order.total;", "return client.total;", label=True),
        Case("javascript", "if (weight > order) { return 1; }", "if (weight > limit) { return 1; }", label=True),
        Case(
            "typescript", "const most = Math.max(weight, weight);", "const most = Math.max(weight, limit);", label=True
        ),
        Case("java", "return order - client;", "return client - order;", label=True),
        Case("java", "int rest = limit - order;", "int rest = limit - weight;", label=True),
        Case("csharp", "return weight <= client;", "return weight <= limit;", label=True),
        Case("cpp", "order += client;", "order += weight;", label=True),
        Case("go", "return weight % client", "return weight % limit", label=True),
        Case("rust", "weight.min(order)", "weight.min(limit)", label=True),
        Case("python", "rest = limit - weight\n    return rest", "left = limit - weight\n    return left", label=False),
        Case("python", "return ship_all(order)", "return ship_one(order)", label=False),
        Case("python", "return weight * 2", "return weight * 3", label=False),
        Case("javascript", "return order.map(o => o.id);", "return order.map(item => item.id);", label=False),
        Case("typescript", "return weight + limit;", "return weight;", label=False),
        Case("java", "return weight;", "return weight + limit;", label=False),
        Case(
            "csharp",
            "for (int i = 0; i < limit; i++) { F(i); }",
            "for (int n = 0; n < limit; n++) { F(n); }",
            label=False,
        ),
        Case(
            "cpp",
            "return std::min(weight, limit);",
            "if (weight < limit) { return weight; }\n  return limit;",
            label=False,
        ),
        Case("go", "return 0", "return weight", label=False),
        Case("rust", "return weight;", "weight", label=False),
        Case("python", "client.send( order )", "client.send(order)", label=False),
        Case("cpp", "return weight * limit;", "return limit * weight;", label=False),  # the same product
    ),
    "wrong_literal": (
        Case("python", "return weight > 10", "return weight > 100", label=True),
        Case("python", "return None", "return False", label=True),
        Case("python", "return True", "return False", label=True),
        Case("python", "client.send('order')", "client.send('parcel')", label=True),
        Case("javascript", "return weight === 0;", "return weight === 1;", label=True),
        Case("javascript", "return null;", "return true;", label=True),
        Case("typescript", "const unit = 'kg';", "const unit = 'lb';", label=True),
        Case("java", "return 30;", "return 60;", label=True),
        Case("java", 'System.out.println("sent");', 'System.out.println("late");', label=True),
        Case("csharp", "return false;", "return true;", label=True),
        Case("cpp", "return 0.5;", "return 0.25;", label=True),
        Case("go", 'panic("weight")', 'panic("limit")', label=True),
        Case("rust", "weight + 1", "weight + 2", label=True),
        Case("python", 'client.send("order")', "client.send('order')", label=False),
        Case("python", "return 0x10", "return 16", label=False),
        Case("javascript", "return 1_000;", "return 1000;", label=False),
        Case("typescript", "return weight;", "return limit;", label=False),
        Case("java", "return 0;", "return weight;", label=False),
        Case("csharp", "return weight + 1;", "return weight;", label=False),
        Case("cpp", "return 2.50;", "return 2.5;", label=False),
        Case("go", "return weight // 1", "return weight // 2", label=False),
        Case("rust", "order", "client", label=False),
        Case("python", "return max(1, weight)", "return min(1, weight)", label=False),
    ),
    "incomplete": (
        Case("python", "return wei", "return weight", label=True),
        Case("python", "return weight +", "return weight + limit", label=True),
        Case("python", "client.send(order", "client.send(order, weight)", label=True),
        Case("python", "return weight", "return weight * limit", label=True),
        Case("python", "raise Val", "raise ValueError(order)\n    return 1", label=True),
        Case("javascript", "return order.fil", "return order.filter(Boolean);", label=True),
        Case("javascript", "const rest = limit -", "const rest = limit - weight;\n  return rest;", label=True),
        Case("typescript", "return client.send(order).th", "return client.send(order).then(done);", label=True),
        Case("java", "return weight > limit ? weight", "return weight > limit ? weight : limit;", label=True),
        Case("csharp", "return weight", "return weight + limit;", label=True),
        Case("cpp", "return std::min(weight,", "return std::min(weight, limit);", label=True),
        Case("go", "return weight *", "return weight * limit", label=True),
        Case("rust", "weight.mi", "weight.min(limit)", label=True),
        Case("python", "rest = limit - weight", "rest = limit - weight\n    return rest", label=False),
        Case("python", "return weight", "return weight\n\n\ndef more():\n    return 1", label=False),
        Case("javascript", "const a = 1;", "const a = 1;\n  const b = 2;", label=False),
        Case("typescript", "return weight;", "return weight; // in kilograms", label=False),
        Case("java", "int a = weight;", "int a = weight;\n    return a;", label=False),
        Case("csharp", "return weight;", "return limit;", label=False),
        Case("cpp", "return weight + limit;", "return weight;", label=False),
        Case("go", "rest := limit - weight", "rest := limit - weight\n\treturn rest", label=False),
        Case("rust", "let rest = limit - weight;", "let rest = limit - weight;\n    rest", label=False),
        Case("java", "return weight;", "return (weight);", label=False),
    ),
}


def has_failure(rule: str, case: Case) -> bool:
    prefix, suffix = _PLACES[case.language]
    event = made_event(
        language=case.language,
        outcome="rejected",
        texts={"prefix": prefix, "suffix": suffix, "completion": case.completion, "after_5min": case.later},
    )
    assert event.texts is not None
    return rule in (features_of(event, event.texts).failures or ())


@pytest.mark.parametrize("rule", _CASES)
def test_precision_and_recall(rule: str) -> None:
    cases = _CASES[rule]
    assert len(cases) >= 20
    assert len({case.language for case in cases}) >= 7
    found = [(case, has_failure(rule, case)) for case in cases]
    wrong = [case for case, hit in found if hit and not case.label]
    missed = [case for case, hit in found if not hit and case.label]
    right = sum(hit and case.label for case, hit in found)
    print(rule, f"right {right}, wrong {wrong}, missed {missed}")  # noqa: T201 - with -s
    assert right >= 0.85 * (right + len(wrong))
    assert right >= 0.85 * (right + len(missed))
