"""Finds models by name, and says what to do when it cannot."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from retinue.clock import Clock, SystemClock
from retinue.definitions.model_options import OptionName
from retinue.definitions.reference_targets import ModelChecks
from retinue.errors import UnknownModelError, UsageError
from retinue.installation import missing_extra
from retinue.models.offline.offline_model import OfflineModel
from retinue.models.port import Model
from retinue.models.providers.connection import (
    KINDS,
    Connection,
    Kind,
    Timeouts,
    unsupported_options,
)
from retinue.models.providers.vendors import Vendors
from retinue.models.script_files import load_script
from retinue.settings.keys import did_you_mean
from retinue.settings.secrets import Vault
from retinue.settings.tables import ProviderSettings, Settings

OFFLINE = "offline"
_SCRIPTED = "scripted"
_BUILT_IN: tuple[Kind, ...] = ("openai", "anthropic", "google", "ollama")
_FAMILIES = {
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "google",
}


class ModelRegistry:
    """Resolves `provider:model`, `offline` and `scripted:<file>`; makes a model on first use."""

    def __init__(
        self,
        providers: Mapping[str, ProviderSettings],
        *,
        vault: Vault,
        project_dir: Path,
        clock: Clock | None = None,
        timeouts: Timeouts | None = None,
        extra: Mapping[str, Model] | None = None,
    ) -> None:
        self._providers = {**{kind: ProviderSettings() for kind in _BUILT_IN}, **providers}
        self._vault = vault
        self._project_dir = project_dir
        self._clock = clock or SystemClock()
        self._vendors = Vendors(timeouts or Timeouts())
        self._models: dict[str, Model] = {OFFLINE: OfflineModel(self._clock), **(extra or {})}
        self._building = asyncio.Lock()

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        env: Mapping[str, str],
        *,
        clock: Clock | None = None,
        extra: Mapping[str, Model] | None = None,
    ) -> "ModelRegistry":
        limits = settings.limits
        return cls(
            settings.providers,
            vault=Vault(environment=env, directory=settings.data_dir / "secrets"),
            project_dir=settings.project_dir,
            clock=clock,
            timeouts=Timeouts(
                first_event=limits.first_event_timeout_seconds, idle=limits.idle_timeout_seconds
            ),
            extra=extra,
        )

    async def get(self, name: str) -> Model:
        """Find a model by its name; one that cannot be used is an `UnknownModelError`."""
        found = self._models.get(name)
        if found is not None:
            return found
        async with self._building:
            if name not in self._models:
                self._models[name] = await self._made(name)
        return self._models[name]

    def problem(self, name: str) -> str | None:
        """Say why no model can be found under this name, without making one."""
        if name in self._models:
            return None
        try:
            if name.startswith(f"{_SCRIPTED}:"):
                return self._script_problem(name)
            self._found(name)
        except UnknownModelError as error:
            return error.message
        return None

    def checks(self, default: str) -> ModelChecks:
        """How the models and options that files name are checked."""
        return ModelChecks(
            problem=self.problem, unsupported=self._unsupported_options, default=default
        )

    def _unsupported_options(self, name: str) -> frozenset[OptionName]:
        """The options that no model of this one's provider takes; none for an unknown model."""
        provider = name.partition(":")[0]
        settings = self._providers.get(provider)
        if settings is None or self.problem(name) is not None:
            return frozenset()
        return unsupported_options(self._kind(name, provider, settings), settings.api)

    def _script_problem(self, name: str) -> str | None:
        path = name.partition(":")[2]
        is_there = (self._project_dir / path).is_file()
        return None if is_there else f"model {name!r}: there is no file {path}"

    def names(self) -> Sequence[str]:
        """List what is there already and what settings list."""
        listed = {*self._models}
        for provider, settings in self._providers.items():
            listed.update(f"{provider}:{model}" for model in settings.models)
        return sorted(listed)

    async def close(self) -> None:
        """Close the connections of all models that were used."""
        await self._vendors.close()

    async def _made(self, name: str) -> Model:
        provider, _, model = name.partition(":")
        if provider == _SCRIPTED and model:
            path = self._project_dir / model
            return await asyncio.to_thread(load_script, path, name=name, clock=self._clock)
        connection, settings = self._found(name)
        return await self._vendors.model(connection, model, window=settings.context_window)

    def _found(self, name: str) -> tuple[Connection, ProviderSettings]:
        """Find the provider of a model, and how to reach it."""
        provider, separator, model = name.partition(":")
        if not separator or not provider or not model:
            raise UnknownModelError(self._nameless(name))
        settings = self._providers.get(provider)
        if settings is None:
            known = ", ".join(sorted(self._providers))
            raise UnknownModelError(
                f"model {name!r}: there is no provider {provider!r}"
                f"{_hint(provider, self._providers)} Known are {known}; "
                f"another one needs a table [providers.{provider}] in retinue.toml"
            )
        if settings.models and model not in settings.models:
            raise UnknownModelError(
                f"model {name!r}: provider {provider!r} lists {', '.join(settings.models)}"
                f"{did_you_mean(model, settings.models)}"
            )
        return self._connection(name, provider, settings), settings

    def _nameless(self, name: str) -> str:
        family = next((p for prefix, p in _FAMILIES.items() if name.startswith(prefix)), None)
        hint = f"; did you mean '{family}:{name}'?" if family else _hint(name, self.names())
        return (
            f"model {name!r}: models are named provider:model, or {OFFLINE!r}{hint} "
            f"Known are {', '.join(self.names())}"
        )

    def _connection(self, name: str, provider: str, settings: ProviderSettings) -> Connection:
        kind = self._kind(name, provider, settings)
        facts = KINDS[kind]
        if settings.api != "chat" and kind != "openai":
            raise UnknownModelError(
                f"model {name!r}: [providers.{provider}] has api {settings.api!r}, "
                f"which providers of kind {kind!r} do not have"
            )
        if missing := missing_extra(facts.extra, used_for=facts.label):
            raise UnknownModelError(f"model {name!r}: {missing}")
        variables = facts.key_variables
        table = f"[providers.{provider}] api_key in retinue.toml"
        advice = f"set {' or '.join(variables)} or add {table}" if variables else f"set {table}"
        try:
            api_key = settings.api_key.reveal() if settings.api_key else self._key(variables)
            headers = {key: value.reveal() for key, value in settings.headers.items()}
            base_url = settings.base_url.reveal() if settings.base_url else None
        except UsageError as error:
            message = f"model {name!r}: {error.message}"
            raise UnknownModelError(message, details=error.details) from error
        if api_key is None and facts.needs_key:
            raise UnknownModelError(f"model {name!r}: there is no key for it; {advice}")
        if base_url is None and facts.base_url_variable is not None:
            base_url = self._vault.environment.get(facts.base_url_variable) or facts.base_url
        return Connection(
            name=provider,
            kind=kind,
            api=settings.api,
            base_url=base_url,
            api_key=api_key,
            headers=headers,
            advice=advice,
        )

    def _kind(self, name: str, provider: str, settings: ProviderSettings) -> Kind:
        wanted = settings.kind or (
            "openai-compatible"
            if settings.base_url is not None and provider not in KINDS
            else provider
        )
        for kind in KINDS:
            if kind == wanted:
                return kind
        raise UnknownModelError(
            f"model {name!r}: [providers.{provider}] has kind {wanted!r}"
            f"{_hint(wanted, KINDS)} Known are {', '.join(KINDS)}"
        )

    def _key(self, variables: Sequence[str]) -> str | None:
        """Look for a key under its usual names: in the environment, then among the secret files."""
        for variable in variables:
            file = self._vault.directory / variable
            if self._vault.environment.get(variable) or file.exists():
                return self._vault.secret(variable) or None
        return None


def _hint(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known) or "."
