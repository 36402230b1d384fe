"""Losses of a tuning by step: the file ``loss.jsonl``, a line of the terminal, and a picture."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from caretbench.files import read_lines, write_atomically

LOSS_FILE: Final = "loss.jsonl"
PICTURE_FILE: Final = "loss.svg"
_BARS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 40


class LossCurve:
    """Rows of ``loss.jsonl``: ``step``, ``loss`` or ``held_out``, learning rate, and CPU seconds since the begin."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = folder / LOSS_FILE
        self.rows: list[dict[str, Any]] = [row for _, row in read_lines(path)] if path.exists() else []
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
        spec = {
            "width": 480,
            "height": 240,
            "data": {"values": rows},
            "mark": {"type": "line", "point": False},
            "encoding": {
                "x": {"field": "step", "type": "quantitative"},
                "y": {"field": "loss", "type": "quantitative", "scale": {"zero": False}},
                "color": {"field": "pairs", "type": "nominal", "title": None},
            },
        }
        write_atomically(self._folder / PICTURE_FILE, vl_convert.vegalite_to_svg(spec))
