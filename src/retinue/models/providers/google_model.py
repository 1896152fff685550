"""Google models with additional fields in the request body."""

from collections.abc import Mapping
from typing import Any, cast

from google.genai.types import HttpOptionsDict
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings


class GoogleModelWithBody(GoogleModel):
    """Passes `extra_body` to Google's client, which merges it into the request."""

    unsupported_settings = GoogleModel.unsupported_settings - {"extra_body"}

    def _build_http_options(
        self, model_settings: GoogleModelSettings, headers: dict[str, str]
    ) -> HttpOptionsDict:
        options = super()._build_http_options(model_settings, headers)
        body = cast("Mapping[str, Any]", model_settings).get("extra_body")
        if body:
            options["extra_body"] = body
        return options
