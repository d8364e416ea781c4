"""The option `--page-port`, of `dardis serve` and `dardis report`."""

from __future__ import annotations

from typing import Annotated

import typer

from dardis.config.option_texts import whole_number_parser

PagePort = Annotated[
    int | None,
    typer.Option(
        "--page-port",
        parser=whole_number_parser("--page-port", 1, 65_535),
        metavar="PORT",
        help="Port of the page (default: a free one).",
    ),
]
