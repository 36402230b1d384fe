"""Model clients: their prompts, requests and answers, with usage and latency.

A stage is handed a :class:`ModelClient`; it never imports one. A client sends what a prompt strategy rendered: it
neither writes prompts nor cuts answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import Field, JsonValue

from caretbench.problem import ContextFile, Latency, Row, Usage


class Sampling(Row):
    """Sampling settings. A field that is None is not sent, so that the provider's default applies.

    ``max_tokens`` is never left to a provider (some take 1, some endlessly many).
    """

    # Servers of one's own have defaults from 1 token to no limit at all, so that two runs could not be compared.
    max_tokens: int = Field(default=800, ge=1)
    temperature: float | None = Field(default=0.2, ge=0)
    top_p: float | None = Field(default=1.0, gt=0, le=1)
    seed: int | None = None


class Message(Row):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


class ChatPrompt(Row):
    """A conversation that the model continues with one turn.

    ``schema_name`` and ``json_schema`` ask for an answer in JSON of that form, where the provider can enforce one.
    """

    kind: Literal["chat"] = "chat"
    messages: tuple[Message, ...] = Field(min_length=1)
    stop: tuple[str, ...] = ()
    schema_name: str | None = None
    json_schema: Mapping[str, JsonValue] | None = None


class TextPrompt(Row):
    """A text that the model continues, token by token, sentinels included.

    Where ``letters`` are given, the answer is the one that is likeliest as the first token, and no text is written.
    ``blanks`` are those before the caret that the text leaves to the model.
    """

    kind: Literal["text"] = "text"
    text: str
    stop: tuple[str, ...] = ()
    letters: tuple[str, ...] = ()
    # Not sent, and not in hashes of stored requests, which were made without it.
    blanks: str = Field(default="", exclude=True)

    def at_caret(self, answer: str) -> str:
        """Return the answer without those of its first blanks that are before the caret."""
        # A model that writes other line ends than the file's writes no second one.
        blanks = self.blanks if answer.startswith("\r") else self.blanks.replace("\r", "")
        equal = takewhile(lambda pair: pair[0] == pair[1], zip(answer, blanks, strict=False))
        return answer[sum(1 for _ in equal) :]


class FillPrompt(Row):
    """Text before and after the caret, for an endpoint (or a program) that places its sentinels itself."""

    kind: Literal["fill"] = "fill"
    prefix: str
    suffix: str
    language: str
    path: str | None = None
    instruction: str | None = None
    files: tuple[ContextFile, ...] = ()
    stop: tuple[str, ...] = ()


Prompt = Annotated[ChatPrompt | TextPrompt | FillPrompt, Field(discriminator="kind")]
PromptKind = Literal["chat", "text", "fill"]


class ModelRequest(Row):
    """One prompt, and the numbers of the requested samples. ``id`` is unique among requests in flight."""

    id: str
    prompt: Prompt
    samples: tuple[int, ...] = Field(default=(0,), min_length=1)
    sampling: Sampling = Sampling()


FailureKind = Literal["provider", "timeout", "refused", "unpromptable", "budget"]
"""``refused``: the provider will never answer this request as it is (too long, malformed, not allowed)."""


class ModelAnswer(Row):
    """Answer to one sample. ``finish_reason`` is ``stop``, ``length``, or the provider's own value.

    ``text`` is None where the provider answered with nothing at all (no content, not the empty text).
    ``usage`` and ``latency`` are of the whole request: ``usage.answers`` tells how many answers share it.
    """

    request_id: str
    sample: int
    text: str | None
    finish_reason: str | None = None
    usage: Usage | None = None
    latency: Latency | None = None
    served_by: str | None = None
    """The model's name and version as the provider reports it."""
    log_probabilities: Mapping[str, float] | None = None
    """Natural log-probabilities of the prompt's letters, if it has some, as far as the provider returns them."""


class ModelFailure(Row):
    """Failed samples, after all tries. ``message`` contains no key."""

    request_id: str
    samples: tuple[int, ...]
    kind: FailureKind
    message: str
    attempts: int = 1


class ModelClient(Protocol):
    """Client of one model. Use it as a context manager: it may hold a server or a thread."""

    @property
    def name(self) -> str:
        """Name on the command line: ``openai/gpt-4o-mini``, ``gguf/model.gguf``."""

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt that can be sent."""

    @property
    def returns_log_probabilities(self) -> bool:
        """Return whether the model returns log-probabilities of the likeliest first tokens after a text."""

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Settings that influence answers in addition to the sampling: hash of the weights, engine, mode, address.

        Part of the key of every completion, and of the manifest. Never a key or a password.
        """

    @property
    def context_tokens(self) -> int | None:
        """Context length in tokens, prompt and answer together; None if unknown."""

    def submit(self, requests: Iterable[ModelRequest]) -> Iterator[ModelAnswer | ModelFailure]:
        """Send the requests and yield an answer or a failure for every sample, in any order.

        Requests are taken from the iterable only as fast as they can be sent, so that the caller may stop (a budget
        is spent) and memory stays flat. An answer is given as soon as it is there. Closing the generator, or an
        exception in the caller, cancels what is under way.
        """

    def count_tokens(self, text: str) -> int | None:
        """Return the number of tokens of ``text`` by the model's own tokenizer; None where none is known."""

    def special_tokens(self) -> frozenset[str] | None:
        """Return the texts of the model's special tokens; None if its vocabulary is unknown."""

    def control_tokens(self) -> frozenset[str]:
        """Return texts that the model reads as control tokens, not as text, in any prompt; empty if unknown."""

    def close(self) -> None:
        """Close connections and servers."""

    def __enter__(self) -> ModelClient: ...

    def __exit__(self, *details: object) -> None: ...


Mode = Literal["reproducible", "fast"]
"""Mode of a local server: one slot and no prompt cache, or several with one."""


class ClientOptions(Row):
    """Connection settings of one model, independent of its requests.

    ``connections`` requests are under way at once. A try ends after ``timeout_s`` seconds; a request after
    ``max_retries`` tries beyond the first. ``retry_wait_s`` is the first pause between tries, in seconds; each
    following one is longer, up to ``retry_wait_limit_s`` (a server's Retry-After may ask for more, up to that limit).
    ``per_request``: n samples by one request; None: where the provider is known to honour it.
    ``mode`` and ``threads`` are of local servers. ``context_tokens`` is the room for prompt and answer together,
    where the provider does not tell it; ``uncut`` means that no prompt can be shortened, and a local server then
    gives more room by default. ``headers`` go with every request and are stored nowhere. ``tokenizer`` is the model's
    own ``tokenizer.json``. ``model_args`` go to the provider as they are.
    """

    connections: int = Field(default=8, ge=1, le=1000)
    timeout_s: float = Field(default=120, gt=0)
    max_retries: int = Field(default=5, ge=0)
    retry_wait_s: float = Field(default=3, ge=0)
    retry_wait_limit_s: float = Field(default=120, ge=0)
    per_request: bool | None = None
    base_url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    mode: Mode = "reproducible"
    threads: int | None = Field(default=None, ge=1)
    context_tokens: int | None = Field(default=None, ge=1)
    uncut: bool = False
    stream: bool = True
    tokenizer: Path | None = None
    model_args: dict[str, JsonValue] = Field(default_factory=dict)
    batch: Path | None = None
    """File of the states of batches, by which all requests are sent; None: they are sent one by one."""


class DryRunOptions(ClientOptions):
    """Options of a client through which nothing will be sent: it needs no key."""


ClientOpener = Callable[[str, ClientOptions], ModelClient]
"""Function that opens the client of a model by its name, PROVIDER/MODEL."""


def without_sending(opener: ClientOpener) -> ClientOpener:
    """Return an opener of clients for a dry run, which need no key."""
    return lambda spec, options: opener(spec, DryRunOptions(**options.model_dump(exclude_unset=True)))


AccessCheck = Callable[[str, ClientOptions], None]
"""Function that raises if it is already known that a model, by its name and options, cannot be asked."""


def unchecked(_spec: str, _options: ClientOptions) -> None:
    """Accept every model: the :data:`AccessCheck` of a caller who opens models in another way."""
