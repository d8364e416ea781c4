"""Takes the pictures of docs/page.md: runs launch/demo-live, and looks at its page with Chromium."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from scripts.chromium import chromium

IMAGES: Final = Path("docs/images")
BEGUN_S: Final = 100
"""Time after which the cap has fallen three times."""
VIEWS: Final = {
    "overview": "setTheme('light'); location.hash = '/'",
    "jobs": "location.hash = '/jobs?state=unfinished&sort=-started_ms'",
    "job": "location.hash = '/jobs/' + found().find((row) => value(row, 'state') === 'running')[0]",
    "dark": "setTheme('dark'); location.hash = '/nodes'",
}
SIZES: Final = {"overview": (1200, 1330), "dark": (1200, 500)}


def main() -> int:
    """Take all pictures."""
    environment = os.environ | {"DARDIS_DEMO_OUT": str(Path(tempfile.gettempdir()) / "demo")}
    with subprocess.Popen(["./launch/demo-live"], stdout=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout is not None
        link = next(found[0] for line in demo.stdout if (found := re.search(r"http://\S+", line)))
        with chromium() as driver:
            driver.get(link)
            time.sleep(BEGUN_S)
            for name, script in VIEWS.items():
                driver.set_window_size(*SIZES.get(name, (1200, 800)))
                driver.execute_script(script)
                time.sleep(4)  # a job's output is read every two seconds
                driver.save_screenshot(str(IMAGES / f"page_{name}.png"))
        demo.stdout.read()
    return demo.returncode


if __name__ == "__main__":
    sys.exit(main())
