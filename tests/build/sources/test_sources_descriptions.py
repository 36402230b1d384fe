from __future__ import annotations

import time

import pytest

from caretbench.build.sources.changes.descriptions import (
    clean_description,
    clean_title,
    count_prose_characters,
    redact_emails,
    remove_trailers,
    template_lines,
)

FORM = """<!-- Thank you!
Please read CONTRIBUTING first. -->
## Description of changes

Retry the write once, since the follower may be behind.
See https://example.com/design for why.

- Improvements & Bug fixes
  - ...

## Test plan

_How are these changes tested?_

- [x] Tests pass locally with `pytest` for python,
  `cargo test` for rust
- [ ] Benchmarks

### Details

N/A

```python
# [ ] stays
Fixes #1
```

## Migration plan

Fixes #12, closes owner/name#13
https://example.com/issues/14
Signed-off-by: A Person <a.person@example.com>

---------

Co-authored-by: Another <b@example.com>
🤖 Generated with [Claude Code](https://example.com)
"""


def test_a_form_leaves_what_somebody_wrote() -> None:
    assert (
        clean_description(FORM)
        == """## Description of changes

Retry the write once, since the follower may be behind.
See https://example.com/design for why.

## Test plan

### Details

```python
# [ ] stays
Fixes #1
```"""
    )
    assert count_prose_characters(FORM) == len("Retry the write once, since the follower may be behind. See for why.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Updates #cleanup",
        "Updates #20220\nUpdates tailscale/corp#22467",
        "Fixes: https://example.com/a/b/issues/4612.",
        "Closes TUN-10216",
        "- [ ] one\n- [x] two\n   and more of it",
        "See also: GH-17",
        "![image](https://example.com/a.png)",
        '<img width="803" alt="image" src="https://example.com/a.png" />',
        "cc @somebody",
        "None",
        "None required.",
        "- [ x] done\n- [x ] done too",
        "Part of #1 and #2",
        "Fixes issue 358.",
        "<!-- never closed",
        "Reviewed-on: https://example.com/1\n(cherry picked from commit 0123456789abcdef)",
    ],
)
def test_references_and_forms_alone_say_nothing(text: str) -> None:
    assert clean_description(text) == ""
    assert count_prose_characters(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "Fixes a dropped assignment in the reconciler.",
        "Since #17567 every file is read twice.",
        "RELNOTE: the port may be left out",
        "Note: this needs a restart",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "return a[ ] when empty",
    ],
)
def test_sentences_stay_as_they_are(text: str) -> None:
    assert clean_description(text) == text
    assert count_prose_characters(text) > 0


def test_code_urls_and_headings_are_no_prose() -> None:
    text = "# Heading\n\nOne `two`   three\nhttps://example.com/x y\n```\ncode\n```\n[four](https://example.com)  five"
    assert count_prose_characters(text) == len("One two three y four five")


def test_trailers_are_counted_wherever_they_stand() -> None:
    signed = "* one\n\nSigned-off-by: A <a@example.com>\n\n* two\n\nChange-Id: I0123\n"
    text = f"{signed}co-authored-by: B <b@example.com>\n---\n"
    assert remove_trailers(text) == ("* one\n\n\n* two", 3)
    assert remove_trailers("Reviewed by nobody\n\n---\nx") == ("Reviewed by nobody\n\n---\nx", 0)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("write to a.b+c@mail.example.com.", "write to <email>."),
        ("<x_y@example.org>: ask", "<<email>>: ask"),
        ("bump github.com/go-git/go-git/v5@v5.19.0", "bump github.com/go-git/go-git/v5@v5.19.0"),
        ("npm i thing@4.17.21 @types/node@20.1.0-beta.x", "npm i thing@4.17.21 @types/node@20.1.0-beta.x"),
        ("clone git@github.com:a/b.git", "clone git@github.com:a/b.git"),
        ("@Override foo@bar", "@Override foo@bar"),
    ],
)
def test_addresses_of_people_are_masked(text: str, masked: str) -> None:
    assert redact_emails(text) == masked


def test_lines_of_a_repositorys_own_form_are_found() -> None:
    texts = [f"Summary of impact\nchange {number}\nAsk in the room below" for number in range(30)]
    form = template_lines([*texts, "", "plain"])
    assert form == {"Summary of impact", "Ask in the room below"}
    assert clean_description(texts[3], form) == "change 3"
    assert count_prose_characters(texts[3], form) == len("change 3")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 60000,
        "<" * 60000,
        "<!--" * 20000,
        "a@" * 40000,
        "a." * 40000 + "@",
        "# " * 40000,
        " " * 100000 + "x",
        "fixes " * 20000,
        "(" * 50000,
        "https://" * 15000,
        "`" * 60000,
        "[a](" * 20000,
        "**a" * 30000,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    begin = time.process_time()
    clean_description(text)
    count_prose_characters(text)
    redact_emails(text)
    assert time.process_time() - begin < 5


# --- the review, and the title again ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "* Address review feedback",
        "- fix cr",
        "address comments",
        "Addressed all of Ann's review comments",
        "PTAL",
        "PTAL again",
        "* rebase",
        "Rebase onto main",
        "fixup! Read the header",
        "* Apply suggestions from code review",
        "nit",
        "* more nits",
        "* fix lint",
        "* Fix tests",
        "- fix CI",
        "* fix the failing tests again",
        "wip",
        "WIP: half of it",
        "* Update snapshots",
        "* Merge branch 'main' into topic",
        "* resolve merge conflicts",
        "LGTM",
        "* PR feedback",
        "* updated per review",
        "* trigger ci",
        "* typo",
        "Address reviewer's concerns with pull request",
        "Applied reviewer's suggestion to the reader",
        "nitpick: order of names",
        "Address review: shorter names",
        "address Ann's PR feedback",
        "after MR feedback",
        "* pre-commit fixes",
        "* Update CHANGELOG",
        "Update CHANGELOG.md",
    ],
)
def test_lines_about_the_review_go(line: str) -> None:
    said = "The reader asks for the header first, so that nothing is lost."
    assert clean_description(f"{said}\n\n{line}\n") == said
    assert clean_description(f"{line}\n\n{said}") == said
    assert clean_description(f"```\n{line}\n```").startswith("```\n")  # code is not read


@pytest.mark.parametrize(
    "line",
    [
        "Address space is now 64 bits wide",
        "Review apps are now deployed by hand",
        "* Comments are kept in the output",
        "* Fix tests for leap years in the calendar",
        "* Update the lint rule for imports",
        "Rebase the cursor on scroll",
        "* Merge two lists of names",
        "format numbers with commas",
        "* Fix typo in the name of the option",
        "The feedback form asks for less",
        "Tests:",
        "nitrogen",
        "* Draft orders can be sent",
    ],
)
def test_what_only_begins_like_one_stays(line: str) -> None:
    text = f"It is faster now.\n\n{line}\n\nAnd smaller."
    assert clean_description(text) == text


def test_the_end_of_a_wrapped_sentence_stays() -> None:
    text = "The printer has its own rules for tables, and for\nformatting.\nIt leaves alone what is\nwhitespace."
    assert clean_description(text) == text


@pytest.mark.parametrize(
    ("title", "first"),
    [
        ("Read the header first", "* Read the header first"),
        ("Read the header first (#12)", "Read the header first."),
        ("reader: read the header first", "- read the header first (#12)"),
        ("Read the header first", "feat(reader): Read the header first"),
        ("fix(reader): read `header` first", "1. Read header first!"),
        ("Read the header first", "## Read the Header First"),
        ("[reader] Read the header first", "Read the header first"),
    ],
)
def test_the_title_again_goes(title: str, first: str) -> None:
    said = "Nothing is lost when it comes late."
    assert clean_description(f"{first}\n\n{said}", title=title) == said
    assert clean_description(f"{first}\n\n{said}") == f"{first}\n\n{said}"
    assert count_prose_characters(f"{first}\n\n{said}", title=title) == len(said)


def test_the_title_goes_as_first_sentence_and_as_entry_and_nowhere_else() -> None:
    title = "Read the header first"
    assert clean_description("Read the header first. It tells the length.", title=title) == "It tells the length."
    assert clean_description("* Skip blanks\n* Read the header first", title=title) == "* Skip blanks"
    longer = "Read the header first and the body then.\n\nWe read the header first."
    assert clean_description(longer, title=title) == longer
    assert (
        clean_description("Fix it\n\nFix it, at last.", title="Fix it") == "Fix it\n\nFix it, at last."
    )  # too short to tell


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("[MRG+1] Add a feed exporter", "Add a feed exporter"),
        ("[MRG+2] [WIP] Fix the downloader", "Fix the downloader"),
        (" [wip]: Fix the downloader ", "Fix the downloader"),
        ("[MRG+1-1] x", "[MRG+1-1] x"),
        ("[RFC][MRG] Keep headers", "Keep headers"),
        ("[docs] Say what a spider is", "[docs] Say what a spider is"),
        ("[WIP]", "[WIP]"),
        ("Return [MRG+1] as text", "Return [MRG+1] as text"),
    ],
)
def test_titles_lose_marks_of_their_review(title: str, shown: str) -> None:
    assert clean_title(title) == shown
