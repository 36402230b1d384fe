from __future__ import annotations

import time

import pytest

from caretbench.build.sources.changes.commit_message import parse_commit_message


@pytest.mark.parametrize(
    ("text", "parents", "style", "kind", "number", "title", "description"),
    [
        # tailscale: rebased, the scope before a colon; references stay, trailers go.
        (
            "net/dns: fix it\n\nWhy.\n\nUpdates #1\n\nChange-Id: Iab\nSigned-off-by: A <a@example.com>",
            1,
            None,
            "commit",
            None,
            "net/dns: fix it",
            "Why.\n\nUpdates #1",
        ),
        # tailscale, chroma: squashed by the host.
        (
            "[ENH](x): Add y (#7629)\n\n## Description\n\nText\n\n---------\n\nCo-authored-by: A <a@example.com>",
            1,
            "number-suffix",
            "squash",
            7629,
            "[ENH](x): Add y",
            "## Description\n\nText",
        ),
        # indigo, new duckdb: a merge whose message is the pull request's.
        (
            "relay: log it (#1212)\n\nCloses: https://example.com/1083",
            2,
            "number-suffix",
            "merge",
            1212,
            "relay: log it",
            "Closes: https://example.com/1083",
        ),
        # duckdb: the merge button.
        (
            "Merge pull request #13690 from somebody/fix/exists\n\nMove the check\n\nIt was late.",
            2,
            "github-merge",
            "merge",
            13690,
            "Move the check",
            "It was late.",
        ),
        ("Merge commit from fork\n\nMind the bound", 2, "github-advisory", "merge", None, "Mind the bound", ""),
        ("Merge pull request from GHSA-m2qf-hxjv-5gpq\n\nMind", 2, "github-advisory", "merge", None, "Mind", ""),
        ("Merge pull request #5 from somebody/fix-thing", 2, "github-merge", "merge", 5, "fix-thing", ""),
        ("Merge pull request #5 from main", 2, "github-merge", "merge", 5, "main", ""),
        # cloudflared, early: Bitbucket's server.
        (
            "Merge pull request #10 in TUN/x from who/tun-829 to master\n\n* commit 'ab12':\n  TUN-829: prefix",
            2,
            "bitbucket-server",
            "merge",
            10,
            "TUN-829: prefix",
            "",
        ),
        (
            "Merged in feature/x (pull request #12)\n\nAdd x\n\nApproved-by: Somebody",
            2,
            "bitbucket-cloud",
            "merge",
            12,
            "Add x",
            "",
        ),
        ("Merged PR 44: Add y\n\nText", 1, "azure", "squash", 44, "Add y", "Text"),
        ("Auto merge of #99 - who:branch, r=other\n\nTitle\n\nText", 2, "bors", "merge", 99, "Title", "Text"),
        ("Rollup merge of #99 - who:branch, r=other\n\nTitle", 2, "bors", "merge", 99, "Title", ""),
        ("Merge #12: Title", 2, "bors-ng", "merge", 12, "Title", ""),
        ("Merge #12 #13\n\n12: Title r=who a=other\n\nText", 2, "bors-ng-many", "merge", 12, "Title", "Text"),
        (
            "Merge branch 'x' into 'main'\n\nTitle\n\nText\n\nSee merge request group/project!77",
            2,
            "gitlab-merge",
            "merge",
            77,
            "Title",
            "Text",
        ),
        ("Merge branch 'x' into 'main'", 2, None, "merge", None, "Merge branch 'x' into 'main'", ""),
        ("Add z (!31)", 1, "number-suffix", "squash", 31, "Add z", ""),
        ('Revert "Add z (#31)" (#32)', 1, "number-suffix", "squash", 32, 'Revert "Add z (#31)"', ""),
        (
            "Fix\n\nPR-URL: https://example.com/n/n/pull/55",
            1,
            "number-in-trailer",
            "squash",
            55,
            "Fix",
            "PR-URL: https://example.com/n/n/pull/55",
        ),
        (
            "[CORE] Fix\n\nText\n\nCloses #66 from who/branch.",
            1,
            "number-in-trailer",
            "squash",
            66,
            "[CORE] Fix",
            "Text\n\nCloses #66",
        ),
        # The host cuts a long title.
        (
            "A very long title that goes…\n\n…on and on (#8)\n\nText",
            1,
            "number-suffix",
            "squash",
            8,
            "A very long title that goeson and on",
            "Text",
        ),
        ("Title over\ntwo lines (#4)\n\nText", 1, "number-suffix", "squash", 4, "Title over two lines", "Text"),
        ("Title\n- one\n- two", 1, None, "commit", None, "Title", "- one\n- two"),
        ("Title\r\n\r\nText\r\nmore", 1, None, "commit", None, "Title", "Text\nmore"),
        ("", 1, None, "commit", None, "", ""),
        ("Fixes #12", 1, None, "commit", None, "Fixes #12", ""),
        ("See (#12) there", 1, None, "commit", None, "See (#12) there", ""),
    ],
)
def test_each_style_is_read(
    text: str, parents: int, style: str | None, kind: str, number: int | None, title: str, description: str
) -> None:
    found = parse_commit_message(text, parents)
    assert (found.format_name, found.kind, found.number) == (style, kind, number)
    assert (found.title, found.description) == (title, description)


def test_trailers_are_counted_and_addresses_masked() -> None:
    text = "Ask a@example.com (#1)\n\n* one\n\nCo-authored-by: B <b@example.com>\n\nOr c@example.com\n\nChange-Id: I1\n"
    found = parse_commit_message(text, 1)
    assert found.title == "Ask <email>"
    assert found.description == "* one\n\n\nOr <email>"
    assert found.trailers_removed == 2


@pytest.mark.parametrize(
    "text",
    [
        "x" * 500_000,
        "a\n" * 200_000,
        "(#1" * 100_000,
        "Merge " * 100_000,
        "Closes #1 from " * 50_000,
        " " * 300_000 + "x",
        "t\n\nPR-URL: " + "/pull/" * 50_000,
        "t\n\n" + "pull-request: x\n" * 20_000,
        "t (" + "#" * 100_000,
    ],
)
def test_hostile_messages_take_no_time(text: str) -> None:
    begin = time.process_time()
    parse_commit_message(text, 2)
    assert time.process_time() - begin < 5
