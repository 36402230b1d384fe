"""The structure of the package: import cycles, sizes of folders and functions, unique names, one home for each rule."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from benchmarks import structure
from benchmarks.structure import Figures

SOURCE = Path(__file__).parents[1] / "src" / structure.PACKAGE

_STATUS_HOME = "execution/execution_types.py"
_STANDARD_NAMES = {
    "execution/execution_types.py": "named by the design; every import is absolute",
    "syntax/analysis_types.py": "the usual name of a package's types; every import is absolute",
}


@cache
def modules() -> list[structure.Module]:
    return structure.read(SOURCE)


@cache
def figures() -> Figures:
    return structure.measure(modules())


def elsewhere(figure: str, *places: str) -> list[str]:
    """What a figure counts outside of some places."""
    return [entry for entry in figures().get(figure, ()) if not entry.startswith(places)]


def test_no_modules_import_each_other() -> None:
    assert figures()["groups of modules that import each other"] == []


def test_wings_import_only_from_wings_below() -> None:
    """Running loads nothing of building, lazily either; the verbs and the Python API may load both."""
    assert figures()["imports across wings"] == []


def test_suites_do_not_import_each_other() -> None:
    """The record asks some of its problems by C3-Bench's specifications; it is the one exception."""
    pairs = set()
    for module in modules():
        if module.path.parts[0] == "suites" and len(module.path.parts) > 2:
            others = {name.split(".")[2] for name in module.imported if name.startswith("caretbench.suites.")}
            folders = {name for name in others if (SOURCE / "suites" / name).is_dir()}
            pairs |= {(module.path.parts[1], other) for other in folders - {module.path.parts[1]}}
    assert pairs == {("record", "c3bench")}


def test_folders_are_small() -> None:
    assert elsewhere(f"folders of more than {structure.MAX_MODULES} modules") == []


def test_functions_are_short_or_say_why() -> None:
    for name in figures():
        if name.startswith("functions of more than"):
            assert elsewhere(name) == [], name
    assert elsewhere("reasons that no function needs") == []
    print(f"{len(figures()['functions with a reason'])} functions are long for a reason")  # noqa: T201 - with -s


def test_exceptions_are_still_needed() -> None:
    entries = [*figures()["functions with a reason"], *figures()["large folders with a reason"]]
    for place in (*structure.LONG_MODULES, *structure.LARGE_FOLDERS):
        assert any(entry.startswith(f"{place}:") for entry in entries), place


def test_local_names_say_what_they_hold() -> None:
    assert figures()["local names that say nothing"] == []


def test_public_class_names_are_unique() -> None:
    assert figures()["public class names in several modules"] == []


def test_modules_are_not_named_like_the_standard_library() -> None:
    assert elsewhere("modules named like the standard library's", *_STANDARD_NAMES) == []


def test_sets_of_status_have_one_home() -> None:
    assert elsewhere("sets of Status by hand", f"{_STATUS_HOME}:") == []


def test_node_kinds_are_in_the_tables_of_languages() -> None:
    """Functions, throws, loops … of a grammar are named in ``languages/NAME/nodes.toml``."""
    assert elsewhere("node kinds of a grammar by hand") == []


def test_node_kinds_by_hand_are_seen(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(
        "import tree_sitter\nWord = Literal['switch_case']\n"
        "KINDS = {'anonymous_method_expression', 'switch_case', 'if'}\n"
        "def f(node): return node.type == 'switch_case'\n"
    )
    (tmp_path / "second.py").write_text("OPTION = 'source_file'\ndef f(node): return node.type in ('func_literal',)\n")
    counted = structure.measure(structure.read(tmp_path))
    assert counted["node kinds of a grammar by hand"] == [
        "first.py:3 anonymous_method_expression", "first.py:4 switch_case", "second.py:2 func_literal",
    ]  # fmt: skip
    assert counted["modules that write node kinds of a grammar"] == ["first.py", "second.py"]


def test_what_is_counted(tmp_path: Path) -> None:
    """The script sees lazy imports and those for types, and reads the reason above a function's decorators."""
    (tmp_path / "first.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from caretbench.second import Twice\n"
        "class Twice: ...\n"
        "# Long: one case for each letter,\n# all alike.\n@cached\n"
        "def many(a, b, c, d, e, f, g, h, i): ...\n"
        "# Long: no more.\ndef few(a): ...\n"
    )
    (tmp_path / "second.py").write_text(
        "class Twice: ...\n"
        "def late():\n    from caretbench import first\n    return [Status.FAILED, Status.TIMEOUT]\n"
        "# Not long.\ndef also_many(self, a, b, c, d, e, f, g, h, i): ...\n"
        "first_of = min([], key=lambda one: one)\nfound = [text for text in ()]\none, other = ()\n"
    )
    read = structure.read(tmp_path)
    counted = structure.measure(read)
    assert structure.cycles(read) == [["caretbench.first", "caretbench.second"]]
    assert counted["functions with a reason"] == ["first.py:8 many: one case for each letter, all alike."]
    assert counted["reasons that no function needs"] == ["first.py:10 few: no more."]
    assert counted["functions of more than 8 parameters"] == ["second.py:6 also_many: 9"]
    assert counted["public class names in several modules"] == ["Twice: first.py, second.py"]
    assert counted["sets of Status by hand"] == ["second.py:4 FAILED, TIMEOUT"]
    assert sorted(counted["local names that say nothing"]) == ["second.py:7 one", "second.py:8 found"]


def test_wings_are_seen(tmp_path: Path) -> None:
    """An import across wings is found within a function too; a wing above may import those below."""
    places = {
        "build/gate.py": "from caretbench.suites.one.suite import One\n",
        "people/review.py": "from caretbench.build import gate\n",
        "suites/one/suite.py": "def late():\n    from caretbench.build.gate import Gate\n",
        "suites/one/build/builder.py": "from caretbench.people import review\nfrom caretbench.build import gate\n",
        "cli/verb.py": "from caretbench.people import review\n",
    }
    for place, text in places.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    assert structure.imports_across_wings(structure.read(tmp_path)) == [
        "caretbench.suites.one.build.builder imports caretbench.people.review",
        "caretbench.suites.one.suite imports caretbench.build.gate",
    ]


def test_modules_open_with_what_they_contain() -> None:
    """A headline is a noun phrase: a question word in front of it makes a reader read it twice."""
    questions = {"What", "Which", "Whether", "Where", "When", "Who", "How", "Why"}
    # Sample projects are data.
    ours = [one for one in structure.read(SOURCE) if one.path.parts[0] != "samples"]
    headlines = {str(one.path): (ast.get_docstring(one.tree) or "").split() for one in ours}
    assert [path for path, words in headlines.items() if words and words[0] in questions] == []
