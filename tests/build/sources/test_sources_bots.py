from __future__ import annotations

import pytest

from caretbench.build.sources.changes.automated_changes import BotTitlePatterns, is_bot, is_title_of


@pytest.mark.parametrize(
    ("name", "email"),
    [
        ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com"),
        ("Renovate", "bot@renovateapp.com"),
        ("GitLab Maintenance Bot", ""),
        ("github-actions", ""),
        ("Somebody", "ci-bot@example.com"),
        ("k8s-ci-robot", ""),
    ],
)
def test_programs_are_known_by_name_or_address(name: str, email: str) -> None:
    assert is_bot(name, email)


@pytest.mark.parametrize(
    ("name", "email"), [("Ann Abbott", "abbott@example.com"), ("Botond Kis", "botond@example.com"), ("", "")]
)
def test_people_are_no_programs(name: str, email: str) -> None:
    assert not is_bot(name, email)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("build(deps): bump foo from 1 to 2", "bot"),
        ("Bump rails from 7.0.4 to 7.0.5 (#123)", "bot"),
        ("Update dependency eslint to v9", "bot"),
        ("Bump alpine in /cmd/beemo", "bot"),
        ("Bump lodash, a and b in /web", "bot"),
        ("Bump the npm_and_yarn group in /docs with 3 updates", "bot"),
        ("chore(deps): update module x", "bot"),
        ("New Crowdin translations (automated)", "bot"),
        ('Revert "lexgen refactor (#1181)"', "revert"),
        ("gokrazy/tsapp: revert breakglass access lockdown", "revert"),
        ("[BUG](worker): Revert the cache", "revert"),
        ("Release 2026.6.0", "release"),
        ("VERSION.txt: this is v1.103.0", "release"),
        ("v1.2.3", "release"),
        ("chore: release 1.2", "release"),
        ("Bump version to 2.0", "release"),
        ("[release-1.2] Fix the thing", "backport"),
        ("Backport #12 to 1.x", "backport"),
        ("Fix it (cherry-pick #3)", "backport"),
        ("Merge `v1.5-variegata` into main (#23403)", "backport"),
        ("Merge remote-tracking branch 'upstream/master'", "backport"),
    ],
)
def test_titles_say_what_they_are(title: str, kind: str) -> None:
    assert [name for name in BotTitlePatterns.model_fields if is_title_of(name, title)] == [kind]


@pytest.mark.parametrize(
    "title",
    [
        "go.mod: bump x/net for http2-in-std fix for Go 1.27",
        "release/dist: add deb/rpm arch mappings for mipses",
        "version/prop: remove IsMacAppSandboxEnabled",
        "update go to v1.25",
        "Reversible migrations",
        "bump memory limit from 1 to 2 in tests",
        "Update module helpers to avoid Python imports.",
        "Release the lock before waiting",
        "docs: use -x for cherry-picks",
        "Bump minimum required cmake version",
        "Merge Linux cli CI jobs",
        "Update the parser to read 3 bytes",
        "",
        "x" * 100000,
    ],
)
def test_other_titles_are_left_alone(title: str) -> None:
    assert not [name for name in BotTitlePatterns.model_fields if is_title_of(name, title)]
