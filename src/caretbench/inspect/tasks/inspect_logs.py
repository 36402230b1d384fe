"""Inspect's logs as completions: logs of ``inspect eval caretbench/…`` are reported and compared as runs."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from caretbench.errors import DataError
from caretbench.files import sha256_json
from caretbench.inspect.client.provider_facts import check_installed
from caretbench.problem import Completion, Latency
from caretbench.runs.generate import CHOSEN_SETTINGS
from caretbench.runs.run_folder import ModelInfo

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ModelOutput

_BULK = {"events", "attachments", "store", "messages", "timelines"}
"""Fields of a sample that nobody needs here, and that make it large."""

_ZIP = b"PK\x03\x04"


def is_log(path: Path) -> bool:
    """Return whether this is a log of Inspect: by the suffix ``.eval``, or a JSON file that begins as one does."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.read(4096)
    # The suffix may be anybody's; Inspect's files of this name are archives.
    if path.suffix == ".eval":
        return head.startswith(_ZIP)
    return path.suffix == ".json" and b'"eval"' in head and b'"version"' in head


def read_log(path: Path, suite: str, data_hash: str) -> InspectLog | None:
    """Return the log at a path, about a suite and a data hash; None where the path is no log.

    Raises:
        DataError: it cannot be read, is no log of ours, or is about other data.
    """
    return InspectLog(path, suite, data_hash) if is_log(path) else None


class InspectLog:
    """Inspect log of one of our tasks; reading fails if its suite or data hash differs from the expected one.

    Raises:
        DataError: it cannot be read, is no log of ours, or is about other data.
        MachineError: Inspect AI is not installed.
    """

    def __init__(self, path: Path, suite: str, data_hash: str) -> None:
        check_installed(f"{path}: reading a log of Inspect")
        from inspect_ai.log import read_eval_log

        self._path = path
        try:
            self._header: EvalLog = read_eval_log(path, header_only=True)
        # A damaged log raises whatever its parts raise.
        except Exception as error:
            raise DataError(f"{path}: not a log that Inspect can read ({type(error).__name__})") from None
        about = self._header.eval.metadata or {}
        if about.get("suite") != suite:
            raise DataError(f"{path}: a log of the task {self._header.eval.task}, not of caretbench/{suite}")
        if about.get("data_hash") != data_hash:
            raise DataError(
                f"{path}: the log is about other problems ({about.get('data')}, {str(about.get('data_hash'))[:12]}); "
                "say with --data which ones"
            )
        self.model: str = self._header.eval.model
        self.unanswered: dict[str, int] = {}
        """Samples without an answer, by kind; filled while :meth:`completions` is read."""
        self.models: dict[tuple[str, str], ModelInfo] = {}
        """The manifest's entries; filled likewise."""

    def completions(
        self, problems: Container[str], on_skipped: Callable[[str], None] = lambda _problem_id: None
    ) -> Iterator[Completion]:
        """Yield the answers to ``problems``, in the log's order.

        ``on_skipped`` is called with the problem's id of every other answer.

        Raises:
            DataError: the log is damaged.
        """
        self.unanswered.clear()
        for sample in self._samples():
            identity = str(sample.id)
            if identity not in problems:
                on_skipped(identity)
                continue
            stamp = sample.metadata.get("caretbench")
            stamp = stamp if isinstance(stamp, dict) else {}
            if sample.error is not None or not sample.output.choices or "missing" in stamp:
                kind = str(stamp.get("missing", "provider"))
                self.unanswered[kind] = self.unanswered.get(kind, 0) + 1
                continue
            yield self._completion(identity, sample, stamp)

    def _samples(self) -> Iterator[EvalSample]:
        from inspect_ai.log import read_eval_log_samples

        try:
            yield from read_eval_log_samples(self._path, all_samples_required=False, exclude_fields=_BULK)
        except (ValueError, KeyError, OSError, EOFError) as error:
            raise DataError(f"{self._path}: the log is damaged ({type(error).__name__})") from None

    def _completion(self, identity: str, sample: EvalSample, stamp: Mapping[str, Any]) -> Completion:
        # Only the reading of logs needs it.
        from caretbench.inspect.client.model_caller import usage_of

        output = sample.output
        settings = self._settings(stamp)
        parameters = sha256_json(settings)[:16]
        self.models.setdefault(
            (self.model, parameters),
            ModelInfo(model=self.model, source="model", parameters=parameters, settings=settings),
        )
        return Completion(
            problem_id=identity,
            model=self.model,
            parameters=parameters,
            # Inspect counts epochs from 1.
            sample=sample.epoch - 1,
            text=output.completion,
            finish_reason=_finish_reason(output),
            prompt=stamp.get("prompt"),
            usage=usage_of(output, 1),
            cost=output.usage.total_cost if output.usage is not None else None,
            latency=Latency(last_s=output.time) if output.time is not None else None,
        )

    def _settings(self, stamp: Mapping[str, Any]) -> dict[str, JsonValue]:
        """Return the settings that decide the answers, in the form of a run's manifest."""
        config = self._header.plan.config
        drawn = {name: getattr(config, name) for name in ("max_tokens", "temperature", "top_p", "seed")}
        if drawn["seed"] is None:
            drawn["seed"] = (self._header.eval.metadata or {}).get("seed")
        return {
            "sampling": {name: value for name, value in drawn.items() if value is not None},
            "prompt": stamp.get("prompt"),
            "budget": stamp.get("budget"),
            **{name: stamp[name] for name in CHOSEN_SETTINGS if name in stamp},
            "preprocess": [],
            "client": stamp.get("client") or {},
        }


def _finish_reason(output: ModelOutput) -> str | None:
    return {"max_tokens": "length", "model_length": "length"}.get(output.stop_reason, output.stop_reason)
