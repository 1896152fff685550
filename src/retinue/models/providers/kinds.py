"""Creates the pydantic-ai model for each kind of provider."""

from typing import TYPE_CHECKING, cast

from retinue.models.providers.connection import Connection

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model as VendorModel
    from pydantic_ai.profiles import ModelProfile


def vendor_model(connection: Connection, model: str, client: "httpx2.AsyncClient") -> "VendorModel":
    """Create a pydantic-ai model. Imports the vendor library, so call it in a thread."""
    match connection.kind:
        case "openai":
            return _openai(connection, model, client)
        case "anthropic":
            return _anthropic(connection, model, client)
        case "google":
            return _google(connection, model, client)
        case "ollama":
            return _ollama(connection, model, client)
        case "openai-compatible":
            return _compatible(connection, model, client)


def _openai(connection: Connection, model: str, client: "httpx2.AsyncClient") -> "VendorModel":
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(
        base_url=connection.base_url, api_key=connection.api_key, http_client=client
    )
    match connection.api:
        case "chat":
            return OpenAIChatModel(model, provider=provider)
        case "responses":
            return OpenAIResponsesModel(model, provider=provider)


def _anthropic(connection: Connection, model: str, client: "httpx2.AsyncClient") -> "VendorModel":
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(
        base_url=connection.base_url, api_key=connection.api_key, http_client=client
    )
    return AnthropicModel(model, provider=provider)


def _google(connection: Connection, model: str, client: "httpx2.AsyncClient") -> "VendorModel":
    from pydantic_ai.providers.google import GoogleProvider

    from retinue.models.providers.google_model import GoogleModelWithBody

    provider = GoogleProvider(
        base_url=connection.base_url, api_key=connection.api_key, http_client=client
    )
    return GoogleModelWithBody(model, provider=provider)


def _ollama(connection: Connection, model: str, client: "httpx2.AsyncClient") -> "VendorModel":
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    provider = OllamaProvider(
        base_url=connection.base_url, api_key=connection.api_key or _NO_KEY, http_client=client
    )
    return OllamaModel(model, provider=provider, profile=_OLDER_LIMIT)


def _compatible(connection: Connection, model: str, client: "httpx2.AsyncClient") -> "VendorModel":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    provider = OpenAICompatibleProvider(
        connection.name,
        base_url=connection.base_url or "",
        api_key=connection.api_key or _NO_KEY,
        http_client=client,
    )
    return OpenAIChatModel(model, provider=provider, profile=_OLDER_LIMIT)


# Set explicitly, so that no vendor library picks up another key from the environment.
_NO_KEY = "no-key"
# OpenAI-compatible servers support the older name of the token limit, many only that one.
_OLDER_LIMIT: "ModelProfile" = cast(
    "ModelProfile", {"openai_chat_supports_max_completion_tokens": False}
)
