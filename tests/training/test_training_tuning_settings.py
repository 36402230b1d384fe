"""Settings, refusals and the loss curve of a tuning: what needs no torch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from caretbench.errors import MachineError, UsageError
from caretbench.training.tuning import base_weights, tuning
from scripts import train_env
from tests.support import tiny_model
from tests.support.command_run import in_this_process


def test_a_preset_has_the_values_of_the_paper_and_belongs_to_its_method() -> None:
    paper = tuning.chosen_settings("c3-sft", "full", {"steps": 7, "seed": None})
    assert (paper.learning_rate, paper.warmup, paper.batch * paper.accumulate) == (3e-5, 50, 1024)
    assert (paper.max_tokens, paper.steps, paper.seed) == (4096, 7, 0)
    assert tuning.chosen_settings(None, "lora", {}).learning_rate == 2e-4
    assert tuning.chosen_settings(None, "full", {}).learning_rate == 3e-5
    with pytest.raises(UsageError, match="--preset c3-sft"):
        tuning.chosen_settings("c3-sft", "lora", {})


def test_pairs_need_the_report_of_their_decontamination(tmp_path: Path) -> None:
    pairs = tiny_model.write_pairs(tmp_path / "pairs", tiny_model.pairs(2, 0))
    tuning.check_decontaminated(pairs)
    with (pairs / "pairs.jsonl").open("ab") as stream:
        stream.write(b"\n")
    with pytest.raises(UsageError, match="its decontamination"):
        tuning.check_decontaminated(pairs)
    bare = tiny_model.write_pairs(tmp_path / "bare", tiny_model.pairs(2, 0), report=False)
    told = in_this_process("sft", "train", str(bare), "--model", "smollm2", "-o", str(tmp_path / "tuned"))
    assert told.returncode == 2
    assert "--not-decontaminated" in told.stderr


def test_missing_packages_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_weights, "find_spec", lambda name: None if name in ("torch", "peft") else name)
    with pytest.raises(MachineError, match=r"torch, peft: .*'caretbench\[local,train\]'.*train-env"):
        base_weights.check_packages_for_tuning()


def test_a_curve_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    curve = tuning.LossCurve(tmp_path)
    curve.begin(0)
    for step in range(1, 8):
        curve.add(step, loss=8.0 - step)
    curve.add(7, held_out=2.5)
    with (tmp_path / "loss.jsonl").open("a") as stream:
        stream.write('{"step": 8, "lo')  # torn by a kill
    again = tuning.LossCurve(tmp_path)
    again.begin(5)
    again.add(6, loss=1.9)
    assert tuning.LossCurve(tmp_path).values("loss") == [7.0, 6.0, 5.0, 4.0, 3.0, 1.9]
    assert again.values("held_out") == []
    assert again.line() == "loss 7.000 █▇▅▄▃▁ 1.900"
    again.draw()
    assert (tmp_path / "loss.svg").read_text().startswith("<svg")
    # Without a checkpoint it begins anew.
    again.begin(0)
    assert again.line() == "no step"


def test_a_cuda_build_of_torch_stops_the_environment() -> None:
    def report(*names: str) -> dict[str, list[dict[str, dict[str, str]]]]:
        return {"install": [{"metadata": {"name": name, "version": "1"}} for name in names]}

    assert train_env.planned_packages(report("torch", "peft")) == ["peft 1", "torch 1"]
    with pytest.raises(SystemExit, match=r"1 packages .*\(nvidia-cublas 1"):
        train_env.planned_packages(report("torch", "nvidia-cublas"))


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="the environment for training has torch")
def test_set_up_brings_no_torch() -> None:
    assert importlib.util.find_spec("transformers") is None
