"""Debian's Chromium without a screen, driven by Selenium."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

PROGRAM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
_OPTIONS: Final = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"
)  # fmt: skip


@contextmanager
def chromium(width: int = 1200, height: int = 1000) -> Iterator[Any]:
    """A driver of Selenium. Raises ImportError without Selenium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(PROGRAM)
    for word in (*_OPTIONS, f"--window-size={width},{height}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(str(DRIVER), env=os.environ | {"no_proxy": "*"})
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()
