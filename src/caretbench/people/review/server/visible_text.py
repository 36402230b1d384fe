"""Text of strangers as safe HTML: markup is escaped, characters that nobody sees or that steer a screen are named."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from typing import Final

_NAMES: Final = {
    "\x00": "NUL", "\x07": "BEL", "\x08": "BS", "\x1b": "ESC", "\x7f": "DEL", "\x9b": "CSI", "\r": "CR", "\x0c": "FF",
    "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u200e": "LRM", "\u200f": "RLM", "\u061c": "ALM",
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO", "\u2066": "LRI",
    "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI", "\ufeff": "BOM", "\u2028": "LS", "\u2029": "PS",
}  # fmt: skip
"""Short names of control and format characters; the others are named by their number."""

_UNSEEN: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def visible_html(text: str) -> str:
    """Return the text as HTML, with a mark in the place of every character that is not seen or steers a screen.

    Tabs and line feeds stay.
    """
    return _UNSEEN.sub(lambda found: _mark(found.group()), html.escape(text))


@lru_cache(maxsize=256)
def _mark(character: str) -> str:
    name = _NAMES.get(character, f"U+{ord(character):04X}")
    title = html.escape(unicodedata.name(character, "CONTROL CHARACTER"))
    return f'<i class="sign" title="{title}">{name}</i>'
