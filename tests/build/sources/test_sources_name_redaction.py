from __future__ import annotations

import pytest

from caretbench.build.sources.changes.name_redaction import AuthorNames, redact_names


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("thanks @ann-b!", "thanks <name>!"),
        ("Noticed by @Bo7 and @cy on #12, see @dee's note:", "Noticed by <name> and <name> on #12, see <name>'s note:"),
        ("Originally from @bo (Bo Lindqvist) in:", "Originally from <name> in:"),
        ("Thanks to Ann van Berg for the idea.", "Thanks to <name> for the idea."),
        ("Kudos to giac and moya for pointing this out!", "Kudos to <name> and <name> for pointing this out!"),
        ("Fix locale (thanks Jo Ångström)", "Fix locale (thanks <name>)"),
        ("Suggested by T.J. Lee, patch by Eve V. Roe (evr).", "Suggested by <name>, patch by <name>."),
        ("Thanks to plaes on irc, thanks https://github.com/jo55!", "Thanks to <name> on irc, thanks <name>!"),
        ("Thank you to Triet H.M. Pham for it", "Thank you to <name> for it"),
    ],
)
def test_people_lose_their_names(text: str, bare: str) -> None:
    assert redact_names(text) == bare
    assert redact_names(bare) == bare


@pytest.mark.parametrize(
    "text",
    [
        "Use @types/node and @babel/core, x@1.2, git@host.org:a/b, a@b",
        "Drop the stray @ in @raw['c'], @user = 3, @user_id, {@link Foo}, @Suppress(\"X\"), '@master'",
        "`@ann` and\n```ruby\n@count += 1 # thanks Ann Lee\n```",
        "Add @Override, @param and @Nullable; @kept too",
        "Refactored the @route decorator",
        "Thanks to this, nobody waits; thanks to seamless renewal, too. Thanks!",
        "Reported by Address Sanitizer, found by Coverity Scan, thanks to GitHub Actions and all.",
        "Pass props to Button. Add credit to account. Credit to the infrastructure",
        "Works with Active Record, requested by the server",
        "",
    ],
)
def test_what_is_no_name_stays(text: str) -> None:
    assert redact_names(text, lambda word: word == "@kept") == text


def test_authors_of_the_history_are_known_by_their_whole_names() -> None:
    authors = AuthorNames(["Ann  Lee", "Ann Lee Roe", "bo", "Zoë Ünal", "Static Analysis", "the fixer"])
    text = "Pair with Ann Lee Roe, Ann Lee and Zoë Ünal; Ann Leest, bo, the fixer and Static Analysis stay"
    bare = "Pair with <name>, <name> and <name>; Ann Leest, bo, the fixer and Static Analysis stay"
    assert authors.redact(text) == bare
    assert AuthorNames([]).redact(text) == text


@pytest.mark.parametrize(
    "text", ["Thanks " + "Aa " * 20000, "thanks a, " * 20000, "suggested by Aa " * 10000, "```" * 9000 + "@"]
)
def test_long_texts_are_no_trap(text: str) -> None:
    redact_names(text)


# --- annotations and logins -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Add @Foo to the classes",
        "Support @JsonAdapter on fields, @Lazy too",
        "use @types/node and @angular/core",
        "@media rules of @import",
        "@param x the value",
        "the `@ann` span",
        "Implement @Lazy",
        "Deprecate @Foo.Bar",
        "sorted (by name)",
        "on (by default)",
        "Speed up parsing (by 2x)",
        "Raise the limit (by 30)",
        "Sort rows (by timestamp)",
        "Split caches (by tenant)",
        "Sort rows (by: timestamp)",
        "Grow the pool (by: 30)",
    ],
)
def test_annotations_are_no_people(text: str) -> None:
    assert redact_names(text) == text


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Ready release gin 1.9.1 (by: ann7)", "Ready release gin 1.9.1 (by: <name>)"),
        ("Fix it (@ann-lee)", "Fix it (<name>)"),
        ("Fix it (by @ann7)", "Fix it (by <name>)"),
        ("Reviewed by: annlee", "Reviewed by: <name>"),
        ("Fixed by: bob, @carol", "Fixed by: <name>, <name>"),
        ("Thanks to @AnnLee for the report", "Thanks to <name> for the report"),
        ("Suggested by @Bob", "Suggested by <name>"),
        ("@Alice could you look", "<name> could you look"),
        ("as @Bob noted", "as <name> noted"),
        ("cc @bob and @Carol", "cc <name> and <name>"),
    ],
)
def test_logins_are_people(text: str, bare: str) -> None:
    assert redact_names(text) == bare


def test_where_a_language_has_no_annotations_capitals_are_people() -> None:
    assert redact_names("Ask @Foo first", has_annotations=False) == "Ask <name> first"
    assert redact_names("Use @Foo first", has_annotations=True) == "Use @Foo first"
