"""Configuration of the models of a build: one for each role, sampling, connection, budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from caretbench.models import ClientOptions, Sampling
from caretbench.runs.plans.config import SamplingConfig, validation_message
from caretbench.runs.plans.plan import override_sampling
from caretbench.runs.plans.prices import Price, Prices
from caretbench.runs.plans.roles import RESERVED_ROLES, NamedModel, parse_model_option, refuse_remote


@dataclass(frozen=True)
class BuildModelsConfig:
    """Configuration of the models of a build.

    Args:
        models: One model for each role that has one.
        sampling: Replaces fields of the sampling that the suite's requests have.
        options: Connection of every model.
        prices: Prices of tokens.
        max_cost: US dollars over the whole build, earlier calls included.
        local_only: Refuse every remote model.

    Raises:
        ValueError: a model is refused, a value is out of range, or a limit cannot be kept.
    """

    models: Mapping[str, NamedModel] = field(default_factory=dict)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    options: ClientOptions = field(default_factory=ClientOptions)
    prices: Prices = field(default_factory=Prices)
    max_cost: float | None = None
    local_only: bool = False

    def __post_init__(self) -> None:
        specs = [model.spec for model in self.models.values()]
        if self.local_only:
            refuse_remote(specs, [self.options.base_url])
        if self.options.base_url is not None and len({spec.partition("/")[0] for spec in specs}) > 1:
            raise ValueError(
                "--base-url: the models have several providers, and a key is sent to this address; set the address of "
                "each by its provider's environment variable"
            )
        unpriced = [model.name for role, model in self.models.items() if self.price(role) is None]
        if self.max_cost is not None and unpriced:
            raise ValueError(
                f"no price is known for {', '.join(unpriced)}, so --max-cost cannot be kept; give one in a file: "
                "--prices FILE"
            )
        self.request_sampling(Sampling())

    def price(self, role: str) -> Price | None:
        """Return the price of a role's model, where it is known."""
        return self.prices.find(self.models[role].spec)

    def request_sampling(self, sampling: Sampling) -> Sampling:
        """Return a request's sampling, overridden by the sampling settings of this configuration.

        Raises:
            ValueError: a value is out of its range.
        """
        try:
            return override_sampling(self.sampling, sampling)
        except ValidationError as error:
            raise ValueError(f"sampling: {validation_message(error)}") from None


def models_by_role(suite: str, roles: Mapping[str, str], options: Iterable[str]) -> dict[str, NamedModel]:
    """Return the models of ``-m ROLE=SPEC`` options by role; ``roles`` are the suite's, each with its purpose.

    Raises:
        ValueError: an option names no role of the suite, or a role is given twice.
    """
    if strange := [role for role in roles if role not in RESERVED_ROLES]:
        raise ValueError(
            f"{suite} has the role {strange[0]!r}, which is not reserved; reserved: {', '.join(RESERVED_ROLES)}"
        )
    known = "; ".join(f"{role} ({purpose})" for role, purpose in roles.items())
    found: dict[str, NamedModel] = {}
    for option in options:
        model = parse_model_option(option)
        if model.role is None or model.role not in roles:
            raise ValueError(f"-m {option!r}: expected ROLE=PROVIDER/MODEL; roles of build {suite}: {known}")
        if model.role in found:
            raise ValueError(f"-m {option!r}: the role {model.role!r} has a model already")
        found[model.role] = model
    return found
