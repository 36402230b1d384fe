"""Settings of the documentation site: `make site` builds it into `docs/_build/html`, with warnings as errors."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

project = "CaretBench"
author = "The CaretBench authors"
version = release = installed_version("caretbench")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

myst_heading_anchors = 4  # pages link to headings by GitHub's rule

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True

html_theme = "furo"
html_title = f"CaretBench {release}"
html_show_copyright = False
html_copy_source = False

_ROOT = Path(__file__).parents[1]
_ROOT_PAGES = {"README": "start", "CONTRIBUTING": "contributing", "SECURITY": "security", "CHANGELOG": "changelog"}
"""Pages of the repository's root, and the pages of `project/` that the site has for them."""


def _site_links(_app: Any, name: str, source: list[str]) -> None:
    """Give pages of `project/` the text of the root's pages, and lead all links to pages of the site."""
    root_page = next((page for page, own in _ROOT_PAGES.items() if name == f"project/{own}"), None)
    if root_page is not None:
        text = (_ROOT / f"{root_page}.md").read_text("utf-8").replace("](docs/", "](../")
        outside = ""
    else:
        text, outside = source[0], "../" * (name.count("/") + 1)
    pages = "" if root_page is not None else "../" * name.count("/") + "project/"

    def lead(match: re.Match[str]) -> str:
        return f"]({pages}{_ROOT_PAGES[match['page']]}.md"

    text = re.sub(rf"\]\({re.escape(outside)}(?P<page>{'|'.join(_ROOT_PAGES)})\.md", lead, text)
    source[0] = text.replace(f"]({outside}LICENSE)", f"]({'../' * (name.count('/') + 1)}LICENSE)")


def _script_output(name: str) -> str:
    # A process of its own: autodoc leaves modules that it imported with TYPE_CHECKING set, on which pydantic fails.
    command = [sys.executable, "-m", f"scripts.{name}"]
    return subprocess.check_output(command, cwd=_ROOT, env={**os.environ, "NO_COLOR": "1"}, text=True)


def _profile_rules(_app: Any, name: str, source: list[str]) -> None:
    """Give the page of profiles the rules of the code."""
    if name == "reference/profiles":
        source[0] += f"\n{_script_output('profile_sections')}"


def _verb_options(_app: Any, name: str, source: list[str]) -> None:
    """Give each section of the page of verbs the help of its commands: a copy in the page would grow old."""
    if name != "reference/verbs":
        return
    texts = json.loads(_script_output("command_helps"))
    head, *sections = re.split(r"(?m)^(?=## )", source[0])
    parts = [(head, ""), *((section, section.split()[1]) for section in sections)]
    source[0] = "\n".join(
        part for section, verb in parts for part in (section, *(f"```text\n{text}\n```\n" for text in texts[verb]))
    )


def setup(app: Any) -> None:
    """Register the hooks of this site."""
    app.connect("source-read", _site_links)
    app.connect("source-read", _verb_options)
    app.connect("source-read", _profile_rules)
