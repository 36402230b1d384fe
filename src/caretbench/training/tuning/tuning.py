"""Tuning of a model on training pairs, which goes on after a stop: settings, plan, steps, results."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

from caretbench.errors import DataError, UsageError
from caretbench.files import read_lines, read_rows, sha256_file, sha256_text, write_atomically
from caretbench.local.llama_server import physical_cores
from caretbench.local.weights import ADAPTER_FILE, MODEL_FILE
from caretbench.progress import Progress
from caretbench.reports.charts import field, layer, layered
from caretbench.training.decontamination import REPORT_FILE
from caretbench.training.pairs import PAIRS_FILE, TrainingPair
from caretbench.training.tuning.base_weights import TuningBase, check_packages_for_tuning, open_base
from caretbench.training.tuning.examples import ExampleMaker, ExampleSets, chosen_strategy, draw_examples
from caretbench.training.tuning.gguf_files import write_adapter, write_model
from caretbench.versions import versions

Method = Literal["lora", "full"]
Device = Literal["cpu", "cuda"]

TUNING_FILE: Final = "training.json"
CHECKPOINTS: Final = "checkpoints"
LOSS_FILE: Final = "loss.jsonl"
_BARS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 40
_BESIDE_PRODUCTS: Final = 2.6
"""CPU time of a step over that of its products: SmolLM2 takes 4.0 s, of which the forecast's products are 1.5."""


@dataclass(frozen=True)
class TuningSettings:
    """Settings of a tuning that decide its result.

    A step takes ``batch`` × ``accumulate`` examples of at most ``max_tokens`` in each process. ``steps`` None: all
    pairs once. ``rank`` is that of the adapter; its alpha is twice that. ``held_out`` pairs of other files are not
    trained on: their loss is taken at the begin and with each checkpoint, every ``save_every`` steps.
    """

    method: Method = "lora"
    prompt: str = "auto"
    steps: int | None = None
    batch: int = 4
    accumulate: int = 1
    max_tokens: int = 512
    learning_rate: float = 2e-4
    warmup: int = 10
    rank: int = 8
    held_out: int = 32
    save_every: int = 50
    seed: int = 0
    device: Device = "cpu"


PRESETS: Final[Mapping[str, TuningSettings]] = {
    "lora": TuningSettings(),
    # C3-Bench's paper, section 3: Adam, 1,024 a batch, 4K tokens.
    "c3-sft": TuningSettings(
        "full", batch=8, accumulate=128, max_tokens=4096, learning_rate=3e-5, warmup=50, save_every=20
    ),
}
"""Settings by name; ``full`` has the second one's learning rate."""


def chosen_settings(preset: str | None, method: Method, changes: Mapping[str, Any]) -> TuningSettings:
    """Return a preset with the changes that are not None; without a name that of the method.

    Raises:
        UsageError: the preset is for the other method.
    """
    base = PRESETS[preset or "lora"]
    if preset is None and method == "full":
        base = replace(base, method=method, learning_rate=PRESETS["c3-sft"].learning_rate)
    if base.method != method:
        raise UsageError(f"--preset {preset} is for --method {base.method}")
    return replace(base, **{name: value for name, value in changes.items() if value is not None})


class LossCurve:
    """Rows of ``loss.jsonl``: ``step``, ``loss`` or ``held_out``, learning rate, and CPU seconds since the begin."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = folder / LOSS_FILE
        stored = read_lines(path, allow_partial_last_line=True) if path.exists() else ()
        self.rows: list[dict[str, Any]] = [row for _, row in stored]
        self._spent = 0.0
        self._began = time.process_time()

    def begin(self, step: int) -> None:
        """Go on after ``step``: rows of later ones, whose checkpoint was not written, will come again."""
        self.rows = [row for row in self.rows if row["step"] <= step] if step else []
        self._spent = self.rows[-1]["cpu_s"] if self.rows else 0.0
        self._began = time.process_time()
        text = "".join(json.dumps(row) + "\n" for row in self.rows)
        write_atomically(self._folder / LOSS_FILE, text)

    def add(self, step: int, **values: float) -> None:
        """Append a row."""
        row = {"step": step, **values, "cpu_s": round(self._spent + time.process_time() - self._began, 2)}
        self.rows.append(row)
        with (self._folder / LOSS_FILE).open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    def values(self, name: str) -> list[float]:
        """Return the values of ``loss`` or ``held_out`` in the order of steps."""
        return [row[name] for row in self.rows if name in row]

    def line(self) -> str:
        """Return the curve in one line: means of equal parts as bars, first and last loss, losses of held-out pairs."""
        losses, held_out = self.values("loss"), self.values("held_out")
        if not losses:
            return "no step"
        parts = min(_WIDTH, len(losses))
        edges = [len(losses) * number // parts for number in range(parts + 1)]
        means = [sum(losses[a:b]) / (b - a) for a, b in pairwise(edges)]
        low, span = min(means), (max(means) - min(means)) or 1.0
        bars = "".join(_BARS[round((mean - low) / span * (len(_BARS) - 1))] for mean in means)
        text = f"loss {means[0]:.3f} {bars} {means[-1]:.3f}"
        return text + (f"; held-out pairs {held_out[0]:.3f} → {held_out[-1]:.3f}" if held_out else "")

    def draw(self) -> None:
        """Draw the curve into ``loss.svg``."""
        import vl_convert

        rows = [
            {"step": row["step"], "loss": row[name], "pairs": pairs}
            for name, pairs in (("loss", "trained on"), ("held_out", "held out"))
            for row in self.rows
            if name in row
        ]
        loss, pairs = field("loss:Q", scale={"zero": False}), field("pairs:N", title=None)
        spec = layered(rows, layer("line", {"x": field("step:Q"), "y": loss, "color": pairs}))
        write_atomically(self._folder / "loss.svg", vl_convert.vegalite_to_svg(spec | {"width": 480, "height": 240}))


class TuningPlan(NamedTuple):
    """A tuning before its first step: base, prompt, examples."""

    settings: TuningSettings
    base: TuningBase
    prompt: str
    examples: ExampleSets
    skipped: Mapping[str, int]
    steps: int
    identity: Mapping[str, Any]

    @property
    def tokens_per_step(self) -> float:
        """Mean number of tokens of a step of one process."""
        mean = fmean(len(example.tokens) for example in self.examples.training)
        return mean * self.settings.batch * self.settings.accumulate


def check_decontaminated(pairs: Path) -> None:
    """Raise UsageError unless ``pairs`` is what ``sft decontaminate`` wrote, unchanged."""
    if not (pairs / PAIRS_FILE).is_file():
        raise UsageError(f"{pairs}: no pairs (no {PAIRS_FILE} in it); make them: caretbench sft make SOURCE -o {pairs}")
    report = pairs / REPORT_FILE
    digest = json.loads(report.read_text()).get("sha256") if report.is_file() else None
    if digest != sha256_file(pairs / PAIRS_FILE):
        raise UsageError(
            f"{pairs}: {'changed after its decontamination' if digest else 'no report of a decontamination'}; a model "
            "that trained on a benchmark is not measured by it: caretbench sft decontaminate, or --not-decontaminated"
        )


def plan_tuning(pairs: Path, model: str, settings: TuningSettings, progress: Progress) -> TuningPlan:
    """Return the plan of a tuning: opens the base, draws the examples.

    Raises:
        MachineError: a package is missing.
        DataError: no pair can be trained on, or the base cannot be read.
    """
    check_packages_for_tuning()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers import AutoTokenizer
    from transformers.utils import logging

    # Its bars would be between ours.
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    base = open_base(model, progress)
    tokenizer: Any = AutoTokenizer.from_pretrained(base.folder)
    strategy = chosen_strategy(base.name, tokenizer, settings.prompt)
    maker = ExampleMaker(tokenizer, strategy, settings.max_tokens)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    each = settings.batch * settings.accumulate * processes
    most = None if settings.steps is None else settings.steps * each
    rows = list(read_rows(pairs / PAIRS_FILE, TrainingPair))
    examples = draw_examples(rows, maker, most=most, held_out=settings.held_out, seed=settings.seed)
    if not examples.training:
        raise DataError(f"{pairs}: no pair can be trained on: {dict(maker.skipped)}")
    identity = {
        "base": {"name": base.name, "sha256": base.sha256},
        "pairs_sha256": sha256_file(pairs / PAIRS_FILE),
        "prompt": strategy.key,
        "processes": processes,
        "settings": asdict(settings),
    }
    steps = settings.steps or -(-len(examples.training) // each)
    return TuningPlan(settings, base, strategy.key, examples, maker.skipped, steps, identity)


def tune(plan: TuningPlan, output: Path, progress: Progress, *, threads: int | None = None) -> LossCurve:
    """Tune as planned into ``output``, from the last whole checkpoint on; return the losses of all steps.

    The folder has the adapter or the model as PEFT and transformers write it, and as GGUF, for ``gguf/BASE+FOLDER``
    or ``gguf/FOLDER``. So has each of ``checkpoints/``.

    Raises:
        UsageError: the folder has another tuning.
    """
    import torch

    is_first = os.environ.get("RANK", "0") == "0"
    curve = LossCurve(output)
    if (output / TUNING_FILE).is_file():
        stored = json.loads((output / TUNING_FILE).read_text())
        if stored["identity"] != json.loads(json.dumps(plan.identity)):
            raise UsageError(f"{output}: holds another tuning (base, pairs or settings differ); name another folder")
        if stored["finished"]:
            return curve
    output.mkdir(parents=True, exist_ok=True)
    if is_first:
        _write_manifest(output, plan, finished=False)
    torch.set_num_threads(threads or max(1, physical_cores() - 1))
    begun = _whole_checkpoint(output)
    curve.begin(int(begun.name.rpartition("-")[2]) if begun else 0)
    trainer = _trainer(plan, output, curve, partial(progress, "steps", 1, plan.steps))
    trainer.train(resume_from_checkpoint=str(begun) if begun else None)
    if is_first:
        trainer.save_model(str(output))
        _write_gguf(plan, output)
        curve.draw()
        _write_manifest(output, plan, finished=True)
    return curve


def _write_manifest(output: Path, plan: TuningPlan, *, finished: bool) -> None:
    code = "".join(path.read_text() for path in sorted(Path(__file__).parent.glob("*.py")))
    manifest = {
        "identity": plan.identity,
        # Not compared: a tuning of days goes on after an update.
        "code_sha256": sha256_text(code),
        "finished": finished,
        "steps": plan.steps,
        "examples": len(plan.examples.training),
        "held_out": len(plan.examples.held_out),
        "skipped": dict(plan.skipped),
        "versions": versions(),
    }
    write_atomically(output / TUNING_FILE, json.dumps(manifest, indent=1) + "\n")


def _whole_checkpoint(output: Path) -> Path | None:
    """Return the last checkpoint that was written to its end: its state is written last."""
    newest = sorted((output / CHECKPOINTS).glob("checkpoint-*"), key=lambda path: -int(path.name.rpartition("-")[2]))
    for path in newest:
        try:
            json.loads((path / "trainer_state.json").read_text())
        except (OSError, ValueError):
            continue
        return path
    return None


def _trainer(plan: TuningPlan, output: Path, curve: LossCurve, report: Any) -> Any:
    import torch

    # Without TRL, which would bring datasets, pandas and pyarrow for the same loop.
    from transformers import (
        AutoModelForCausalLM,
        AutoTokenizer,
        DataCollatorForSeq2Seq,
        PrinterCallback,
        Trainer,
        TrainingArguments,
    )

    settings = plan.settings
    cuda = settings.device == "cuda"
    # transformers draws no number before the first step for a full tuning; an adapter's first factor is random.
    torch.manual_seed(settings.seed)
    model: Any = AutoModelForCausalLM.from_pretrained(plan.base.folder, dtype=torch.float32)
    model.config.use_cache = False
    if settings.method == "lora":
        from peft import LoraConfig, get_peft_model

        rank = settings.rank
        lora = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
        model = get_peft_model(model, lora)
    arguments = TrainingArguments(
        output_dir=str(output / CHECKPOINTS), max_steps=plan.steps, seed=settings.seed,
        per_device_train_batch_size=settings.batch, per_device_eval_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulate, learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup", warmup_steps=settings.warmup,
        use_cpu=not cuda, bf16=cuda, dataloader_pin_memory=cuda,
        ddp_backend="gloo" if "WORLD_SIZE" in os.environ and not cuda else None,
        logging_steps=1, report_to=[], disable_tqdm=True, save_steps=settings.save_every,
        eval_strategy="steps" if plan.examples.held_out else "no", eval_steps=settings.save_every,
        eval_on_start=bool(plan.examples.held_out) and _whole_checkpoint(output) is None,
    )  # fmt: skip
    tokenizer: Any = AutoTokenizer.from_pretrained(plan.base.folder, padding_side="right")
    # Padding is not attended to and has no loss: any token will do.
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    trainer: Any = Trainer(
        model=model,
        args=arguments,
        train_dataset=[example.fields() for example in plan.examples.training],
        eval_dataset=[example.fields() for example in plan.examples.held_out] or None,
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        processing_class=tokenizer,
        callbacks=[_recorder(plan, output, curve, report)],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _recorder(plan: TuningPlan, output: Path, curve: LossCurve, report: Any) -> Any:
    """Return the trainer's callback: losses go to the curve, and each checkpoint gets its GGUF."""
    from transformers import TrainerCallback

    class Recorder(TrainerCallback):  # type: ignore[misc] # transformers is not part of set-up
        def on_step_end(self, _arguments: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step >= state.max_steps and plan.examples.held_out:
                control.should_evaluate = True

        def on_log(self, _arguments: Any, state: Any, _control: Any, logs: Mapping[str, float], **_: Any) -> None:
            if state.is_world_process_zero and "loss" in logs:
                curve.add(state.global_step, loss=logs["loss"], learning_rate=logs["learning_rate"])
                report(f"loss {logs['loss']:.3f}")
            if state.is_world_process_zero and "eval_loss" in logs:
                curve.add(state.global_step, held_out=logs["eval_loss"])

        def on_save(self, _arguments: Any, state: Any, _control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                _write_gguf(plan, output / CHECKPOINTS / f"checkpoint-{state.global_step}")

    return Recorder()


def _write_gguf(plan: TuningPlan, folder: Path) -> None:
    if plan.settings.method == "lora":
        write_adapter(folder, plan.base.folder, folder / ADAPTER_FILE)
    else:
        write_model(folder, folder / MODEL_FILE, plan.base.pre_tokenizer)


def merge(plan: TuningPlan, output: Path) -> Path:
    """Write base and adapter of a finished tuning as one model, safetensors and GGUF; return its folder."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    target = output / "merged"
    shutil.rmtree(target, ignore_errors=True)
    model: Any = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(plan.base.folder), output)
    model.merge_and_unload().save_pretrained(target)
    AutoTokenizer.from_pretrained(plan.base.folder).save_pretrained(target)
    write_model(target, target / MODEL_FILE, plan.base.pre_tokenizer)
    return target


def forecast(plan: TuningPlan) -> tuple[float, float | None]:
    """Return an estimate of bytes of memory, and of CPU seconds of one step (None for a GPU, which is not measured)."""
    import torch
    from transformers import AutoConfig

    config: Any = AutoConfig.from_pretrained(plan.base.folder)
    settings = plan.settings
    size = sum(path.stat().st_size for path in plan.base.folder.glob("*.safetensors")) / 4
    longest = max(len(example.tokens) for example in plan.examples.training)
    rows = settings.batch * longest
    # Weights are 4 bytes; gradient and Adam's two moments are 12 more of what is trained. Kept for the way back: some
    # ten values of each layer's width and four of its inner width; three copies of what the vocabulary's head gives.
    kept = config.num_hidden_layers * (10 * config.hidden_size + 4 * config.intermediate_size) + 3 * config.vocab_size
    memory = size * (16 if settings.method == "full" else 4.2) + 4 * rows * kept + 0.5e9
    if settings.device == "cuda":
        return memory, None
    left, right = torch.rand(rows, config.hidden_size), torch.rand(config.hidden_size, config.intermediate_size)
    began, tries = time.process_time(), 20
    for _ in range(tries):
        left @ right
    rate = tries * 2 * left.numel() * right.shape[1] / (time.process_time() - began)
    # Two operations for each weight and token forward, two for what is before, two for the weights themselves.
    operations = plan.tokens_per_step * size * (6 if settings.method == "full" else 4)
    return memory, _BESIDE_PRODUCTS * operations / rate
