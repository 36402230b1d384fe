"""Gates of programs and of projects refuse a reference that does what is forbidden, by what the sandbox sees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from caretbench.build import load_builder
from caretbench.build.validation.forbidden_access import forbidden_access
from caretbench.build.validation.program_gate import ProgramGate
from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.extraction.policies import get_policy
from caretbench.problem import Caret, FileSplice, Problem, Provenance, TestsCheck
from caretbench.suites.validity import Validity
from tests.support.make_problem import make_problem

BODIES = {
    "connects": "    import socket\n    try:\n        socket.create_connection(('10.1.2.3', 80), 1)\n"
    "    except OSError:\n        return 2 * x\n",
    "reads": "    with open('/etc/hostname') as file:\n        file.read()\n    return 2 * x\n",
    "inspects": "    import inspect\n    assert 'return' in inspect.getsource(double)\n    return 2 * x\n",
    "writes": "    with open('/tmp/log', 'w') as file:\n        file.write('etc')\n    return 2 * x\n",
}
REASONS = {
    "connects": "forbidden: it connects to 10.1.2.3, port 80",
    "reads": "forbidden: it reads /etc/hostname",
    "inspects": "forbidden: it reads its own source",
}


def verdicts(sandbox: Sandbox, tmp_path: Path, *, refuses: bool = True) -> Mapping[str, Validity]:
    problems = [make_problem(f"python/low_context/{name}", reference=body) for name, body in BODIES.items()]
    executor = LocalExecutor(2, use_cache=False, sandbox=sandbox)
    gate = load_builder("devbench").gate(lambda: Dispatcher(executor), lambda _count: None)
    assert isinstance(gate, ProgramGate)
    gate.refuses_accesses = refuses
    return {row.problem_id.rpartition("/")[2]: row for row in gate.run(problems, tmp_path / "verdicts.jsonl")}


def open_sandbox(level: str | None) -> Sandbox:
    sandbox = Sandbox(level=level) if level else Sandbox()  # type: ignore[arg-type]
    try:
        if sandbox.probe().level != (level or "namespaces"):
            pytest.skip("only namespaces show what a program opens")
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    return sandbox


def test_the_gate_for_programs_refuses_what_it_sees(tmp_path: Path) -> None:
    rows = verdicts(open_sandbox(None), tmp_path)
    forbidden = {name: [one for one in row.reasons if one.startswith("forbidden")] for name, row in rows.items()}
    assert forbidden == {name: [REASONS[name]] if name in REASONS else [] for name in BODIES}
    assert (rows["reads"].verdict, rows["writes"].verdict) == ("invalid", "valid")
    seen = {name: f"forbidden: it {row.details['accesses']}" for name, row in rows.items() if "accesses" in row.details}
    assert seen == REASONS
    released = verdicts(open_sandbox(None), tmp_path / "released", refuses=False)
    assert (released["reads"].verdict, released["reads"].details["accesses"]) == ("valid", "reads /etc/hostname")


def test_what_cannot_be_seen_has_a_label(tmp_path: Path) -> None:
    rows = verdicts(open_sandbox("landlock"), tmp_path)
    assert {row.details["accesses"] for row in rows.values()} == {"unseen"}
    assert not any("forbidden" in reason for row in rows.values() for reason in row.reasons)


def project_problem(name: str, body: str, snapshot: str, source: str) -> Problem:
    start = source.index(body)
    check = TestsCheck(command=("python3", "-m", "unittest", f"test_{name}"), reference_s=0.1)
    return Problem(
        id=name,
        suite="simcopilot",
        shown=Caret(language="python", prefix=source[:start], suffix=source[start + len(body) :], path=f"{name}.py"),
        splice=FileSplice(snapshot=snapshot, path=f"{name}.py", start=start, end=start + len(body)),
        reference=body,
        checks=(check,),
        labels={"mode": "infill", "language": "python"},
        cluster=name,
        provenance=Provenance(source="p"),
    )


def test_the_gate_for_projects_refuses_by_the_tests_that_decide(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    if engine.workspace_runner.sandbox.level != "namespaces":
        pytest.skip("only namespaces show what a program opens")
    sources = {name: f"def double(x):\n{body}" for name, body in BODIES.items() if name != "inspects"}
    for name, text in sources.items():
        (tmp_path / f"{name}.py").write_text(text)
        (tmp_path / f"test_{name}.py").write_text(
            f"import unittest\nimport {name}\n\n\nclass Test(unittest.TestCase):\n    def test_it(self):\n"
            f"        self.assertEqual({name}.double(2), 4)\n"
        )
    store = engine.workspace_runner.store
    snapshot = store.add(tmp_path).id
    problems = [project_problem(name, BODIES[name][4:-1], snapshot, text) for name, text in sources.items()]
    rows = {row.problem_id: row for row in WorkspaceGate(engine, get_policy("block"), store=store).decide(problems)}
    assert {name: row.reasons for name, row in rows.items()} == {
        "connects": (REASONS["connects"],), "reads": (REASONS["reads"],), "writes": ()
    }  # fmt: skip
    assert (rows["writes"].verdict, "accesses" in rows["writes"].details) == ("valid", False)


def test_an_access_counts_where_the_text_names_it() -> None:
    check = ("reads /etc/localtime", "writes /var/log/app.log")
    assert forbidden_access("open('/var/log/app.log', 'a')", "python", check) == "writes /var/log/app.log"
    assert forbidden_access("import time", "python", check) == ""
    assert forbidden_access("import time", "python", None) == "unseen"
