"""Checkpoints and tokenizers as Hugging Face stores them: needed packages, special tokens, counts of tokens."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from caretbench.errors import DataError, MachineError
from caretbench.prompts.fim.families import (
    TOKENIZER_FILES,
    fim_formats,
    read_special_tokens,
    sentinels_split_by_tokenizer,
)

CHECKPOINT_PROVIDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "hf": ("torch", "transformers", "accelerate"),
    "vllm": ("vllm",),
    "vllm-completions": ("vllm",),
}
"""Providers of checkpoints, and the packages that each of them needs."""

_TEMPLATE_FILES = ("chat_template.jinja", "chat_template.json")
_CONTEXT_FIELDS = ("max_position_embeddings", "n_positions", "seq_length")


class CheckpointFacts(NamedTuple):
    """Facts about a checkpoint, read from its tokenizer's files and its ``config.json``."""

    special_tokens: frozenset[str]
    has_chat_template: bool
    context_tokens: int | None


def check_packages(spec: str, base_url: str | None, arguments: Mapping[str, JsonValue]) -> None:
    """Raise if a package is missing that runs a checkpoint here. A vLLM server that runs already needs none.

    Raises:
        MachineError: the package is not installed; the message names the remedy.
    """
    provider, _, name = spec.partition("/")
    # A vLLM server that runs already has its own packages.
    elsewhere = base_url or os.environ.get("VLLM_BASE_URL") or "port" in arguments
    if provider.startswith("vllm") and elsewhere:
        return
    missing = [package for package in CHECKPOINT_PROVIDERS.get(provider, ()) if find_spec(package) is None]
    if missing:
        raise MachineError(
            f"{spec}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: pip install "
            f"{' '.join(missing)}; or ask a server that runs already: -m server/{Path(name).name}@URL"
        )


def checkpoint_facts(name: str) -> CheckpointFacts | None:
    """Return the facts about a checkpoint: a folder, or a name whose files are in the cache of Hugging Face.

    None if no file of its tokenizer is on this machine.

    Raises:
        DataError: a file is malformed.
    """
    folder = Path(name) if Path(name).is_dir() else _cached(name.partition(":")[0])
    if folder is None or not any((folder / file).is_file() for file in TOKENIZER_FILES):
        return None
    template = "chat_template" in _json(folder / "tokenizer_config.json")
    template = template or any((folder / file).is_file() for file in _TEMPLATE_FILES)
    config = _json(folder / "config.json")
    lengths = [value for field in _CONTEXT_FIELDS if isinstance(value := config.get(field), int) and value > 0]
    return CheckpointFacts(read_special_tokens(folder), template, lengths[0] if lengths else None)


def _json(path: Path) -> dict[str, JsonValue]:
    """Return the object in a file; empty if there is no such file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    # RecursionError: a file of nested brackets, from a folder of unknown origin.
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return content if isinstance(content, dict) else {}


def _cached(name: str) -> Path | None:
    """Return the folder of a repository's files in the cache of Hugging Face."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    repository = Path(os.environ.get("HF_HUB_CACHE") or home / "hub") / f"models--{name.replace('/', '--')}"
    try:
        # The cache keeps every revision that was ever loaded; `main` names the one that is loaded next.
        revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    folder = repository / "snapshots" / revision
    return folder if folder.is_dir() else None


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
