"""What a person sees of the page, in a real browser. Tests are skipped where it is missing."""

import time

import pytest

from scripts.chromium import DRIVER, PROGRAM, chromium


def browser(width=1200, height=1000):
    """A driver of Selenium."""
    pytest.importorskip("selenium.webdriver", reason="Selenium is not installed")
    if not (PROGRAM.exists() and DRIVER.exists()):
        pytest.skip("needs Debian's chromium and chromium-driver")
    return chromium(width, height)


class View:
    """What a person sees of the page, and does there."""

    def __init__(self, driver, link):
        self.driver = driver
        driver.get(link)
        self.wait("return document.getElementById('status')?.textContent === 'Live'")
        self.base = driver.current_url.partition("#")[0]

    def wait(self, script, *arguments, patience_s=60):
        """Wait until a script returns something true, and return it."""
        until = time.monotonic() + patience_s
        while not (found := self.driver.execute_script(script, *arguments)):
            assert time.monotonic() < until, (script, self.text("body")[:2000])
            time.sleep(0.05)
        return found

    def go(self, path):
        """Follow a link to a view."""
        self.driver.execute_script("location.hash = arguments[0]", path)

    def text(self, where):
        return self.driver.execute_script("return document.querySelector(arguments[0])?.innerText || ''", where)

    def find(self, where):
        return self.driver.find_element("css selector", where)

    def wait_text(self, where, text):
        self.wait("return document.querySelector(arguments[0])?.innerText.includes(arguments[1])", where, text)

    def press(self, where, text):
        """Press the button with this text, as soon as it is seen."""
        buttons = f"[...document.querySelectorAll('{where} button')]"
        seen = f"{buttons}.find((one) => one.innerText === arguments[0] && one.checkVisibility())"
        self.wait(f"const one = {seen}; one?.click(); return Boolean(one)", text)

    def type(self, where, text):
        field = self.find(where)
        field.clear()
        field.send_keys(text)

    def rows(self):
        """Texts of the rows of the table of jobs."""
        cells = "[...row.cells].map((cell) => cell.innerText)"
        return self.driver.execute_script(
            f"return [...document.querySelectorAll('#jobs-table tbody tr')].map((row) => {cells})"
        )

    def mistakes(self):
        """What the console has logged, but for requests that the service did not answer."""
        lines = [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]
        return [line for line in lines if "net::ERR" not in line]
