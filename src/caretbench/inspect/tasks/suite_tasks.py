"""The suites as Inspect tasks: ``inspect eval caretbench/devbench --model PROVIDER/MODEL``."""

from __future__ import annotations

from collections.abc import Sequence
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

from caretbench.inspect.tasks.metrics import PASSED
from caretbench.inspect.tasks.scorer import caret
from caretbench.inspect.tasks.solver import ask
from caretbench.problem import Question

if TYPE_CHECKING:
    from caretbench.models import ModelClient, Sampling
    from caretbench.problem import Problem

_SCORER = "caret"


@task
def devbench(
    data: str = "starter",
    prompt: str = "auto",
    policy: str | None = None,
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
    variant: str | list[str] | None = None,
    execute: bool = True,
    workers: int | None = None,
    use_cache: bool = True,
) -> Task:
    """DevBench: six developer-derived categories in six languages, checked by execution and similarity.

    Args:
        data: The problems: starter, released, or a folder.
        prompt: The prompt strategy; auto chooses by the model.
        policy: Truncation policy; by default syntax, and released under the paper profile.
        profile: default or paper.
        preset: A named sampling, devbench-paper for example; the options beside it win over it.
        samples: Answers of each problem (epochs).
        temperature: Of the sampling.
        top_p: Of the sampling.
        max_tokens: Of each answer; never left to a provider.
        seed: The first sample's seed; each further one's is one higher.
        select: Only problems with these labels: language=python,category=low_context (| between values).
        limit_per_cell: Only the first N problems of every language × category cell.
        prompt_tokens: At most so many tokens of prompt.
        variant: A named build of a language: cpp=common_headers.
        execute: Run the programs; without, only similarity is measured.
        workers: Programs in flight; by default eight times the processors.
        use_cache: Take known verdicts from the cache.
    """
    return suite_task(
        "devbench",
        data=data,
        prompt=prompt,
        preset=preset,
        samples=samples,
        drawn={"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "seed": seed},
        select=joined(select),
        limit_per_cell=limit_per_cell,
        prompt_tokens=prompt_tokens,
        scored={
            "policy": policy, "profile": profile, "variants": _variants(variant), "execute": execute,
            "workers": workers, "use_cache": use_cache,
        },
    )  # fmt: skip


@task
def simcopilot(
    data: str = "starter",
    prompt: str = "auto",
    context: str | None = None,
    policy: str | None = None,
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
    execute: bool = True,
    workers: int | None = None,
    use_cache: bool = True,
) -> Task:
    """SimCopilot: infill and completion inside real programs, checked by the projects' own tests.

    Args:
        data: The problems: starter, or the folder that ``caretbench build simcopilot`` wrote.
        prompt: The prompt strategy; auto chooses by the model.
        context: What else of a project is shown: as_is, prepend_files, move_enclosing_to_end, retrieval.
        policy: Truncation policy; by default block, and simcopilot/repair under the paper profile.
        profile: default or paper.
        preset: A named sampling; the options beside it win over it.
        samples: Answers of each problem (epochs).
        temperature: Of the sampling.
        top_p: Of the sampling.
        max_tokens: Of each answer; never left to a provider.
        seed: The first sample's seed; each further one's is one higher.
        select: Only problems with these labels: mode=infill,constructs=loop_body (| between values).
        limit_per_cell: Only the first N problems of every language × mode cell.
        prompt_tokens: At most so many tokens of prompt.
        execute: Run the tests; without, only similarity is measured.
        workers: Test commands in flight; by default the number of processors.
        use_cache: Take known verdicts from the cache.
    """
    return suite_task(
        "simcopilot",
        data=data,
        prompt=prompt,
        context=context,
        preset=preset,
        samples=samples,
        drawn={"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "seed": seed},
        select=joined(select),
        limit_per_cell=limit_per_cell,
        prompt_tokens=prompt_tokens,
        scored={
            "policy": policy, "profile": profile, "variants": {}, "execute": execute,
            "workers": workers, "use_cache": use_cache,
        },
    )  # fmt: skip


def suite_task(
    suite: str,
    *,
    data: str,
    prompt: str,
    context: str | None = None,
    preset: str | None,
    samples: int | None,
    drawn: dict[str, Any],
    select: str | None,
    limit_per_cell: int | None,
    prompt_tokens: int | None,
    scored: dict[str, Any],
) -> Task:
    """A suite as a task. ``drawn`` are fields of a sampling, ``scored`` what solver and scorer both take.

    Raises:
        ValueError: an option is wrong, or the suite knows no such context.
        KeyError: an unknown suite, policy or preset.
        DataError: the data are wrong.
    """
    from caretbench.inspect.tasks.bench import bench
    from caretbench.runs.sampling import preset as named_sampling
    from caretbench.suites.selection import Selection
    from caretbench.suites.showing import showing

    named = named_sampling(preset) if preset is not None else None
    sampling = _sampling(named.sampling if named else None, drawn)
    wanted = samples or (named.samples if named else 1)
    house = bench(
        suite, data, scored["policy"], scored["profile"], tuple(sorted(scored["variants"].items())),
        scored["execute"], scored["workers"], scored["use_cache"],
    )  # fmt: skip
    problems = Selection(select, per_cell=limit_per_cell).of(house.suite, house.data.problems)
    shown = showing([house.suite], context)
    house.check()
    _refuse_unknown_format(prompt, questions=house.asks_questions)
    return Task(
        dataset=MemoryDataset([_sample(problem) for problem in problems], name=f"{suite}/{house.data.name}"),
        solver=ask(
            suite, data, prompt, prompt_tokens=prompt_tokens, max_tokens=sampling.max_tokens,
            seed=sampling.seed, context=context, **scored,
        ),
        scorer=caret(suite, data, **scored),
        config=GenerateConfig(
            max_tokens=sampling.max_tokens, temperature=sampling.temperature, top_p=sampling.top_p
        ),
        epochs=Epochs(wanted),
        # A sample that did not come lowers the coverage, as a row of errors.jsonl does.
        fail_on_error=False,
        score_on_error=True,
        version=1,
        metadata={
            "suite": suite, "data": house.data.name, "data_hash": house.data.hash,
            "policy": house.policy.key, "profile": house.profile, "seed": sampling.seed,
            "context": shown.key if shown is not None else None,
        },
        viewer=_viewer(house.similarity_names),
        description=house.suite.about,
    )  # fmt: skip


def _refuse_unknown_format(prompt: str, *, questions: bool) -> None:
    """A model that cannot be asked so is refused at once, not once for each sample."""
    from caretbench.inspect.tasks.facts import ModelFacts
    from caretbench.prompts import choose

    try:
        model = get_model()
    except ValueError:
        return  # no model yet: the task is only looked at
    choose(cast("ModelClient", ModelFacts(model)), prompt, questions=questions)


def _sample(problem: Problem) -> Sample:
    """What is sent is rendered when it is asked; here stands what a reader of the log wants to see."""
    shown = problem.shown
    labels = {name: problem.label(name) for name in problem.labels}
    if isinstance(shown, Question):
        text = "\n\n".join((shown.text, *(f"{file.path}\n{file.text}" for file in shown.context)))
        choices = list(shown.choices) or None
        return Sample(
            id=problem.id, input=text, choices=choices, target=problem.reference, metadata=labels
        )  # fmt: skip
    return Sample(
        id=problem.id,
        input=shown.prefix,
        target=problem.reference,
        metadata=labels | {"suffix": shown.suffix},
    )


def _sampling(base: Sampling | None, drawn: dict[str, Any]) -> Sampling:
    from pydantic import ValidationError

    from caretbench.files import describe
    from caretbench.models import Sampling

    fields = (base or Sampling()).model_dump()
    try:
        return Sampling.model_validate(
            fields | {name: value for name, value in drawn.items() if value is not None}
        )
    except ValidationError as error:
        raise ValueError(describe(error)) from None


def joined(text: str | Sequence[str] | None) -> str | None:
    """``a=b,c=d``, which Inspect's command line makes a list of."""
    return text if text is None or isinstance(text, str) else ",".join(map(str, text))


def _variants(text: str | Sequence[str] | None) -> dict[str, str]:
    from caretbench.execution.toolchains import load_runtime
    from caretbench.languages import language

    chosen = {}
    for part in (joined(text) or "").split(","):
        name, found, value = part.strip().partition("=")
        if not name:
            continue
        if not found:
            raise ValueError(f"variant {part!r}: expected language=name, cpp=common_headers for example")
        spoken = language(name).name
        known = load_runtime(spoken).variants
        if value not in known:
            raise ValueError(f"variant {part!r}: {spoken} has {', '.join(known) or 'no variants'}")
        chosen[spoken] = value
    return chosen


def _viewer(similarities: Sequence[str]) -> ViewerConfig:
    """Verdict and similarities beside each sample; what a model wrote is shown as plain text."""
    columns = [TaskSamplesColumn(id=name) for name in ("sampleStatus", "sampleId", "epoch", "answer")]
    columns += [TaskSamplesColumn.score(_SCORER, name) for name in (PASSED, *similarities)]
    columns += [
        TaskSamplesColumn(id=name, visible=False) for name in ("input", "target", "tokens", "duration")
    ]
    similar = ScoreColorScale(palette="good-high", min=0, max=1)
    return ViewerConfig(
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
