"""Prints the OpenAPI document: `python -m retinue.server.openapi > web/openapi.json`."""

import sys

from retinue.server.app import ENDPOINTS
from retinue.server.openapi_document import document


def main() -> None:
    sys.stdout.write(document(ENDPOINTS).decode() + "\n")


if __name__ == "__main__":
    main()
