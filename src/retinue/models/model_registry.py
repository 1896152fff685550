"""Finds models by name; errors explain how to configure a model."""

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
    """Resolves `provider:model`, `offline` and `scripted:<file>`; creates a model on first use."""

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
        self._connections: dict[str, Connection] = {}  # that models were made with
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
        """Return a model by name. Raises `UnknownModelError` if it cannot be used."""
        found = self._models.get(name)
        if found is not None:
            return found
        async with self._building:
            if name not in self._models:
                self._models[name] = await self._create(name)
        return self._models[name]

    def problem(self, name: str) -> str | None:
        """Explain why a model cannot be used, without creating it; None if it can."""
        if name in self._models:
            return None
        try:
            if name.startswith(f"{_SCRIPTED}:"):
                return self._script_problem(name)
            self._find_provider(name)
        except UnknownModelError as error:
            return error.message
        return None

    def checks(self, default: str) -> ModelChecks:
        """Return the checks for models and options in definition files."""
        return ModelChecks(
            problem=self.problem,
            unsupported=self._unsupported_options,
            default=default,
            refresh=self.refresh,
        )

    def _unsupported_options(self, name: str) -> frozenset[OptionName]:
        """Return the options that a model's provider does not support; none for unknown models."""
        provider = name.partition(":")[0]
        settings = self._providers.get(provider)
        if settings is None or self.problem(name) is not None:
            return frozenset()
        return unsupported_options(self._kind(name, provider, settings), settings.api)

    def refresh(self) -> None:
        """Forget the models whose keys or addresses changed: they are made again when needed."""
        for name, connection in list(self._connections.items()):
            try:
                is_same = self._find_provider(name)[0] == connection
            except UnknownModelError:
                is_same = False
            if not is_same:
                self._connections.pop(name, None)
                self._models.pop(name, None)

    def _script_problem(self, name: str) -> str | None:
        path = name.partition(":")[2]
        is_there = (self._project_dir / path).is_file()
        return None if is_there else f"model {name!r}: the file {path} does not exist"

    def names(self) -> Sequence[str]:
        """List the models in use and those in the settings."""
        listed = {*self._models}
        for provider, settings in self._providers.items():
            listed.update(f"{provider}:{model}" for model in settings.models)
        return sorted(listed)

    async def close(self) -> None:
        """Close all connections."""
        await self._vendors.close()

    async def _create(self, name: str) -> Model:
        provider, _, model = name.partition(":")
        if provider == _SCRIPTED and model:
            path = self._project_dir / model
            return await asyncio.to_thread(load_script, path, name=name, clock=self._clock)
        connection, settings = self._find_provider(name)
        self._connections[name] = connection
        return await self._vendors.model(connection, model, window=settings.context_window)

    def _find_provider(self, name: str) -> tuple[Connection, ProviderSettings]:
        """Return the connection and the settings of a model's provider."""
        provider, separator, model = name.partition(":")
        if not separator or not provider or not model:
            raise UnknownModelError(self._format_error(name))
        settings = self._providers.get(provider)
        if settings is None:
            known = ", ".join(sorted(self._providers))
            raise UnknownModelError(
                f"model {name!r}: there is no provider {provider!r}"
                f"{_hint(provider, self._providers)} Known providers: {known}. "
                f"To add one, create a table [providers.{provider}] in retinue.toml"
            )
        if settings.models and model not in settings.models:
            raise UnknownModelError(
                f"model {name!r}: provider {provider!r} lists {', '.join(settings.models)}"
                f"{did_you_mean(model, settings.models)}"
            )
        return self._connection(name, provider, settings), settings

    def _format_error(self, name: str) -> str:
        family = next((p for prefix, p in _FAMILIES.items() if name.startswith(prefix)), None)
        hint = f"; did you mean '{family}:{name}'?" if family else _hint(name, self.names())
        return (
            f"model {name!r}: expected provider:model or {OFFLINE!r}{hint} "
            f"Known models: {', '.join(self.names())}"
        )

    def _connection(self, name: str, provider: str, settings: ProviderSettings) -> Connection:
        kind = self._kind(name, provider, settings)
        facts = KINDS[kind]
        if settings.api != "chat" and kind != "openai":
            raise UnknownModelError(
                f"model {name!r}: [providers.{provider}] sets api {settings.api!r}, "
                f"which providers of kind {kind!r} do not support"
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
            raise UnknownModelError(f"model {name!r}: no API key; {advice}")
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
            f"model {name!r}: [providers.{provider}] has the unknown kind {wanted!r}"
            f"{_hint(wanted, KINDS)} Known kinds: {', '.join(KINDS)}"
        )

    def _key(self, variables: Sequence[str]) -> str | None:
        """Look up a key by its usual names in the environment, then in the secret files."""
        for variable in variables:
            file = self._vault.directory / variable
            if self._vault.environment.get(variable) or file.exists():
                return self._vault.secret(variable) or None
        return None


def _hint(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known) or "."
