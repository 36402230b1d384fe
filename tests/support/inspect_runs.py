"""Evaluations of our tasks without a network: a model that answers by problem and epoch."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

from caretbench.inspect import evaluate

Answer = Callable[[str, int], str]
"""From a problem's id and the epoch to the model's text."""


def answering(answer: Answer) -> Model:
    """A model that knows by the message's metadata what it is asked."""

    def outputs(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        stamp = messages[-1].metadata
        output = ModelOutput.from_content("mockllm/model", answer(stamp["sample_id"], stamp["epoch"]))
        output.usage = ModelUsage(input_tokens=100, output_tokens=7, total_tokens=107)
        return output

    return get_model("mockllm/model", custom_outputs=outputs, memoize=False)


def run(task: Task, model: Model, folder: Path, **options: Any) -> EvalLog:
    """An evaluation whose log stands in ``folder``; an error of the evaluation is one of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Inspect leaves streams of its own open, and uses what is deprecated
        log = evaluate(task, model, log_dir=str(folder), display="none", **options)
        gc.collect()
    assert log.status == "success", log.error
    return log


def numbers(log: EvalLog) -> dict[str, float]:
    """The metrics of the only scorer by name."""
    assert log.results is not None
    (score,) = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}
