from __future__ import annotations

import pytest

from caretbench.build.sources.github.repository_contents import heavy_needs, needed_packages

PYPROJECT = """[project]
dependencies = ["Torch>=2", "scikit_learn[extra] ~= 1.0"]
[tool.poetry.dependencies]
python = "^3.9"
ray = "*"
"""
MANY = "\n".join(f"package{number}>=1" for number in range(26))


@pytest.mark.parametrize(
    ("readme", "paths", "needs", "reasons"),
    [
        ("# A parser\nRun `pytest`. It needs Python 3.9.", ["lib.py"], {"requirements.txt": "attrs\n# torch\n"}, ()),
        ("You need CUDA 12.", [], {}, ("needs a graphics card (README: CUDA)",)),
        ("No GPU, no CUDA.\n\nIt works without Docker Compose.", [], {}, ()),
        ("It does not cache. You need CUDA.", [], {}, ("needs a graphics card (README: CUDA)",)),
        ("- not slow\n- needs nvidia drivers", [], {}, ("needs a graphics card (README: nvidia)",)),
        ("Set OPENAI_API_KEY first", [], {}, ("needs a key of a service (README: OPENAI_API_KEY)",)),
        ("Start a local Redis, then test", [], {}, ("needs a database or a broker (README: Start a local Redis)",)),
        ("A client for Redis", [], {}, ()),
        ("", ["src/kernel.cu", "deploy/docker-compose.yml"], {},
         ("needs a graphics card (src/kernel.cu)", "needs containers (deploy/docker-compose.yml)")),
        ("", [], {"pyproject.toml": PYPROJECT}, ("needs large packages (ray, torch)",)),
        ("", [], {"requirements.txt": MANY}, ("needs many packages (26)",)),
        ("", [], {"requirements.txt": "x @ git+https://host/x\n"},
         ("needs code that is not in a package index (requirements.txt: git+https://)",)),
        ("", [], {"package.json": '{"devDependencies": {"Playwright": "1"}}'}, ("needs large packages (playwright)",)),
        ("", [], {"package.json": "[", "pyproject.toml": "a = ", "requirements.txt": "\0"}, ()),
    ],
)  # fmt: skip
def test_signs_of_heavy_needs_are_named(
    readme: str, paths: list[str], needs: dict[str, str], reasons: tuple[str, ...]
) -> None:
    assert heavy_needs(readme, paths, needs) == reasons


@pytest.mark.parametrize(
    ("name", "text", "own"),
    [
        ("pyproject.toml", PYPROJECT, {"torch", "scikit-learn", "ray"}),
        ("pyproject.toml", "[project]\ndependencies = 3\n", set()),
        ("pyproject.toml", "project = 3\n", set()),
        ("requirements.txt", "-r more.txt\n--index-url https://x\ngit+https://x/y\na.b_c==1 # no\ntorch @ https://x\n",
         {"a-b-c", "torch"}),
        ("package.json", '{"dependencies": {"Left-Pad": "1"}}', {"left-pad"}),
        ("package.json", '{"dependencies": []}', set()),
    ],
)  # fmt: skip
def test_packages_are_read_from_the_files_that_list_them(name: str, text: str, own: set[str]) -> None:
    assert needed_packages(name, text).own == own


def test_long_texts_of_one_kind_take_no_time() -> None:
    for text in ("\n" * 300_000, "a" * 300_000, "\n -" * 100_000, ". " * 200_000, "api" * 100_000, " \n" * 150_000):
        assert heavy_needs(text, [], {"requirements.txt": text}) == ()
