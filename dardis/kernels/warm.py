"""Old name of `dardis warm`, for one release."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.stderr.write("dardis: `python -m dardis.kernels.warm` is now called `dardis warm`\n")
    os.execv(sys.executable, [sys.executable, *["-P"] * sys.flags.safe_path, "-m", "dardis", "warm", *sys.argv[1:]])  # noqa: S606 (itself)
