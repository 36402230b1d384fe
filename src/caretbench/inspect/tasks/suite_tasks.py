"""Evaluation from Python, with the options under which Inspect has the least overhead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.viewer import (
    SampleScoreView,
    ScoreColorScale,
    TaskSamplesColumn,
    TaskSamplesSort,
    TaskSamplesView,
    ViewerConfig,
)

from caretbench.errors import UsageError
from caretbench.inspect.tasks.scorer import PASSED, caret
from caretbench.inspect.tasks.solver import ask
from caretbench.options import Option, StringList
from caretbench.problem import Question
from caretbench.prompts.instructions import has_instruction, instruction_fault
from caretbench.runs.plans.config import RunConfig, config_from_options
from caretbench.runs.plans.options import OPTIONS, OPTIONS_BY_NAME
from caretbench.runs.plans.roles import NamedModel

if TYPE_CHECKING:
    from caretbench.models import ModelClient
    from caretbench.problem import Problem
    from caretbench.prompts.instructions import AskingMode


_SCORER = "caret"


def inspect_task(name: str) -> Callable[..., Task]:
    """Return the Inspect task of a suite. Its parameters are the options of a run that Inspect itself lacks."""

    def made(**options: Any) -> Task:
        return _task(name, options)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"The suite {name} as a task; its parameters are in docs/reference/inspect.md."
    parameters = [_parameter(option) for option in OPTIONS if option.in_inspect]
    made.__signature__ = inspect.Signature(parameters, return_annotation=Task)  # type: ignore[attr-defined] # read by Inspect
    made.__annotations__ = {entry.name: entry.annotation for entry in parameters} | {"return": Task}
    return cast("Callable[..., Task]", task(name=name)(made))


def _parameter(option: Option) -> inspect.Parameter:
    # Inspect's command line makes a list of what holds commas, and a number of what looks like one.
    kind: Any = str | list[str] if option.value_type in (str, StringList) else option.value_type
    if option.name in ("temperature", "top_p"):
        kind = float | str
    if option.default is None:
        kind = kind | None
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=kind)


def _config(suite: str, parameters: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a task's parameters, without models, which Inspect has."""
    options: dict[str, Any] = {}
    for name, value in parameters.items():
        if OPTIONS_BY_NAME[name].value_type is StringList:
            options[name] = [value] if isinstance(value, str) else value
        else:
            options[name] = ",".join(map(str, value)) if isinstance(value, list) else value
    if len(options.get("policy") or ()) > 1:
        raise UsageError(
            "a task scores under one policy; score its log under others: caretbench score SUITE --completions LOG"
        )
    config = config_from_options(suite, options, models=[NamedModel("model", "inspect/model")])
    # One log has one solver; two modes would be two series under one name.
    if len(config.models[0].instruction or ()) > 1:
        raise UsageError("a task asks in one mode of instruction; make a task for each mode")
    return config


def _task(suite: str, parameters: Mapping[str, Any]) -> Task:
    """Return a suite as a task.

    Raises:
        UsageError: an option is wrong, or the suite knows no such context; an unknown suite, policy or preset.
        DataError: the data are wrong.
    """
    from caretbench.inspect.tasks.answer_scorer import answer_scorer
    from caretbench.runs.plans.plan import model_plans
    from caretbench.runs.plans.suite_settings import parse_variants
    from caretbench.suites.suite_contexts import suite_context

    config = _config(suite, parameters)
    (suite_config,), (model_plan,) = config.suites, model_plans(config)
    scored: dict[str, Any] = {
        "policy": suite_config.policy if isinstance(suite_config.policy, str | None) else suite_config.policy[0],
        "profile": suite_config.profile, "variants": parse_variants(suite_config.variants),
        "execute": config.execute, "workers": config.workers, "use_cache": config.cache,
    }  # fmt: skip
    data, prompt, sampling = suite_config.data, model_plan.prompt or "auto", model_plan.sampling
    suite_scorer = answer_scorer(suite, data, **scored)
    selection = suite_config.selection
    problems = selection.apply(suite_scorer.suite, suite_scorer.data.problems)
    shown = suite_context([suite_scorer.suite], model_plan.context)
    suite_scorer.check()
    if model_plan.instruction is not None and not any(map(has_instruction, problems)):
        raise UsageError(f"instruction={model_plan.instruction}: the problems of {suite} have no instruction")
    _refuse_unknown_format(prompt, model_plan.instruction, problems, questions=suite_scorer.asks_questions)
    samples = [_sample(problem) for problem in problems]
    return Task(
        dataset=MemoryDataset(samples, name=f"{suite}/{suite_scorer.data.name}"),
        solver=ask(
            suite, data,
            {
                "prompt": prompt, "context": model_plan.context, "instruction": model_plan.instruction,
                "prompt_tokens": model_plan.prompt_tokens, "max_tokens": sampling.max_tokens,
            },
            sampling.seed, scored,
        ),
        scorer=caret(suite, data, **scored),
        config=GenerateConfig(
            max_tokens=sampling.max_tokens, temperature=sampling.temperature, top_p=sampling.top_p
        ),
        epochs=Epochs(model_plan.samples),
        # A sample that did not come lowers the coverage, as a row of errors.jsonl does.
        fail_on_error=False,
        score_on_error=True,
        version=1,
        metadata={
            "suite": suite, "data": suite_scorer.data.name, "data_hash": suite_scorer.data.hash,
            "policy": suite_scorer.policy.key, "profile": suite_scorer.profile, "seed": sampling.seed,
            "context": shown.key if shown is not None else None,
            "instruction": model_plan.instruction,
        },
        viewer=_viewer(suite_scorer.similarity_names),
        description=suite_scorer.suite.about,
    )  # fmt: skip


def _refuse_unknown_format(
    prompt: str, mode: AskingMode | None, problems: Sequence[Problem], *, questions: bool
) -> None:
    """Refuse a model without the required prompt format at once, not once for each sample."""
    from caretbench.inspect.client.provider_facts import ModelFacts
    from caretbench.prompts import choose

    try:
        model = get_model()
    except ValueError:
        # No model yet: the task is only looked at.
        return
    client = cast("ModelClient", ModelFacts(model))
    if fault := instruction_fault(choose(client, prompt, questions=questions), client, mode, problems):
        raise UsageError(fault)


def _sample(problem: Problem) -> Sample:
    """Return a sample for readers of the log; the prompt is rendered when it is sent."""
    shown = problem.shown
    labels = {name: problem.label(name) for name in problem.labels}
    if isinstance(shown, Question):
        text = "\n\n".join((shown.text, *(f"{file.path}\n{file.text}" for file in shown.context)))
        choices = list(shown.choices) or None
        return Sample(id=problem.id, input=text, choices=choices, target=problem.reference, metadata=labels)
    return Sample(
        id=problem.id, input=shown.prefix, target=problem.reference, metadata=labels | {"suffix": shown.suffix}
    )


def _viewer(similarities: Sequence[str]) -> ViewerConfig:
    """Return the viewer's settings: verdict and similarities next to each sample; answers as plain text."""
    columns = [TaskSamplesColumn(id=name) for name in ("sampleStatus", "sampleId", "epoch", "answer")]
    columns += [TaskSamplesColumn.score(_SCORER, name) for name in (PASSED, *similarities)]
    columns += [TaskSamplesColumn(id=name, visible=False) for name in ("input", "target", "tokens", "duration")]
    similar = ScoreColorScale(palette="good-high", min=0, max=1)
    return ViewerConfig(
        # Answers are texts of models: as Markdown they could load images from anywhere.
        trust_content=False,
        sample_score_view=SampleScoreView(default="grid"),
        task_samples_view=TaskSamplesView(
            name="Completions",
            columns=columns,
            sort=[TaskSamplesSort(column="sampleId"), TaskSamplesSort(column="epoch")],
            multiline=False,
            score_color_scales=dict.fromkeys((PASSED, *similarities), similar),
        ),
    )
