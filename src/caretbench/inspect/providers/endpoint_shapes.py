"""Shapes of fill-in-the-middle endpoints. The data are in ``fim_shapes.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from pydantic import Field, JsonValue, model_validator

from caretbench.errors import UsageError
from caretbench.files import read_packaged_toml
from caretbench.models import PromptKind
from caretbench.problem import Row

ValueName = Literal[
    "model", "prefix", "suffix", "text", "files", "instruction", "max_tokens", "temperature", "top_p",
    "seed", "stop", "samples", "context_tokens", "messages", "response_format",
]  # fmt: skip
"""Fields of a request that a body may contain."""

StopReason = Literal["stop", "max_tokens", "model_length", "content_filter", "unknown"]
"""Inspect's words that apply to completions."""


class AnswerPaths(Row):
    """JSON paths of text and finish reason in an answer, or in one event of a streamed answer.

    ``choices`` is the list of the answers (empty: the object itself is the only one), the others are places in each
    of them. ``done`` is true in the last piece.
    """

    choices: str
    index: str | None = None
    text: str
    finish: str
    done: str | None = None


class RequestForm(Row):
    """Form of a request: URL path, and the JSON path of each value in the body.

    ``empty_suffix`` names the form that is taken where the suffix is empty. ``file_path`` and ``file_text`` are the
    names of the two fields of one entry of ``files``. ``answer`` and ``chunk`` replace those of the shape.
    """

    path: str = Field(pattern=r"^/")
    body: Mapping[str, ValueName]
    fixed: Mapping[str, JsonValue] = Field(default_factory=dict)
    empty_suffix: Literal["fill", "text"] = "fill"
    file_path: str = "path"
    file_text: str = "text"
    answer: AnswerPaths | None = None
    chunk: AnswerPaths | None = None


class UsagePaths(Row):
    """JSON paths of the token counts in an answer."""

    input: str
    output: str
    cached: str | None = None
    reasoning: str | None = None


class ErrorHint(Row):
    """Hint shown after a server's error message if status and text match."""

    message: str
    status: int | None = None
    contains: str | None = None

    def applies(self, status: int | None, text: str) -> bool:
        """Return whether the hint belongs to this error."""
        return (self.status is None or self.status == status) and (
            self.contains is None or self.contains.lower() in text.lower()
        )


class EndpointShape(Row):
    """Completion endpoint in the form of one vendor.

    ``base_url_endings`` are taken off a base URL (other software wants them there). A key is needed only at the
    vendor's own address: a server of one's own may have none. ``stop_texts``: how many stop texts a request to the
    vendor's own address may hold. A finish reason of ``interrupted`` means that the
    answer is not whole.
    """

    name: str
    title: str
    base_url: str
    base_url_variables: tuple[str, ...]
    base_url_endings: tuple[str, ...] = ()
    key_variables: tuple[str, ...] = ()
    needs_key: bool = False
    stop_texts: int | None = Field(default=None, ge=1)
    key_header: str = "Authorization"
    key_scheme: str = "Bearer"
    stream: Literal["sse", "ndjson"]
    when_streaming: Mapping[str, JsonValue]
    when_whole: Mapping[str, JsonValue] = Field(default_factory=dict)
    fill: RequestForm
    text: RequestForm | None = None
    chat: RequestForm | None = None
    answer: AnswerPaths
    chunk: AnswerPaths
    usage: UsagePaths
    stop_reasons: Mapping[str, StopReason]
    interrupted: tuple[str, ...] = ()
    hints: tuple[ErrorHint, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> EndpointShape:
        if self.fill.empty_suffix == "text" and self.text is None:
            raise ValueError(f"{self.name}: an empty suffix is to go by the form `text`, which is not there")
        if not {"prefix", "suffix"} <= set(self.fill.body.values()):
            raise ValueError(f"{self.name}: prefix and suffix have no place in the body")
        if self.text is not None and "text" not in self.text.body.values():
            raise ValueError(f"{self.name}: the text has no place in the body")
        return self

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt that the endpoint takes."""
        return frozenset({"fill"} if self.text is None else {"fill", "text"})

    @property
    def several_per_request(self) -> bool:
        """Return whether one request can ask for several answers."""
        return "samples" in self.fill.body.values()

    def has_place_for(self, name: ValueName) -> bool:
        """Return whether the body of one of its requests has a place for a value."""
        forms = (self.fill, self.text, self.chat)
        return any(name in form.body.values() for form in forms if form is not None)

    def address(self, base_url: str) -> str:
        """Return ``base_url`` without a final slash and without the endings in ``base_url_endings``."""
        address = base_url.strip().rstrip("/")
        for ending in self.base_url_endings:
            address = address.removesuffix(ending).rstrip("/")
        return address

    def body(
        self, form: RequestForm, values: Mapping[str, JsonValue], *, stream: bool
    ) -> tuple[dict[str, JsonValue], tuple[str, ...]]:
        """Return the JSON body of a request, and the names of values that ``form`` cannot transmit.

        A value that is None is not sent.
        """
        body: dict[str, JsonValue] = {}
        fixed = form.fixed | (self.when_streaming if stream else self.when_whole)  # type: ignore[operator]
        for path, value in fixed.items():
            _put(body, path, value)
        for path, name in form.body.items():
            if values.get(name) is not None:
                _put(body, path, values[name])
        placed = set(form.body.values())
        return body, tuple(name for name, value in values.items() if value is not None and name not in placed)


def _put(body: dict[str, JsonValue], place: str, value: JsonValue) -> None:
    *path, last = place.split(".")
    target = body
    for key in path:
        inner = target.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{place}: {key} is no object")  # noqa: TRY004 (a fault of the table)
        target = inner
    target[last] = value


def value_at(data: JsonValue, place: str | None) -> JsonValue:
    """Return the value at ``place`` (names divided by dots), or None if there is none."""
    if place is None:
        return None
    value: JsonValue = data
    for key in place.split(".") if place else ():
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


@cache
def endpoint_shapes() -> Mapping[str, EndpointShape]:
    """Return all shapes by name, in the order of the table."""
    table = read_packaged_toml("caretbench.inspect.providers", "fim_shapes.toml")
    return {name: EndpointShape(name=name, **entry) for name, entry in table.items()}


def endpoint_shape(name: str) -> EndpointShape:
    """Return the shape called ``name``.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in endpoint_shapes():
        raise UsageError(
            f"no endpoint has the shape {name!r}: fim/SHAPE/MODEL with SHAPE one of {', '.join(endpoint_shapes())}"
        )
    return endpoint_shapes()[name]
