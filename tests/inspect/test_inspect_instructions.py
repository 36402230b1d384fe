"""The mode of instruction in Inspect's tasks: the same prompts and hashes as in a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from caretbench.inspect.tasks.inspect_logs import InspectLog
from caretbench.inspect.tasks.suite_tasks import inspect_task
from tests.support.inspect_runs import answering, run
from tests.support.instructed import LOOP, instructed_suite, variants


def test_a_task_asks_in_one_mode(tmp_path: Path) -> None:
    with instructed_suite() as suite:
        instructed = inspect_task("instructed")
        data = suite.load("1")
        model = answering(lambda _identity, _epoch: variants(0)[LOOP])
        parameters, shown = {}, {}
        for mode in (None, "shown", "none", "comment"):
            task = instructed(data="1", select="id=f00/loop", prompt="left-to-right", instruction=mode, execute=False)
            log = run(task, model, tmp_path / str(mode))
            [sample] = read_eval_log(log.location).samples or []
            [shown[mode]] = [message.text for message in sample.messages if message.role == "user"]
            rows = InspectLog(Path(log.location), "instructed", data.hash)
            [row] = rows.completions({"f00/loop"})
            [info] = rows.models.values()
            assert info.settings.get("instruction") == (f"{mode}@1" if mode in ("none", "comment") else None)
            parameters[mode] = row.parameters
        assert parameters[None] == parameters["shown"]
        assert len({parameters[mode] for mode in ("shown", "none", "comment")}) == 3
        assert shown["shown"] == f"# {LOOP}\ndef total_0(values):"
        assert shown["none"] == "def total_0(values):"
        assert shown["comment"] == f"def total_0(values):\n    # {LOOP}"


@pytest.mark.smoke
def test_several_modes_and_problems_without_instruction_are_refused() -> None:
    with instructed_suite():
        with pytest.raises(ValueError, match="one mode"):
            inspect_task("instructed")(instruction=["none", "comment"])
        with pytest.raises(ValueError, match=r"instruction=none: .*devbench"):
            inspect_task("devbench")(instruction="none", execute=False)
