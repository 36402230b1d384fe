"""Write docs/reference/profiles.md out of the rules in the code."""

from __future__ import annotations

from pathlib import Path

from caretbench.suites import built_in, load_suite
from caretbench.suites.profile_tables import profiles_page

if __name__ == "__main__":
    page = Path(__file__).parents[1] / "docs" / "reference" / "profiles.md"
    page.write_text(profiles_page(map(load_suite, built_in())), encoding="utf-8")
