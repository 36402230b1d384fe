"""The table of FIM families is read strictly: an entry that does not make sense is refused with its reason."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from caretbench.prompts.fim.families import FimFormat, fim_formats

ENTRY: dict[str, Any] = {
    "name": "example",
    "title": "Example",
    "models": ["*example*"],
    "identified_by": ["<p>", "<s>", "<m>"],
    "stop": ["<e>"],
    "orders": {"psm": "<p>{files}{prefix}<s>{suffix}<m>"},
    "source": "a test",
}


def test_a_small_entry_is_enough() -> None:
    entry = FimFormat.model_validate(ENTRY)
    assert (entry.order, entry.version, entry.file) == ("psm", 1, None)
    assert entry.render("P", "S", language="python") == ("<p>P<s>S<m>", ("<e>",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"orders": {}}, "at least 1 item"),
        ({"orders": {"msp": "{files}{prefix}{suffix}"}}, "'psm' or 'spm'"),
        ({"orders": {"psm": "<p>{prefix}<s>{suffix}<m>"}}, "psm has to hold prefix, suffix and files, each once"),
        ({"orders": {"psm": "{files}{prefix}{suffix}{suffix}"}}, "each once"),
        ({"orders": {"psm": "<s>{suffix}{files}{prefix}"}}, "psm has its prefix and suffix in the other order"),
        ({"orders": {"spm": "{files}{prefix}{suffix}"}}, "spm has its prefix and suffix in the other order"),
        ({"orders": {"psm": "{files}<p>{prefix}{suffix}"}}, r"has to hold \{files\}\{prefix\}"),
        ({"orders": {"psm": "{files}{prefix}{suffix}{middle}"}}, r"psm holds \{middle\}; it may hold files, language"),
        ({"file": "{path}{content}"}, r"file holds \{content\}; it may hold newline, path, text"),
        ({"pieces": {"header": {"when": ["files"], "text": "{prefix}"}}}, r"piece header holds \{prefix\}"),
        ({"pieces": {"suffix": {"when": ["files"], "text": ""}}}, "cannot be named suffix"),
        ({"pieces": {"header": {"when": [], "text": ""}}}, "at least 1 item"),
        ({"pieces": {"header": {"when": ["sunny"], "text": ""}}}, "'files', 'path' or 'repository'"),
        ({"stop": []}, "at least 1 item"),
        ({"identified_by": ["<p>"]}, "at least 2 items"),
        ({"models": []}, "at least 1 item"),
        ({"middle": "<m>"}, "Extra inputs are not permitted"),
    ],
)
def test_an_entry_that_makes_no_sense(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        FimFormat.model_validate(ENTRY | change)


@pytest.mark.parametrize("family", sorted(fim_formats()))
def test_every_entry_is_whole(family: str) -> None:
    entry = fim_formats()[family]
    assert entry.source
    assert all(text.strip() for text in (*entry.identified_by, *entry.stop, *entry.reserved))
    listed = [*entry.stop, *entry.reserved]
    assert len(listed) == len(set(listed))
    for order, template in entry.orders.items():
        assert any(token in template for token in entry.identified_by), order
    if entry.detected_as:
        told = fim_formats()[entry.detected_as]
        assert set(told.identified_by) <= set(entry.identified_by)
