"""Hosts of this one machine: each has its name, its boot id, and a disk of its own at the same place."""

import os
import subprocess
from uuid import UUID

BOOT_ID = "/proc/sys/kernel/random/boot_id"
BECOME = f"""hostname "$1" && mount --bind "$0/boot-$1" {BOOT_ID} && mount --bind "$0/hosts" /etc/hosts &&
mount --bind "$0/disk-$1" "$0/disk" && shift && exec "$@"
"""


class Worlds:
    """What hosts of these names are made of, in a folder that all of them see; `place` is where each has its disk."""

    def __init__(self, folder, addresses, disks=None):
        """`addresses` by name; `disks`: which have those of which others."""
        self.folder, self.place = folder, folder / "disk"
        names = [f"{address} {name}\n" for name, address in addresses.items()]
        (folder / "hosts").write_text(f"127.0.0.1 localhost {os.uname().nodename}\n{''.join(names)}")
        self.place.mkdir()
        for number, name in enumerate(addresses):
            (folder / f"boot-{name}").write_text(f"{UUID(int=number + 1)}\n")
            if name in (disks or {}):
                self.disk(name).symlink_to(self.disk(disks[name]))
            else:
                self.disk(name).mkdir()

    def disk(self, name):
        """Where a host's disk is seen from outside."""
        return self.folder / f"disk-{name}"

    def within(self, name):
        """Words of a command that becomes a process there."""
        return ["unshare", "-m", "-u", "sh", "-c", BECOME, str(self.folder), name]

    def hindrance(self, name):
        """Why there can be no such host here; empty: there can."""
        if os.geteuid() != 0:
            return "only root makes hosts of one machine"
        tried = subprocess.run([*self.within(name), "cat", BOOT_ID], capture_output=True, text=True, check=False)
        made = tried.stdout == (self.folder / f"boot-{name}").read_text()
        return "" if made else f"no process can be given a world of its own: {tried.stderr.strip()}"
