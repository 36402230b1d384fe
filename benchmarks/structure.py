"""Measures the structure of the package: size, folders, long functions, import cycles, names, rules written by hand.

    python benchmarks/structure.py [SOURCE] [--list] [--load]

Every figure is counted in the syntax trees of ``SOURCE`` (default: ``src/caretbench`` next to this file), so that two
checkouts can be compared. ``--list`` names what is counted, with file and line. ``--load`` loads each suite in a fresh
process and prints its modules of this package and its seconds of CPU. A function that passes a limit for a
good reason has it in a comment directly above (above its decorators) that begins with ``# Long: ``; it is counted on a
line of its own.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

import tree_sitter

MAX_MODULES = 15
MAX_LINES = 60
MAX_PARAMETERS = 8
MAX_BRANCHES = 15
PACKAGE = "caretbench"
REASON = "# Long: "
LONG_MODULES = {
    Path("languages/python/harness/python_harness.py"): (
        "its text is part of cache keys, comments included; and a program could replace a function of the module"
    )
}
"""Modules with a long function that cannot have its reason next to it."""
LARGE_FOLDERS = {Path("cli"): "a module for each verb"}
"""Folders that may have more than ``MAX_MODULES`` modules."""
SUITES = ("devbench", "simcopilot", "efcb", "c3bench", "codevbench")
BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.IfExp, ast.comprehension, ast.ExceptHandler, ast.match_case)
EMPTY_NAMES = {"found", "one"}
"""Names of 786 and 776 local variables, which said nothing of what they held."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Figures = dict[str, list[str]]


class Module:
    """One module: its path below the source, its dotted name and its syntax tree."""

    def __init__(self, source: Path, path: Path) -> None:
        self.path = path.relative_to(source)
        self.text = path.read_text()
        self.tree = ast.parse(self.text)
        # A dozen rules look at each node: nodes kept once take a third of the time of walks.
        self.nodes = list(ast.walk(self.tree))
        parts = (PACKAGE, *self.path.with_suffix("").parts)
        self.is_package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts)

    @cached_property
    def imported(self) -> frozenset[str]:
        """The names of this package that it imports anywhere, lazily and under ``TYPE_CHECKING`` too."""
        return frozenset(self._imported())

    def _imported(self) -> Iterator[str]:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                level = node.level - self.is_package if node.level else 0
                base = self.name.split(".")[: -level or None] if node.level else []
                start = ".".join([*base, *filter(None, [node.module])])
                yield start
                yield from (f"{start}.{alias.name}" for alias in node.names)


def wing(name: str) -> str:
    """The wing of a module: ``run``, ``build``, ``people`` or ``training``; verbs, `bench` and API are ``above``."""
    _, *parts = name.split(".")
    if not parts or parts[0] in ("cli", "api", "bench", "__main__"):
        return "above"
    if parts[0] == "build" or (parts[0] == "suites" and parts[2:3] == ["build"]):
        return "build"
    return parts[0] if parts[0] in ("people", "training") else "run"


BELOW = {
    "run": ("run",),
    "build": ("build", "run"),
    "people": ("people", "build", "run"),
    "training": ("training", "people", "build", "run"),
}
"""Wings that the modules of a wing may import."""


def imports_across_wings(modules: Iterable[Module]) -> list[str]:
    """Imports of a module of a wing that its own wing must do without, lazy ones too: ``MODULE imports MODULE``."""
    named = {module.name: module for module in modules}
    return sorted(
        f"{name} imports {other}"
        for name, module in named.items()
        for other in module.imported
        if other in named and wing(other) not in BELOW.get(wing(name), (wing(other),))
    )


def lines_of_code(module: Module) -> int:
    """The number of lines that have code: neither blank, nor comment, nor within a docstring."""
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    texts = [
        node.value
        for node in module.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    strings = {number for text in texts for number in range(text.lineno, (text.end_lineno or text.lineno) + 1)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(iter(module.text.splitlines(keepends=True)).__next__):
        if token.type not in blank:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - strings)


def functions(module: Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All functions of a module with their place."""
    for node in module.nodes:
        if isinstance(node, FUNCTIONS):
            yield f"{module.path}:{node.lineno} {node.name}", node


def branches(function: ast.AST) -> int:
    """The number of places where a function's flow divides; those of functions within it do not count."""
    total = 0
    for node in ast.iter_child_nodes(function):
        if isinstance(node, FUNCTIONS):
            continue
        total += isinstance(node, BRANCHES) + (len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0)
        total += branches(node)
    return total


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of parameters, without ``self`` and ``cls``."""
    stated = function.args
    names = [argument.arg for argument in (*stated.posonlyargs, *stated.args, *stated.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def excesses(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, int]]:
    """The limits that a function passes, by the figure's name, and its count."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    for most, unit, count in (
        (MAX_LINES, "lines", lines),
        (MAX_PARAMETERS, "parameters", parameters(function)),
        (MAX_BRANCHES, "branches", branches(function)),
    ):
        if count > most:
            yield f"functions of more than {most} {unit}", count


def reason(module: Module, function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The reason for a long function, from the comment directly above it; empty where there is none."""
    lines = module.text.splitlines()
    first = min(node.lineno for node in (function, *function.decorator_list)) - 1
    start = first
    while start and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    words = " ".join(line.strip().removeprefix("# ") for line in lines[start:first])
    opening = REASON.removeprefix("# ")
    return words.removeprefix(opening) if words.startswith(opening) else ""


def cycles(modules: Iterable[Module]) -> list[list[str]]:
    """Groups of modules that import each other, by any kind of import (Tarjan's algorithm)."""
    named = {module.name: module for module in modules}
    edges = {name: sorted(module.imported & named.keys() - {name}) for name, module in named.items()}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in edges[name]:
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                groups.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for name in sorted(named):
        if name not in number:
            visit(name)
    return groups


def statuses_by_hand(module: Module) -> Iterator[str]:
    """Collections of two or more members of ``Status`` that are written out."""
    for node in module.nodes:
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            attributes = [part for part in node.elts if isinstance(part, ast.Attribute)]
            members = [part.attr for part in attributes if ast.unparse(part.value) == "Status"]
            if len(members) >= 2:
                yield f"{module.path}:{node.lineno} {', '.join(members)}"


def empty_names(module: Module) -> Iterator[str]:
    """Variables and parameters that are called by one of ``EMPTY_NAMES``, but for a pair of ``one`` and ``other``."""
    if module.path.is_relative_to("samples") or module.path.is_relative_to("projects/inside"):
        return  # sample projects, which are data, and programs whose text is part of cache keys
    excepted: set[ast.AST | None] = set()
    for node in module.nodes:
        if isinstance(node, (ast.Tuple, ast.arguments)):
            inner = {name: part for part in ast.walk(node) if (name := _bound_name(part))}
            if {"other", "two"} & inner.keys():
                excepted.add(inner.get("one"))
        elif isinstance(node, ast.ClassDef):  # a field stands beside the others of its class
            excepted |= {statement.target for statement in node.body if isinstance(statement, ast.AnnAssign)}
    for node in module.nodes:
        if _bound_name(node) in EMPTY_NAMES and node not in excepted:
            yield f"{module.path}:{node.lineno} {_bound_name(node)}"


def _bound_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.arg if isinstance(node, ast.arg) else ""


@cache
def grammar_kinds() -> frozenset[str]:
    """The kinds of named nodes of all installed grammars whose names have an underscore.

    A kind of one word (``string``, ``if``) is an ordinary word, which programs write for many reasons.
    """
    kinds = set()
    for module in pkgutil.iter_modules():
        if not module.name.startswith("tree_sitter_"):
            continue
        for name, function in vars(importlib.import_module(module.name)).items():
            if name.startswith("language") and callable(function):
                grammar = tree_sitter.Language(function())
                numbers = range(grammar.node_kind_count)
                kinds |= {grammar.node_kind_for_id(number) for number in numbers if grammar.node_kind_is_named(number)}
    return frozenset(kind for kind in kinds if "_" in kind)


def own_words(modules: Iterable[Module]) -> frozenset[str]:
    """The words of the package's ``Literal`` types: some of its kinds of blocks are called like a grammar's nodes."""
    return frozenset(
        word.value
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal"
        for word in ast.walk(node.slice)
        if isinstance(word, ast.Constant)
    )


def node_kinds_by_hand(module: Module, own: frozenset[str]) -> Iterator[str]:
    """String constants that are node kinds of a grammar.

    In modules that use tree-sitter, all count that are no words of the package; in all modules, those compared with an
    attribute ``type`` do. Elsewhere a word such as ``source_file`` is an option or a label.
    """
    constants = []
    if "tree_sitter" in module.text:
        constants += [node for node in module.nodes if isinstance(node, ast.Constant) and node.value not in own]
    for node in module.nodes:
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "type":
            inner = (part for side in node.comparators for part in ast.walk(side))
            constants += [part for part in inner if isinstance(part, ast.Constant)]
    kinds = {(node.lineno, node.value) for node in constants if isinstance(node.value, str)}
    yield from (f"{module.path}:{line} {kind}" for line, kind in sorted(kinds) if kind in grammar_kinds())


def read(source: Path) -> list[Module]:
    """The modules of the package, without the programs of starter sets."""
    return [
        Module(source, path)
        for path in sorted(source.rglob("*.py"))
        if not any(part.startswith("starter") for part in path.relative_to(source).parent.parts)
    ]


def measure(modules: Collection[Module]) -> Figures:
    """What each figure counts, by the figure's name."""
    figures: Figures = defaultdict(list)
    folders: dict[Path, int] = defaultdict(int)
    classes: dict[str, list[str]] = defaultdict(list)
    modules = list(modules)
    own = own_words(modules)
    for module in modules:
        # the entry point of `python -m` has no content of its own
        folders[module.path.parent] += not module.is_package and module.path.name != "__main__.py"
        if module.path.stem in sys.stdlib_module_names:
            figures["modules named like the standard library's"].append(str(module.path))
        figures["sets of Status by hand"] += statuses_by_hand(module)
        figures["node kinds of a grammar by hand"] += node_kinds_by_hand(module, own)
        for place, function in functions(module):
            passed, why = list(excesses(function)), reason(module, function)
            why = why or (LONG_MODULES.get(module.path, "") if passed else "")
            if why:
                name = "functions with a reason" if passed else "reasons that no function needs"
                figures[name].append(f"{place}: {why}")
            else:
                for name, count in passed:
                    figures[name].append(f"{place}: {count}")
        figures["local names that say nothing"] += empty_names(module)
        for node in module.nodes:
            if isinstance(node, ast.Constant) and node.value == "paper":
                figures['lines with the literal "paper"'].append(f"{module.path}:{node.lineno}")
        for statement in module.tree.body:
            if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
                classes[statement.name].append(str(module.path))
    figures['lines with the literal "paper"'] = sorted({*figures['lines with the literal "paper"']})
    figures['files with the literal "paper"'] = sorted(
        {place.partition(":")[0] for place in figures['lines with the literal "paper"']}
    )
    figures["modules that write node kinds of a grammar"] = sorted(
        {place.partition(":")[0] for place in figures["node kinds of a grammar by hand"]}
    )
    figures[f"folders of more than {MAX_MODULES} modules"] = [
        f"{folder}: {count}"
        for folder, count in sorted(folders.items())
        if count > MAX_MODULES and folder not in LARGE_FOLDERS
    ]
    figures["large folders with a reason"] = [
        f"{folder}: {why}" for folder, why in LARGE_FOLDERS.items() if folders[folder] > MAX_MODULES
    ]
    figures["public class names in several modules"] = [
        f"{name}: {', '.join(paths)}" for name, paths in sorted(classes.items()) if len(paths) > 1
    ]
    figures["modules that fit into their one importer"] = mergeable(modules)
    figures["comments"] = [comment for module in modules for comment in comment_lines(module)]
    figures["imports across wings"] = imports_across_wings(modules)
    figures["groups of modules that import each other"] = [", ".join(group) for group in cycles(modules)]
    return figures


MAX_MODULE_LINES = 500
DIRECTIVES = ("# noqa", "# type:", "# fmt:", "# pragma", "#!")
"""Beginnings of comments that are addressed to a tool."""


def mergeable(modules: Iterable[Module]) -> list[str]:
    """Modules whose one importer lies in the same folder and has room for them: ``MODULE into IMPORTER``."""
    named = {module.name: module for module in modules}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, module in named.items():
        for other in module.imported & named.keys() - {name}:
            importers[other].add(name)
    pairs = []
    for name, module in named.items():
        others = importers[name]
        if module.is_package or len(others) != 1:
            continue
        importer = named[next(iter(others))]
        together = len(module.text.splitlines()) + len(importer.text.splitlines())
        same_folder = importer.path.parent == module.path.parent and not importer.is_package
        if same_folder and together <= MAX_MODULE_LINES:
            pairs.append(f"{module.path} into {importer.path.name}: {together} lines")
    return sorted(pairs)


def comment_lines(module: Module) -> list[str]:
    """Comments on a line of their own, without those for tools."""
    lines = enumerate(module.text.splitlines(), 1)
    own = ((number, line.strip()) for number, line in lines if line.lstrip().startswith("#"))
    return [f"{module.path}:{number} {text}" for number, text in own if not text.startswith(DIRECTIVES)]


def words(folder: Path) -> int:
    """The number of words of all Markdown pages below a folder, as ``wc -w`` counts them."""
    return sum(len(page.read_text().split()) for page in folder.rglob("*.md"))


def run_wing(modules: Iterable[Module]) -> list[Module]:
    """The modules of the run wing that run, generate, score, judge, report, compare and the suites import."""
    named = {module.name: module for module in modules if wing(module.name) == "run"}
    waiting = [f"{PACKAGE}.suites.{name}.suite" for name in SUITES]
    waiting += [
        f"{PACKAGE}.{name}" for name in ("runs.runner", "reports.run_summary", "reports.compare", "inspect.registry")
    ]
    reached: dict[str, Module] = {}
    while waiting:
        name = waiting.pop()
        if name in named and name not in reached:
            reached[name] = named[name]
            waiting += named[name].imported
    return [*reached.values()]


LOADED = """
import sys, time
from caretbench.suites import load_suite
load_suite(sys.argv[1])
print(sum(name.partition(".")[0] == "caretbench" for name in sys.modules), time.process_time())
"""


def print_loads() -> None:
    """Print the modules and the CPU of loading each suite; a first process fills the caches of the interpreter."""
    for number, suite in enumerate((SUITES[0], *SUITES)):
        done = subprocess.run([sys.executable, "-c", LOADED, suite], capture_output=True, text=True, check=True)
        count, seconds = done.stdout.split()
        if number:
            print(f"{int(count):6}  modules and {float(seconds):.2f} s of CPU to load {suite}")  # noqa: T201


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).parents[1] / "src" / PACKAGE
    parser.add_argument("source", nargs="?", type=Path, default=default)
    parser.add_argument("--list", action="store_true", help="name what is counted")
    parser.add_argument("--load", action="store_true", help="load each suite in a fresh process")
    chosen = parser.parse_args()
    modules = read(chosen.source)
    print(f"{sum(len(module.text.splitlines()) for module in modules):6}  lines")  # noqa: T201 - a script
    print(f"{sum(map(lines_of_code, modules)):6}  lines of code")  # noqa: T201
    print(f"{len(modules):6}  modules")  # noqa: T201
    running = run_wing(modules)
    print(f"{sum(len(module.text.splitlines()) for module in running):6}  lines of the run wing")  # noqa: T201
    print(f"{len(running):6}  modules of the run wing")  # noqa: T201
    for name, entries in measure(modules).items():
        print(f"{len(entries):6}  {name}")  # noqa: T201
        if chosen.list:
            print(*(f"        {entry}" for entry in entries), sep="\n")  # noqa: T201
    docs = chosen.source.parents[1] / "docs"
    print(f"{words(docs):6}  words of docs/")  # noqa: T201
    if chosen.load:
        print_loads()


if __name__ == "__main__":
    main()
