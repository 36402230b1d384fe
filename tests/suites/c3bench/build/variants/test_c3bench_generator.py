from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pytest

from caretbench.build.build_models import BuildRequest
from caretbench.models import ChatPrompt
from caretbench.runs.generate import prompt_text
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, Variant
from caretbench.suites.c3bench.build.variants.model_roles import checked_readings, fitted, generate_variants
from tests.support.c3bench_variants import HEAD, MIDDLE, SUM, TAIL, TEST, WHILE, even_context


class ScriptedModels:
    """Models of a build that answer by a table of texts, one after the other."""

    def __init__(self, role: str, answers: Mapping[str, Iterable[str]]) -> None:
        self.roles = frozenset({role})
        self._answers = {name: iter(texts) for name, texts in answers.items()}
        self.asked: list[tuple[str, BuildRequest]] = []

    def names(self, role: str) -> tuple[str, ...]:
        """Names in the table."""
        return tuple(self._answers) if role in self.roles else ()

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        """Answers of the only model."""
        (name,) = self.names(role)
        return self.ask_each(role, {name: requests})[name]

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        """The next text of each model for each request."""
        assert role in self.roles
        found: dict[str, dict[str, str]] = {}
        for name, asked in requests.items():
            found[name] = {}
            for request in asked:
                self.asked.append((name, request))
                found[name][request.key] = next(self._answers[name])
        return found


def versions(*pairs: tuple[str, str], category: str = "algorithmic") -> str:
    rows = [{"code": code, "instruction": instruction, "category": category} for code, instruction in pairs]
    return json.dumps({"versions": rows})


def test_each_generator_writes_versions_of_each_context() -> None:
    models = ScriptedModels(
        "generator",
        {
            "one": [versions(SUM, WHILE), versions(SUM)],
            "two": [f"Here:\n```json\n{versions(WHILE)}\n```", versions(), versions(WHILE)],
        },
    )
    contexts = [even_context("A"), even_context("B")]
    found = generate_variants(contexts, models)
    assert [(one.context.partition("/")[0], one.name, one.author) for one in found.variants] == [
        ("A", "one-1", "one"),
        ("A", "one-2", "one"),
        ("A", "two-1", "two"),
        ("B", "one-1", "one"),
        ("B", "two-1", "two"),
    ]
    assert found.malformed == []
    assert (found.variants[0].text, found.variants[0].instruction) == SUM
    again = models.asked[-1][1]
    assert again.key == f"{contexts[1].id}#2"
    assert isinstance(again.prompt, ChatPrompt)
    assert "no list of versions" in again.prompt.messages[-1].text


def test_a_generator_sees_the_shown_text_and_no_test() -> None:
    models = ScriptedModels("generator", {"one": [versions(SUM)]})
    generate_variants([even_context()], models)
    [(_, request)] = models.asked
    text = prompt_text(request.prompt) if isinstance(request.prompt, ChatPrompt) else ""
    assert f"{HEAD}<<<MIDDLE\n{MIDDLE}MIDDLE>>>\n{TAIL}".strip() in text
    assert TEST.splitlines()[2].strip() not in text
    assert "check(" not in text


def test_what_cannot_be_read_is_counted() -> None:
    answers = [json.dumps({"versions": [{"code": "x"}, 3, {"code": "y", "instruction": "z", "category": "nice"}]})]
    models = ScriptedModels("generator", {"one": answers, "two": ["I cannot help with that.", ""]})
    found = generate_variants([even_context()], models)
    assert found.variants == []
    assert [(row.name, row.verdict) for row in found.malformed] == [
        ("one-1", "malformed"),
        ("one-2", "malformed"),
        ("one-3", "malformed"),
        ("two-answer", "malformed"),
    ]
    assert found.malformed[0].detail.startswith("instruction: Field required")
    assert found.malformed[-1].detail == "the answer is empty"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("    a = 1\n    b = 2\n", "    a = 1\n    b = 2\n"),
        ("a = 1\nb = 2", "    a = 1\n    b = 2\n"),
        ("a = 1\n    b = 2", "    a = 1\n    b = 2\n"),
        ("```python\na = 1\n```", "    a = 1\n"),
        ("for a in b:\n    c()\nd()", "    for a in b:\n        c()\n    d()\n"),
        ("        a = 1\n        b = 2\n", "    a = 1\n    b = 2\n"),
        ("\n\n    a = 1\n\n", "    a = 1\n"),
        ("a = 1\r\nb = 2\r\n", "    a = 1\n    b = 2\n"),
        ("", "\n"),
    ],
)
def test_versions_get_the_indentation_of_the_middle(code: str, text: str) -> None:
    assert fitted(code, MIDDLE) == text


def test_the_rest_of_a_line_stays_as_it_is() -> None:
    assert fitted("1 + 2", "3") == "1 + 2"


# --- the checker ----------------------------------------------------------------------------------------------------


def pair() -> tuple[CodeContext, list[Variant]]:
    context = even_context()
    named = (("sum", SUM), ("while", WHILE))
    return context, [Variant(context.id, name, "model", "m", "algorithmic", text[1], text[0]) for name, text in named]


def letters(request: BuildRequest) -> dict[str, str]:
    """The implementations that a request shows, by letter."""
    assert isinstance(request.prompt, ChatPrompt)
    text = request.prompt.messages[1].text.split("The program:")[1]
    parts = text.split("Implementation ")[1:]
    return {part[0]: part[2:].strip("\n") for part in parts}


class ReadingModels(ScriptedModels):
    """A checker that finds the implementation by its text, and says what a test wants besides."""

    def __init__(self, wanted: Mapping[str, str], **said: object) -> None:
        super().__init__("checker", {"c": ()})
        self._wanted = wanted
        self._said = said

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        """A reading for each request."""
        assert role == "checker"
        found: dict[str, dict[str, str]] = {"c": {}}
        for request in requests["c"]:
            self.asked.append(("c", request))
            name = request.key.rpartition("/")[2].partition("#")[0]
            letter = next((key for key, text in letters(request).items() if text in self._wanted.get(name, "")), "none")
            reading = {"implementation": letter, "category": "algorithmic", "demands": [], "forbids": []} | self._said
            found["c"][request.key] = json.dumps(reading)
        return found


def faults(models: ScriptedModels) -> dict[str, str]:
    return {name: fault for (_, name), fault in checked_readings([pair()], models).items()}


UNMET = "the checker reads a demand that the version does not meet"
RIGHT = {"sum": SUM[0], "while": WHILE[0]}


def test_a_checker_that_reads_what_was_meant_finds_no_fault() -> None:
    models = ReadingModels(RIGHT)
    assert faults(models) == {"sum": "", "while": ""}
    shown = letters(models.asked[0][1])
    assert sorted(shown.values()) == sorted(text.strip("\n") for text in (SUM[0], WHILE[0], MIDDLE))


@pytest.mark.parametrize(
    ("models", "fault"),
    [
        (ReadingModels({"sum": WHILE[0], "while": WHILE[0]}), "the checker finds another implementation"),
        (ReadingModels({"while": WHILE[0]}), "the checker finds none"),
        (ReadingModels(RIGHT, category="parameter"), "the checker reads the category parameter, not algorithmic"),
        (ReadingModels(RIGHT, demands=["while loop"]), f"{UNMET}: no while loop"),
        (ReadingModels(RIGHT, forbids=["comprehension"]), f"{UNMET}: has a comprehension"),
        (ReadingModels(RIGHT, category="nice"), "the checker's answer cannot be read: category: "),
    ],
)
def test_another_reading_is_a_fault(models: ReadingModels, fault: str) -> None:
    assert faults(models)["sum"].startswith(fault)


def test_names_that_are_no_constructs_do_not_count() -> None:
    assert faults(ReadingModels(RIGHT, demands=["elegance"]))["sum"] == ""
