"""XML of other tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from dardis.model.errors import InputError

_ENTITY: Final = re.compile(r"<!ENTITY", re.IGNORECASE)


def parse_xml(path: Path, text: str, root_tag: str, expected: str) -> ET.Element:
    """Root element, named `root_tag` in any namespace. Raises InputError."""
    if _ENTITY.search(text):
        raise InputError(path, "declares entities", "XML without <!ENTITY …>")
    try:
        root = ET.fromstring(text.lstrip())  # noqa: S314 (entities are refused above)
    except (ET.ParseError, ValueError) as error:
        raise InputError(path, f"is not XML ({error})", expected) from None
    tag = root.tag.rpartition("}")[2]
    if tag != root_tag:
        raise InputError(path, f"is <{tag}>", expected)
    return root
