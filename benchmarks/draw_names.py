"""Random sample of names, docstring openings and help texts, for a reader who has not seen the code.

``python -m benchmarks.draw_names --seed 1`` prints 40 numbered items: 14 names with parameters, 13 docstring openings,
13 help texts. The reader says what each means. ``--places`` adds file and line, which the reader does not see.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src"
DATA_FOLDERS = {"starter", "starter_set", "samples", "harness"}
NAMES, DOCSTRINGS, HELP_TEXTS = 14, 13, 13


class Item(NamedTuple):
    """What the reader sees, and its place in the code."""

    text: str
    place: str


def definitions() -> Iterator[tuple[str, ast.AST, str | None, Path]]:
    """Yield every public module, class, function and annotated field with its dotted name."""
    for path in sorted((SOURCE / "caretbench").rglob("*.py")):
        if DATA_FOLDERS & set(path.parts) or path.stem.startswith("_"):
            continue
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        tree = ast.parse(path.read_text("utf-8"))
        yield module, tree, ast.get_docstring(tree), path
        yield from ((f"{module}.{name}", node, text, path) for name, node, text in _members(tree, ""))


def _members(parent: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST, str | None]]:
    nodes = list(ast.iter_child_nodes(parent))
    for node, following in zip(nodes, [*nodes[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        else:
            continue
        if name.startswith("_"):
            continue
        yield prefix + name, node, _docstring(node, following)
        if isinstance(node, ast.ClassDef):
            yield from _members(node, f"{prefix}{name}.")


def _docstring(node: ast.AST, following: ast.AST | None) -> str | None:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ast.get_docstring(node)
    value = following.value if isinstance(following, ast.Expr) else None
    return inspect.cleandoc(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def names() -> list[Item]:
    """Return public definitions: functions with their parameters, classes with their bases, fields with their types."""
    return [Item(_shown(name, node), _place(path, node)) for name, node, _, path in definitions()]


def _shown(name: str, node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"function {name}({ast.unparse(node.args)}){result}"
    if isinstance(node, ast.ClassDef):
        return f"class {name}({', '.join(map(ast.unparse, node.bases))})"
    return f"field {name}: {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else f"module {name}"


def docstrings() -> list[Item]:
    """Return the first paragraph of every public docstring, after the name that it belongs to."""
    found = []
    for name, node, text, path in definitions():
        if text:
            opening = " ".join(text.split("\n\n")[0].split())
            found.append(Item(f"{name}: {opening}", _place(path, node)))
    return found


def help_texts() -> list[Item]:
    """Return the help of every command and option."""
    import typer.main

    from caretbench.cli import app

    return list(_help(typer.main.get_command(app), "caretbench"))


def _help(command: object, name: str) -> Iterator[Item]:
    for sub, child in getattr(command, "commands", {}).items():
        yield from _help(child, f"{name} {sub}")
    text = (getattr(command, "help", None) or "").split("\n\n")[0]
    yield Item(f"{name}: {' '.join(text.split())}", f"{name} --help")
    for option in getattr(command, "params", ()):
        text = " ".join((getattr(option, "help", None) or "").split())
        if text and "--help" not in option.opts:
            yield Item(f"{name} {'/'.join(option.opts)}: {text}", f"{name} --help")


def _place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(SOURCE.parent)}:{getattr(node, 'lineno', 1)}"


def draw(seed: int) -> list[Item]:
    """Return the items of a seed: names, then docstrings, then help texts."""
    dice = random.Random(seed)  # noqa: S311  a sample that can be drawn again
    return [
        item
        for population, count in ((names(), NAMES), (docstrings(), DOCSTRINGS), (help_texts(), HELP_TEXTS))
        for item in dice.sample(population, count)
    ]


def main() -> None:
    """Print a sample."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1, help="Random seed (1).")
    parser.add_argument("--places", action="store_true", help="Print files and lines too.")
    arguments = parser.parse_args()
    for number, item in enumerate(draw(arguments.seed), 1):
        print(f"{number}. {item.text}" + (f"   [{item.place}]" if arguments.places else ""))  # noqa: T201


if __name__ == "__main__":
    main()
