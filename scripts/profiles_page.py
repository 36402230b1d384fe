"""Write docs/reference/profiles.md out of the rules in the code."""

from __future__ import annotations

from pathlib import Path

from caretbench.suites import load_suite
from caretbench.suites.profile_tables import profiles_page

OURS = ("devbench", "simcopilot", "efcb", "c3bench", "codevbench")

if __name__ == "__main__":
    page = Path(__file__).parents[1] / "docs" / "reference" / "profiles.md"
    page.write_text(profiles_page(map(load_suite, OURS)), encoding="utf-8")
