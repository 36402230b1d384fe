"""``hf/PATH`` and ``vllm/PATH``: a checkpoint on this machine's GPU, asked by raw text or in conversations.

Inspect's own providers run it. They put a template around every message; here a text is sent as it is.
"""

from __future__ import annotations

import importlib.metadata
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelCall, ModelOutput, get_model
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import JsonValue

from caretbench.errors import DataError
from caretbench.inspect.client.checkpoint_files import check_packages, checkpoint_facts
from caretbench.inspect.client.messages import PROMPT_KIND
from caretbench.local.weights import folder_sha256, split_adapter
from caretbench.models import PromptKind
from caretbench.redaction import is_secret_name

_AS_IT_IS = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""Chat template that adds nothing."""


# Inspect's providers of these names put a base model's text into a conversation.
class CheckpointAPI(ModelAPI):
    """Provider for a checkpoint, through Inspect's provider of the same engine.

    Args:
        model_name: ``ENGINE/PATH`` or ``ENGINE/PATH+ADAPTER``, the engine ``hf`` or ``vllm``. ADAPTER is a folder of
            PEFT.
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
        self.engine, _, target = model_name.partition("/")
        self.path, adapter = split_adapter(target)
        self._adapter = Path(adapter).resolve() if adapter else None
        if self._adapter is not None and not (self._adapter / "adapter_config.json").is_file():
            raise DataError(f"{model_name}: no adapter of PEFT in {adapter}")
        self._arguments = {key: value for key, value in arguments.items() if not is_secret_name(key)}
        self.facts = checkpoint_facts(self.path)
        self._text: ModelAPI | None = None
        self._chat: ModelAPI | None = None
        if sends:
            check_packages(model_name, base_url, arguments)
            common: dict[str, Any] = {"base_url": base_url, "memoize": False} | arguments
            common |= {} if api_key is None else {"api_key": api_key}
            # vLLM's provider loads an adapter that is named behind a colon.
            name = self.path + (f":{self._adapter}" if self._adapter is not None and self.engine == "vllm" else "")
            self._chat = get_model(f"{self.engine}/{name}", **common).api
            # vLLM's two share one server; two of Hugging Face's would load the weights twice.
            self._text = get_model(f"vllm-completions/{name}", **common).api if self.engine == "vllm" else self._chat
            if self.engine == "hf" and self._adapter is not None:
                weights: Any = self._chat
                weights.model.load_adapter(str(self._adapter))

    @property
    def accepts(self) -> frozenset[PromptKind]:
        """Kinds of prompt: text always; conversations unless the tokenizer has no chat template."""
        chat = self.facts is None or self.facts.has_chat_template
        return frozenset({"text", "chat"} if chat else {"text"})

    def identity(self) -> dict[str, JsonValue] | None:
        """Return the hashes of weights and adapter, engine and arguments; None where the weights are not a folder."""
        folder = Path(self.path)
        if not folder.is_dir() or self.engine != "hf":
            return None
        version = importlib.metadata.version("transformers") if find_spec("transformers") else "not installed"
        return {
            "weights_sha256": folder_sha256(folder),
            **({} if self._adapter is None else {"adapter_sha256": folder_sha256(self._adapter)}),
            "engine": f"transformers {version}",
            "arguments": self._arguments,
        }

    def token_count(self, text: str) -> int | None:
        """Return the number of tokens of ``text``, where transformers has the tokenizer loaded."""
        tokenizer: Any = getattr(self._chat, "tokenizer", None)
        return None if tokenizer is None else len(tokenizer(text, add_special_tokens=False).input_ids)

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
            # So is this: sampling at temperature 0 would be refused.
            api.do_sample = config.temperature != 0
            if not api.do_sample:
                config = config.model_copy(update={"temperature": None, "top_p": None})
        output: ModelOutput | tuple[ModelOutput | Exception, ModelCall] = await api.generate(
            input, tools, tool_choice, config
        )
        if self.engine == "hf" and isinstance(output, ModelOutput):
            # It says "stop" of every answer, also of one that was cut at the limit.
            for choice in output.choices:
                cut = (self.token_count(choice.message.text) or 0) >= (config.max_tokens or math.inf)
                choice.stop_reason = "max_tokens" if cut else "stop"
        return output

    async def aclose(self) -> None:
        """Release the engine."""
        # Both are one API in Hugging Face's engine.
        for api in {id(loaded): loaded for loaded in (self._text, self._chat) if loaded is not None}.values():
            await api.aclose()
            if (client := getattr(api, "client", None)) is not None:
                await client.close()
