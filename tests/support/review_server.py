"""Reviews of made items, and a review server in a process of its own."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.protocol import ReviewProtocol, load_protocol
from caretbench.people.review.records import HiddenItem, ReviewItem, ShownItem
from caretbench.suites import load_problems, load_suite

PROTOCOL = load_protocol("devbench-instance")
SEVERAL = ReviewProtocol.model_validate(
    {
        "name": "several", "version": 1, "title": "What is it about?", "subject": "problem", "people": 2,
        "settlement": {"rule": "majority", "question": "keep"},
        "questions": [
            {
                "name": "topics", "kind": "several", "text": "Which topics?",
                "options": [{"value": "xyz"[place], "text": "XYZ"[place], "key": "123"[place]} for place in range(3)],
            },
            {"name": "why", "kind": "text", "text": "Why Y?", "when": {"topics": "y"}},
            {
                "name": "keep", "kind": "choice", "text": "Keep?",
                "options": [{"value": "yes", "text": "Yes", "key": "1"}, {"value": "no", "text": "No", "key": "2"}],
            },
        ],
    }
)  # fmt: skip
"""A protocol with a question of several values and one of words."""
_SERVE = (
    "import sys; from pathlib import Path; "
    "from caretbench.people.review.server.application import ReviewServerSettings, serve; "
    "settings = ReviewServerSettings(port=int(sys.argv[2])); "
    "serve([Path(sys.argv[1])], settings, lambda address, _: print(address, flush=True))"
)


def made_item(number: int, *, hidden: HiddenItem | None = None, **shown: object) -> ReviewItem:
    texts = {"before": "a = 1\n", "span": f"b = {number}\n", "after": "print(a + b)\n"} | shown
    return ReviewItem(
        problem_id=f"p{number}", suite="devbench", language="python", answer=str(number),
        labels={"category": "api_usage"}, shown=ShownItem.model_validate(texts), hidden=hidden or HiddenItem(),
    )  # fmt: skip


def starter_items() -> list[ReviewItem]:
    """One problem of each of DevBench's 36 cells."""
    from caretbench.people.review.review_items import problem_items

    cells = {}
    for problem in load_problems(load_suite("devbench"), "starter").problems:
        cells.setdefault((problem.label("language"), problem.label("category")), problem)
    plain = PROTOCOL.model_copy(update={"mix": PROTOCOL.mix.model_copy(update={"controls": 0.0, "warm_up": 0})})
    return problem_items(list(cells.values()), plain)


def make_review(
    folder: Path, items: Sequence[ReviewItem], people: Mapping[str, str], *, repeats: float = 0.0
) -> dict[str, str]:
    """Make a review; return the secret of each person's link."""
    protocol = PROTOCOL.model_copy(update={"mix": PROTOCOL.mix.model_copy(update={"repeats": repeats})})
    with ReviewDatabase.create(folder, protocol, items, seed=1) as database:
        return {name: database.invite(name, role) for name, role in people.items()}  # type: ignore[arg-type]


class ReviewServer:
    """Server of a review on a port that stays the same over restarts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        words = [sys.executable, "-c", _SERVE, str(self.folder), str(self.port)]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        for _ in range(600):
            with contextlib.suppress(urllib.error.HTTPError):
                try:
                    urllib.request.urlopen(f"{self.address}/assets/icon.svg", timeout=5).close()  # noqa: S310  # http
                except urllib.error.URLError:
                    time.sleep(0.05)
                    continue
            return
        raise AssertionError("the review server did not start")

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(20)
            self._process = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


@contextlib.contextmanager
def running_server(folder: Path) -> Iterator[ReviewServer]:
    server = ReviewServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop(signal.SIGKILL)
