"""Settings from `retinue.toml` and the environment, with references to secrets."""

from retinue.settings.secrets import Secret, Template, Vault
from retinue.settings.settings_file import load_settings
from retinue.settings.tables import (
    AgentsSettings,
    LimitsSettings,
    McpSettings,
    ProviderSettings,
    ServerSettings,
    Settings,
    ToolsSettings,
)

__all__ = [
    "AgentsSettings",
    "LimitsSettings",
    "McpSettings",
    "ProviderSettings",
    "Secret",
    "ServerSettings",
    "Settings",
    "Template",
    "ToolsSettings",
    "Vault",
    "load_settings",
]
