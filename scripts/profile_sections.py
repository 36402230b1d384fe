"""Print the rules of both profiles, for all suites, as sections of the site's page of profiles."""

from __future__ import annotations

from caretbench.suites import built_in, load_suite
from caretbench.suites.profile_tables import profile_sections

if __name__ == "__main__":
    print(profile_sections(map(load_suite, built_in())))  # noqa: T201
