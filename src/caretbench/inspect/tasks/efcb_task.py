"""EFCB as an Inspect task: ``inspect eval caretbench/efcb -T data=tasks/``."""

from __future__ import annotations

from inspect_ai import Task, task

from caretbench.inspect.tasks.suite_tasks import joined, suite_task


@task
def efcb(
    data: str = "starter",
    prompt: str = "auto",
    profile: str = "default",
    preset: str | None = None,
    samples: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    select: str | list[str] | None = None,
    limit_per_cell: int | None = None,
    prompt_tokens: int | None = None,
) -> Task:
    """EFCB: questions about merged changes. Choices are right or wrong; of open answers only measures are given.

    Nothing is run, and no judge is asked: ``caretbench score efcb --completions LOG`` makes a run of the log, and
    ``caretbench judge`` has what has no right letter judged, which the EFCB score needs.

    Args:
        data: The problems: starter, or the folder that ``caretbench build efcb`` wrote.
        prompt: How questions are asked: question (a conversation) or question-text; auto chooses by the model.
        profile: How answers are read: default or paper.
        preset: A named sampling; the options beside it win over it.
        samples: Answers of each problem (epochs).
        temperature: Of the sampling.
        top_p: Of the sampling.
        max_tokens: Of each answer; never left to a provider.
        seed: The first sample's seed; each further one's is one higher.
        select: Only problems with these labels: task=gmcq-easy,tier=matched (| between values).
        limit_per_cell: Only the first N problems of every cell.
        prompt_tokens: At most so many tokens of prompt.
    """
    return suite_task(
        "efcb",
        data=data,
        prompt=prompt,
        preset=preset,
        samples=samples,
        drawn={"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "seed": seed},
        select=joined(select),
        limit_per_cell=limit_per_cell,
        prompt_tokens=prompt_tokens,
        scored={
            "policy": None, "profile": profile, "variants": {}, "execute": False, "workers": None, "use_cache": True,
        },
    )  # fmt: skip
