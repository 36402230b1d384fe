"""The solver: renders the problem as this model is asked rightly, and asks once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from inspect_ai.solver import Generate, Solver, TaskState, solver

from caretbench.inspect.client import first_token
from caretbench.inspect.client.exchange import refusal_of
from caretbench.inspect.client.waiting import computed

if TYPE_CHECKING:
    from inspect_ai.model import Model

    from caretbench.models import ModelClient
    from caretbench.runs.asking import Asking

STAMP = "caretbench"
"""The name in a sample's metadata under which it stands how it was asked, and whether it was answered."""


@solver
def ask(
    suite: str,
    data: str,
    prompt: str,
    context: str | None,
    prompt_tokens: int | None,
    max_tokens: int,
    seed: int | None,
    scored: dict[str, Any],
) -> Solver:
    """Ask the model at the problem's caret.

    Args:
        suite: The suite's name.
        data: Its problems.
        prompt: The prompt strategy; ``auto`` chooses by the model.
        context: What else of a project is shown, where the suite offers that.
        prompt_tokens: Maximum number of tokens of a prompt.
        max_tokens: Room that the answer needs in addition to the prompt.
        seed: The first sample's seed; each further one's is one higher.
        scored: Parameters of the scorer, whose references start to run meanwhile.
    """
    askings: dict[Model, Asking] = {}  # a model's vocabulary is read once

    def asking_of(model: Model, *, questions: bool) -> Asking:
        from caretbench.inspect.tasks.facts import ModelFacts
        from caretbench.models import Sampling
        from caretbench.prompts import choose
        from caretbench.runs.asking import Asking
        from caretbench.suites import suite as find_suite
        from caretbench.suites.showing import showing

        if model not in askings:
            client = cast("ModelClient", ModelFacts(model))
            askings[model] = Asking(
                name=client.name,
                client=client,
                strategy=choose(client, prompt, questions=questions),
                sampling=Sampling(max_tokens=max_tokens),
                context=showing([find_suite(suite)], context),
                prompt_tokens=prompt_tokens,
            )
        return askings[model]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        from inspect_ai.model import get_model

        from caretbench.inspect.client.messages import ended, messages_of
        from caretbench.inspect.tasks.bench import bench
        from caretbench.inspect.tasks.facts import ModelFacts

        house = bench(suite, data, **scored)
        problem = house.problem(str(state.sample_id))
        house.golden(problem)  # runs while the model thinks
        model = get_model()
        asking = await computed(lambda: asking_of(model, questions=house.asks_questions))
        (wanted,) = await computed(lambda: list(asking.wanted([problem], {})))
        stamp: dict[str, Any] = {
            "suite": suite,
            "data": data,
            "prompt": asking.strategy.key,
            "budget": asking.settings["budget"],
            "client": asking.settings["client"],
            **{name: asking.settings[name] for name in ("context",) if name in asking.settings},
        }
        state.metadata[STAMP] = stamp
        if wanted.prompt is None:
            stamp |= {"missing": "unpromptable", "message": wanted.fault}
            state.completed = True
            return state
        state.messages = messages_of(wanted.prompt)
        last = state.messages[-1]
        # A provider sees messages, not samples; this also keeps the samples of a problem apart in Inspect's cache.
        last.metadata = (last.metadata or {}) | {"sample_id": problem.id, "epoch": state.epoch}
        stop, limit = wanted.prompt.stop, ModelFacts(model).stop_texts
        chosen: dict[str, Any] = {"stop_seqs": list(stop[:limit])} if stop else {}
        chosen |= first_token.settings(wanted.prompt)
        if seed is not None:
            chosen["seed"] = seed + state.epoch - 1
        state = await generate(state, tool_calls="none", **chosen)
        output = state.output
        if limit is not None and output.choices:  # the request had no room for the others
            output.message.content = output.completion = ended(output.completion, stop[limit:])
        refusal = refusal_of(output, output.stop_reason, output.completion)
        if refusal is None and output.choices and (letters := first_token.letters_of(wanted.prompt)):
            told = first_token.told_of(output.choices[0], letters)
            refusal = first_token.UNTOLD if told is None else None
            if told:
                output.message.content = output.completion = first_token.likeliest(told)
                output.choices[0].stop_reason = "stop"
        state.metadata[STAMP] = stamp | (
            {"answered": True} if refusal is None else {"missing": "refused", "message": refusal}
        )
        return state

    return solve
