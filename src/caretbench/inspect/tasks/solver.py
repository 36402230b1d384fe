"""Solver: renders the problem in the form that the model needs, and asks once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from inspect_ai.solver import Generate, Solver, TaskState, solver

from caretbench.inspect.client.background_loop import run_in_thread
from caretbench.inspect.client.messages import (
    UNTOLD,
    cut_at_stop,
    first_token_settings,
    letter_probabilities,
    letters_of,
    likeliest_letter,
    messages_of,
)
from caretbench.inspect.client.model_caller import refusal_of

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput

    from caretbench.models import ModelClient, Prompt
    from caretbench.runs.generate import ModelUnderTest

STAMP = "caretbench"
"""Name in a sample's metadata of the record of how it was asked, and whether it was answered."""


@solver
def ask(suite: str, data: str, asked: dict[str, Any], seed: int | None, scored: dict[str, Any]) -> Solver:
    """Return the solver: renders the problem's prompt for the model and sends it once.

    Args:
        suite: The suite's name.
        data: Its problems.
        asked: ``prompt``, the strategy (``auto`` chooses by the model); ``context``, additional project context, if the
            suite offers it; ``instruction``, its placement; ``prompt_tokens``, the maximum of a prompt;
            ``max_tokens``, the room that the answer needs in addition.
        seed: The first sample's seed; each further one's is one higher.
        scored: Parameters of the scorer, whose references start to run meanwhile.
    """
    # A model's vocabulary is read once, and not for each sample.
    tested_models: dict[Model, ModelUnderTest] = {}

    def model_under_test(model: Model, *, questions: bool) -> ModelUnderTest:
        if model not in tested_models:
            tested_models[model] = _model_under_test(model, suite, asked, questions=questions)
        return tested_models[model]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        from inspect_ai.model import get_model

        from caretbench.inspect.client.provider_facts import ModelFacts
        from caretbench.inspect.tasks.answer_scorer import answer_scorer
        from caretbench.runs.generate import CHOSEN_SETTINGS

        suite_scorer = answer_scorer(suite, data, **scored)
        problem = suite_scorer.problem(str(state.sample_id))
        # It runs while the model thinks; its verdict is needed before the answer's.
        suite_scorer.reference(problem)
        model = get_model()
        tested_model = await run_in_thread(lambda: model_under_test(model, questions=suite_scorer.asks_questions))
        (pending,) = await run_in_thread(lambda: list(tested_model.pending_samples([problem], {})))
        names = ("budget", "client", *(name for name in CHOSEN_SETTINGS if name in tested_model.settings))
        stamp: dict[str, Any] = {
            "suite": suite,
            "data": data,
            "prompt": tested_model.strategy.key,
            **{name: tested_model.settings[name] for name in names},
        }
        state.metadata[STAMP] = stamp
        if pending.prompt is None:
            stamp |= {"missing": "unpromptable", "message": pending.fault}
            state.completed = True
            return state
        state.messages = messages_of(pending.prompt)
        last = state.messages[-1]
        # A provider sees messages, not samples; this also keeps the samples of a problem apart in Inspect's cache.
        last.metadata = (last.metadata or {}) | {"sample_id": problem.id, "epoch": state.epoch}
        limit = ModelFacts(model).stop_texts
        chosen = _settings(pending.prompt, limit, None if seed is None else seed + state.epoch - 1)
        state = await generate(state, tool_calls="none", **chosen)
        refusal = _finish_answer(state.output, pending.prompt, limit)
        state.metadata[STAMP] = stamp | (
            {"answered": True} if refusal is None else {"missing": "refused", "message": refusal}
        )
        return state

    return solve


def _model_under_test(model: Model, suite: str, asked: Mapping[str, Any], *, questions: bool) -> ModelUnderTest:
    """Return the request settings of this model."""
    from caretbench.inspect.client.provider_facts import ModelFacts
    from caretbench.models import Sampling
    from caretbench.prompts import choose
    from caretbench.prompts.instructions import instruction_placement
    from caretbench.runs.generate import ModelUnderTest
    from caretbench.suites import load_suite as find_suite
    from caretbench.suites.suite_contexts import suite_context

    client = cast("ModelClient", ModelFacts(model))
    return ModelUnderTest(
        name=client.name,
        client=client,
        strategy=choose(client, asked["prompt"], questions=questions),
        sampling=Sampling(max_tokens=asked["max_tokens"]),
        context=suite_context([find_suite(suite)], asked["context"]),
        instruction=instruction_placement(asked["instruction"]),
        prompt_tokens=asked["prompt_tokens"],
    )


def _settings(prompt: Prompt, limit: int | None, seed: int | None) -> dict[str, Any]:
    """Return the settings of a request, in addition to the task's: at most ``limit`` texts at which the answer ends."""
    chosen: dict[str, Any] = {"stop_seqs": list(prompt.stop[:limit])} if prompt.stop else {}
    chosen |= first_token_settings(prompt)
    return chosen if seed is None else chosen | {"seed": seed}


def _finish_answer(output: ModelOutput, prompt: Prompt, limit: int | None) -> str | None:
    """Finish an answer as the prompt requires; return why there is none."""
    # The request had no room for the other texts at which the answer ends.
    if limit is not None and output.choices:
        output.message.content = output.completion = cut_at_stop(output.completion, prompt.stop[limit:])
    from caretbench.models import TextPrompt

    if isinstance(prompt, TextPrompt) and prompt.blanks and output.choices:
        output.message.content = output.completion = prompt.at_caret(output.completion)
    refusal = refusal_of(output, output.stop_reason, output.completion)
    letters = letters_of(prompt)
    if refusal is None and output.choices and letters:
        told = letter_probabilities(output.choices[0], letters)
        if told is None:
            return UNTOLD
        if told:
            output.message.content = output.completion = likeliest_letter(told)
            output.choices[0].stop_reason = "stop"
    return refusal
