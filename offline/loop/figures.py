"""The figures of a hybrid run that a terminal shows."""

from __future__ import annotations

from collections.abc import Mapping

from offline.folder.plan import Figure


def figures_for_people(summary: Mapping[str, Figure]) -> list[tuple[str, Figure]]:
    """The few figures of summary.json that are asked for first, each with its name."""
    currency = summary["currency"]

    def told(key: str, form: str, unit: str = "") -> str:
        value = summary[key]
        return "-" if value is None else f"{value:{form}} {unit}".rstrip()

    return [
        ("days", summary["days"]),
        ("jobs", summary["jobs"]),
        ("profit", told("profit_eur", ".2f", str(currency))),
        ("  all nodes on", told("always_on_profit_eur", ".2f", str(currency))),
        ("  clairvoyant", told("clairvoyant_profit_eur", ".2f", str(currency))),
        ("gain", f"{told('gain_percent', '.2f', '%')} (clairvoyant: {told('clairvoyant_percent', '.2f', '%')})"),
        ("share of that gain", told("share_of_bound", ".3f")),
        ("mean wait for boots", told("mean_boot_delay_s", ".1f", "s")),
        ("jobs delayed", told("delayed_share", ".3f")),
        ("cycles a node a day", told("cycles_per_node_day", ".2f")),
        ("above the cap", told("overutilisation_core_s", ",d", "core-seconds")),
        ("mean wait", f"{told('mean_wait_s', '.0f')} s ({told('always_on_mean_wait_s', '.0f')} s all nodes on)"),
    ]
