"""Configuration of the models of a build: by role, sampling, connection, budget."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from pydantic import ValidationError

from caretbench.errors import UsageError
from caretbench.local.server_spec import SERVER
from caretbench.models import AccessCheck, ClientOptions, Sampling
from caretbench.redaction import redact
from caretbench.runs.plans.config import SamplingConfig, validation_message
from caretbench.runs.plans.plan import override_sampling
from caretbench.runs.plans.prices import Price, Prices, unpriced_error
from caretbench.runs.plans.roles import RESERVED_ROLES, NamedModel, parse_model_option, refuse_remote


@dataclass(frozen=True)
class BuildModelsConfig:
    """Configuration of the models of a build.

    Args:
        models: Models by role; several only for roles that the suite allows several for.
        sampling: Replaces fields of the sampling that the suite's requests have.
        options: Connection of every model.
        prices: Prices of tokens.
        max_cost: US dollars over the whole build, earlier calls included.
        local_only: Refuse every remote model.

    Raises:
        UsageError: a model is refused, a value is out of range, or a limit cannot be kept.
    """

    models: Mapping[str, tuple[NamedModel, ...]] = field(default_factory=dict)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    options: ClientOptions = field(default_factory=ClientOptions)
    prices: Prices = field(default_factory=Prices)
    max_cost: float | None = None
    local_only: bool = False

    def __post_init__(self) -> None:
        every = [*chain.from_iterable(self.models.values())]
        specs = [model.spec for model in every]
        if self.local_only:
            refuse_remote(specs, [self.options.base_url])
        # A key of one provider must never reach the server of another.
        if self.options.base_url is not None and len({spec.partition("/")[0] for spec in specs}) > 1:
            raise UsageError(
                "--base-url: the models have several providers, and a key is sent to this address; set the address of "
                "each by its provider's environment variable"
            )
        unpriced = [model.name for model in every if self.price(model) is None]
        # Refused before the first request: a budget that cannot be counted would be spent without end.
        if self.max_cost is not None and unpriced:
            raise unpriced_error(unpriced)
        # Out-of-range values show here, before sources are fetched for minutes.
        self.request_sampling(Sampling())

    def check_access(self, check: AccessCheck) -> None:
        """Check the access to every model."""
        for model in chain.from_iterable(self.models.values()):
            check(model.spec, self.options)

    def price(self, model: NamedModel) -> Price | None:
        """Return the price of a model, where it is known."""
        return self.prices.find(model.spec)

    def model(self, role: str, name: str | None = None) -> NamedModel:
        """Return the model of a role with a name; without one, the only model of the role.

        Raises:
            UsageError: there is no such model, or the role has several.
        """
        named = [model for model in self.models.get(role, ()) if name in {None, model.name}]
        if not named:
            raise UsageError(f"this build needs a model: -m {role}={name or 'PROVIDER/MODEL'}")
        if len(named) > 1:
            raise UsageError(f"{role}: the role has several models ({', '.join(model.name for model in named)})")
        return named[0]

    def request_sampling(self, sampling: Sampling) -> Sampling:
        """Return a request's sampling, overridden by the sampling settings of this configuration.

        Raises:
            UsageError: a value is out of its range.
        """
        try:
            return override_sampling(self.sampling, sampling)
        except ValidationError as error:
            raise UsageError(f"sampling: {validation_message(error)}") from None


def name_without_address(name: str) -> str:
    """Return the name of a model without the address of its server, the folder of its file, or its command's options.

    Rows and releases of a build show it: ``server/mine@http://10.0.0.9`` is ``server/mine``.
    """
    provider, _, model = name.partition("/")
    if provider == SERVER:
        model = re.sub(r"@(?:https?://.*|[^@]*)\Z", "", model)
    elif provider == "command":
        model = (model.split() or [model])[0].rpartition("/")[2]
    elif provider == "gguf":
        model = model.rpartition("/")[2]
    return f"{provider}/{model}" if model else provider


def _without_address(model: NamedModel) -> NamedModel:
    """Return a model whose name, unless the user gave it one, has no address."""
    # A name that the user chose is shown as it is.
    is_chosen = model.name != redact(model.spec)
    return model if is_chosen else model._replace(name=name_without_address(model.name))


def models_by_role(
    suite: str, roles: Mapping[str, str], options: Iterable[str], several: Collection[str] = ()
) -> dict[str, tuple[NamedModel, ...]]:
    """Return the models of ``-m ROLE=SPEC`` options by role.

    Args:
        suite: Name of the suite.
        roles: Roles of the suite, with their purposes.
        options: Values of the options.
        several: Roles that may have several models.

    Raises:
        UsageError: an option names no role of the suite, a role is given twice, or two models of it share a name.
    """
    if strange := [role for role in roles if role not in RESERVED_ROLES]:
        raise UsageError(
            f"{suite} has the role {strange[0]!r}, which is not reserved; reserved: {', '.join(RESERVED_ROLES)}"
        )
    shown_roles = "; ".join(f"{role} ({purpose})" for role, purpose in roles.items())
    by_role: dict[str, tuple[NamedModel, ...]] = {}
    for option in options:
        try:
            model = _without_address(parse_model_option(option))
        except UsageError as error:
            raise UsageError(f"{error}; roles of build {suite}: {shown_roles}") from None
        if model.role is None or model.role not in roles:
            raise UsageError(f"-m {option!r}: expected ROLE=PROVIDER/MODEL; roles of build {suite}: {shown_roles}")
        earlier = by_role.get(model.role, ())
        if earlier and model.role not in several:
            raise UsageError(f"-m {option!r}: the role {model.role!r} has a model already")
        if model.name in {other.name for other in earlier}:
            raise UsageError(
                f"-m {option!r}: the role {model.role!r} has a model named {model.name!r} already; "
                f"name this one: -m {model.role}=NAME={model.spec}"
            )
        by_role[model.role] = (*earlier, model)
    return by_role
