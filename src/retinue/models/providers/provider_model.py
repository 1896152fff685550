"""Implements the model port with pydantic-ai."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import Any, cast

from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model as VendorModel

from retinue.definitions.model_options import ModelOptions, OptionName
from retinue.models.port import ModelEvent, ModelRequest
from retinue.models.providers.connection import Connection, Timeouts
from retinue.models.providers.option_encoder import without_unsupported
from retinue.models.providers.provider_errors import model_error
from retinue.models.providers.request_encoder import (
    vendor_messages,
    vendor_parameters,
    vendor_settings,
)
from retinue.models.providers.response_parser import Incoming
from retinue.models.providers.silence_timeout import Listener
from retinue.settings.keys import camel_case

logger = logging.getLogger(__name__)


class ProviderModel:
    """One model of one provider, called through pydantic-ai without its agent loop and retries."""

    def __init__(
        self,
        vendor: VendorModel,
        *,
        name: str,
        window: int | None,
        connection: Connection,
        timeouts: Timeouts,
    ) -> None:
        self._vendor = vendor
        self._name = name
        self._window = window
        self._connection = connection
        self._timeouts = timeouts
        self._reported: frozenset[OptionName] = frozenset()

    @property
    def name(self) -> str:
        return self._name

    @property
    def window(self) -> int | None:
        return self._window

    def _supported(self, options: ModelOptions) -> ModelOptions:
        """Return the supported options; logs each unsupported one once."""
        profile = cast("Mapping[str, Any]", self._vendor.profile)
        kept, dropped = without_unsupported(options, self._connection, profile)
        for name in sorted(dropped - self._reported):
            logger.warning(
                "the option %s is not sent: %s does not support it", camel_case(name), self._name
            )
        self._reported |= dropped
        return kept

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        has_begun = False
        try:
            # Closed at once, so that the connection does not outlive a cancelled response.
            async with aclosing(self._events(request)) as events:
                async for event in events:
                    has_begun = True
                    yield event
        except Exception as error:
            raise model_error(
                error, name=self._name, connection=self._connection, has_begun=has_begun
            ) from error

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        listener = Listener(self._timeouts, self._name)
        incoming = Incoming(self._name)
        opening = model_request_stream(
            self._vendor,
            vendor_messages(request, name=self._name, kind=self._connection.kind),
            model_settings=vendor_settings(
                request, self._supported(request.options), connection=self._connection
            ),
            model_request_parameters=vendor_parameters(request),
            instrument=False,
        )
        async with AsyncExitStack() as stack:
            stack.push_async_callback(listener.hang_up)
            stream = await listener.guard(stack.enter_async_context(opening))
            events = aiter(stream)
            while (event := await listener.guard(anext(events, None))) is not None:
                for delta in incoming.deltas(event):
                    yield delta
            whole = incoming.completed(stream.get())
        for delta in incoming.leftovers():
            yield delta
        yield whole
