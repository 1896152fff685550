"""`variables.json`: the encrypted values of accounts."""

from pathlib import Path

import msgspec

from retinue.errors import StoreDamagedError
from retinue.stores.folders.kept_file import KeptFile, read_kept_file
from retinue.stores.variable_port import KeptVariables

VARIABLES = "variables.json"

_decoder = msgspec.json.Decoder(KeptVariables)


def variable_file(data: Path) -> KeptFile:
    return KeptFile(
        data / VARIABLES, lambda reader: _encoded(reader.variables()), _encoded(KeptVariables())
    )


def read_variable_file(data: Path) -> KeptVariables:
    """Read the mirrored values; empty if there is no file."""
    path = data / VARIABLES
    content = read_kept_file(path)
    if content is None:
        return KeptVariables()
    try:
        return _decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreDamagedError(
            f"{path} cannot be read ({error}): repair it or move it away, "
            "then run `retinue serve --rebuild`"
        ) from error


def _encoded(kept: KeptVariables) -> bytes:
    return msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"
