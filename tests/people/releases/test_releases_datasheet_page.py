from __future__ import annotations

import json
from pathlib import Path

from caretbench.people.releases.release import ReleaseOptions, release_set
from tests.support.built_sets import write_set


def test_names_of_rows_mean_nothing_in_markdown_and_html(tmp_path: Path) -> None:
    built = write_set(tmp_path / "mine")
    path = built / "instances.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    hostile = "x\n# Heading <script>alert(1)</script> [a](javascript:b) `c`\x1b[31m"
    path.write_text("".join(json.dumps(row | {"generator": hostile, "kind": hostile}) + "\n" for row in rows))
    release_set(built, tmp_path / "out", ReleaseOptions())
    page = (tmp_path / "out" / "datasheet.md").read_text()
    assert "# Heading" not in [line[:9] for line in page.splitlines()]
    assert "<script" not in page
    assert "](javascript" not in page
    assert "\x1b" not in page
    assert "Heading" in page
