"""Token counting by a model's own ``tokenizer.json``, with the optional library ``tokenizers``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from caretbench.errors import DataError, MachineError
from caretbench.prompts.fim.detection import fim_formats, read_special_tokens, sentinels_split_by_tokenizer


class TokenizerFile:
    """A tokenizer file: the number of tokens of a text, and the texts that are one special token."""

    def __init__(self, path: Path) -> None:
        """Read ``path``.

        Raises:
            DataError: it is no tokenizer file.
            MachineError: the library ``tokenizers`` is not installed.
        """
        try:
            from tokenizers import Tokenizer as Library
        except ImportError:
            raise MachineError(
                "counting tokens by a tokenizer.json needs the library tokenizers: pip install 'caretbench[local]'"
            ) from None
        try:
            text = path.read_text(encoding="utf-8")
            self._library: Any = Library.from_str(text)
            added = json.loads(text).get("added_tokens") or []
            self.control_tokens = frozenset(str(token["content"]) for token in added if token.get("special"))
            """Added tokens that are marked as special."""
            special = read_special_tokens(path)
        except OSError as error:
            raise DataError(f"{path}: {error.strerror or 'cannot be read'}") from None
        except Exception as error:
            raise DataError(f"{path} is no tokenizer.json: {' '.join(str(error).split())[:200]}") from None
        # A sentinel may be in the vocabulary, and yet be read in pieces: then it is no sentinel.
        split = {
            token for entry in fim_formats().values() for token in sentinels_split_by_tokenizer(entry, self._encode)
        }
        self.special_tokens = frozenset(token for token in special if token.removeprefix("\u2581") not in split)
        """Texts that are read as one token of their own: added tokens, marked as special or not, and sentinels of the
        plain vocabulary."""

    def _encode(self, text: str) -> list[int]:
        return list(self._library.encode(text, add_special_tokens=False).ids)

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``, without those that a model's template adds."""
        return len(self._encode(text))
