from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from caretbench.errors import DataError, UsageError
from caretbench.files import sha256_text
from caretbench.models import ClientOptions, ModelRequest, unchecked
from caretbench.progress import Progress
from caretbench.runs.plans.config import RunConfig, config_from_options
from caretbench.runs.plans.roles import NamedModel
from caretbench.suites import load_suite
from caretbench.training.checkpoint_watch import BASE, Checkpoint, Curve, find_checkpoints, watch, watch_page
from tests.support.fakes import FakeClient
from tests.support.gguf_file import STRING, gguf

QUALITIES = {"base": 40, "step-1": 40, "step-2": 45, "step-5": 95, "step-10": 100, "step-20": 40, "step-100": 0}
"""Share of right answers in percent."""
ASKED = "asked.txt"


def config() -> RunConfig:
    options = {"limit": 60, "baseline": "none"}
    return config_from_options("efcb", options, [NamedModel("base", "fake/base")])


class Opener:
    """Opens models that answer rightly as often as their quality says; each request is a line of a file."""

    def __init__(self, folder: Path, pause_s: float = 0.0) -> None:
        self.opened: list[str] = []
        self._log, self._pause_s = folder / ASKED, pause_s
        self._references = {one.id: one.reference for one in load_suite("efcb").load("starter").problems}

    def __call__(self, spec: str, _options: ClientOptions) -> FakeClient:
        name = spec.rpartition("/")[2].removesuffix(".gguf")
        if name == "torn":
            raise DataError(f"{spec}: torn")
        self.opened.append(name)

        def reply(request: ModelRequest, _sample: int) -> str:
            with self._log.open("a") as log:
                log.write(f"{name} {request.id}\n")
            time.sleep(self._pause_s)
            right = int(sha256_text(request.id)[:8], 16) % 100 < QUALITIES[name]
            return self._references[request.id] if right else "none of these"

        return FakeClient(reply, name=spec)


def checkpoints(folder: Path) -> list[Checkpoint]:
    folder.mkdir(exist_ok=True)
    for name in QUALITIES:
        if name != BASE and not (folder / f"{name}.txt").exists():
            (folder / f"{name}.txt").write_text(name)
    return [Checkpoint(BASE, "fake/base"), *find_checkpoints(folder, None, "fake/{}")]


def watched(place: Path, opener: Opener, found: list[Checkpoint] | None = None) -> tuple[list[Curve], list[str]]:
    found = [one._replace(spec=f"fake/{one.name}") for one in found or checkpoints(place / "ck")]
    return watch(found, config(), place / "out", opener=opener, check_access=unchecked, progress=Progress())


def asked(place: Path) -> Counter[str]:
    path = place / ASKED
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def test_each_checkpoint_is_asked_once_and_compared_with_the_base(tmp_path: Path) -> None:
    opener = Opener(tmp_path)
    found = checkpoints(tmp_path / "ck")
    curves, complaints = watched(tmp_path, opener, found[:3])
    assert not complaints
    [sentence] = curves[0].sentences()
    assert "no checkpoint is better; none is worse" in sentence
    # The others come while the training goes on, and one is still being written.
    torn = Checkpoint("torn", "fake/torn", tmp_path / "ck/torn.txt")
    for text in ("half", "a half more"):
        (tmp_path / "ck/torn.txt").write_text(text)
        curves, complaints = watched(tmp_path, opener, [*found, torn])
        assert complaints == ["torn: fake/torn: torn"]
    assert set(asked(tmp_path).values()) == {1}
    assert Counter(line.split()[0] for line in asked(tmp_path)) == dict.fromkeys(QUALITIES, 60)
    [curve] = curves
    rows = [row for row in curve.comparison.overall if row.label == curve.comparison.overall[0].label]
    assert [row.second for row in rows] == [name for name in QUALITIES if name != BASE]
    assert {row.family for row in rows} == {6}
    [sentence, *_] = curve.sentences()
    assert "is step-5 (+" in sentence
    assert "worse: step-100 (-" in sentence
    assert "step-20" not in sentence
    page = watch_page(curves)
    assert "is step-5" in page
    assert '"checkpoint":"step-100"' in page
    assert json.loads(json.dumps(curve.to_json()))["sentences"] == [*curve.sentences()]
    # What is complete is not even opened again, and another state under an old name is refused.
    opener.opened.clear()
    (tmp_path / "ck/step-1.txt").touch()
    assert watched(tmp_path, opener, found)[0] == curves
    assert not opener.opened
    (tmp_path / "ck/step-1.txt").write_text("trained again")
    assert "changed" in watched(tmp_path, opener, found)[1][0]


def test_checkpoints_are_files_and_adapters_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("step-100", "step-20"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapter_config.json").write_text("{}")
    (tmp_path / "step-3.gguf").write_bytes(gguf([("general.type", STRING, "model")]))
    (tmp_path / "step-7.gguf").write_bytes(gguf([("general.type", STRING, "adapter")]))
    (tmp_path / "step-5").mkdir()
    (tmp_path / "step-5/whole.gguf").write_bytes(b"any")
    (tmp_path / "step-4.gguf.partial").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("x")
    found = find_checkpoints(tmp_path, "gguf/smollm2", None)
    assert [(one.name, one.spec) for one in found] == [
        ("step-3", f"gguf/{tmp_path}/step-3.gguf"),
        ("step-5", f"gguf/{tmp_path}/step-5"),
        ("step-7", f"gguf/smollm2+{tmp_path}/step-7.gguf"),
        ("step-20", f"gguf/smollm2+{tmp_path}/step-20"),
        ("step-100", f"gguf/smollm2+{tmp_path}/step-100"),
    ]
    every = find_checkpoints(tmp_path, None, "hf/{}")
    assert [one.spec for one in every if one.name == "notes"] == [f"hf/{tmp_path}/notes.txt"]
    for base, template, fault in ((None, None, "--base"), (None, "hf/x", "{}")):
        with pytest.raises(UsageError, match=fault):
            find_checkpoints(tmp_path, base, template)
    for empty in (tmp_path / "step-20", tmp_path / "nowhere"):
        with pytest.raises(UsageError, match="checkpoint"):
            find_checkpoints(empty, None, None)


DRIVER = """
import sys
from pathlib import Path
from tests.training.test_training_checkpoint_watch import Opener, watched
place = Path(sys.argv[1])
watched(place, Opener(place, 0.05))
"""


@pytest.mark.long
def test_two_kills_ask_nothing_twice(tmp_path: Path) -> None:
    """Only the request in flight at a kill has no row, and is sent again."""
    checkpoints(tmp_path / "ck")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    argv = [sys.executable, "-c", DRIVER, str(tmp_path)]
    for moment in (90, 250):
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 300
        while process.poll() is None and asked(tmp_path).total() < moment and time.monotonic() < end:
            time.sleep(0.05)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    requests = asked(tmp_path)
    assert Counter(line.split()[0] for line in requests) == dict.fromkeys(QUALITIES, 60)
    assert requests.total() - len(requests) <= 2
