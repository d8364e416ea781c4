"""The folder of public data beside the checkout."""

from pathlib import Path

import pytest


class SharedFolder(type(Path())):
    """A folder of public data: `/` skips the test when the folder lacks the file or folder of that name."""

    def __truediv__(self, name):
        path = super().__truediv__(name)
        if not path.exists():
            pytest.skip(f"needs {path}")
        return path if path.is_dir() else Path(path)
