"""``hf/PATH`` and ``vllm/PATH``: a checkpoint on this machine's GPU, asked by raw text or in conversations.

Inspect's own providers run it. They put a template around every message; here a text is sent as it is.
"""

from __future__ import annotations

from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelCall, ModelOutput, get_model
from inspect_ai.tool import ToolChoice, ToolInfo

from caretbench.inspect.client.checkpoint_files import check_packages, checkpoint_facts
from caretbench.inspect.client.messages import PROMPT_KIND
from caretbench.models import PromptKind

_AS_IT_IS = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""Chat template that adds nothing."""


class CheckpointAPI(ModelAPI):
    """Provider for a checkpoint, through Inspect's provider of the same engine.

    Args:
        model_name: ``ENGINE/PATH``, the engine ``hf`` or ``vllm``.
        base_url: Address of a vLLM server that runs already.
        api_key: As for Inspect's provider.
        config: As for every provider.
        sends: False where no prompt will be sent: no package is needed then, and nothing is loaded.
        arguments: Arguments of Inspect's provider.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (as in the base class; never changed)
        sends: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(model_name, base_url=base_url, api_key=api_key, config=config)
        self.engine, _, self.path = model_name.partition("/")
        self.facts = checkpoint_facts(self.path)
        self._text: ModelAPI | None = None
        self._chat: ModelAPI | None = None
        if sends:
            check_packages(model_name, base_url, arguments)
            common: dict[str, Any] = {"base_url": base_url, "memoize": False} | arguments
            common |= {} if api_key is None else {"api_key": api_key}
            self._chat = get_model(model_name, **common).api
            # vLLM's two share one server; two of Hugging Face's would load the weights twice.
            self._text = (
                get_model(f"vllm-completions/{self.path}", **common).api if self.engine == "vllm" else self._chat
            )

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt: text always; conversations unless the tokenizer has no chat template."""
        chat = self.facts is None or self.facts.has_chat_template
        return frozenset({"text", "chat"} if chat else {"text"})

    def special_tokens(self) -> frozenset[str] | None:
        """Return the special tokens of the tokenizer, if its files are here."""
        return None if self.facts is None else self.facts.special_tokens

    def context_tokens(self) -> int | None:
        """Return the context length of the checkpoint's configuration, if its files are here."""
        return None if self.facts is None else self.facts.context_tokens

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 (the base class's name)
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        """Send one request to the engine."""
        is_text = len(input) == 1 and (input[0].metadata or {}).get(PROMPT_KIND) == "text"
        api: Any = self._text if is_text else self._chat
        if api is None:
            raise RuntimeError(f"{self.model_name} was opened for a dry run")
        # Inspect's provider of Hugging Face has one template for all requests. It renders its prompt before it waits
        # for anything, so the template cannot be another request's.
        if self.engine == "hf":
            api.chat_template = _AS_IT_IS if is_text else None
        found: ModelOutput | tuple[ModelOutput | Exception, ModelCall] = await api.generate(
            input, tools, tool_choice, config
        )
        return found

    async def aclose(self) -> None:
        """Release the engine."""
        for api in {id(one): one for one in (self._text, self._chat) if one is not None}.values():
            await api.aclose()
            if (client := getattr(api, "client", None)) is not None:
                await client.close()
