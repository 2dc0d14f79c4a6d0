"""What a reader must know: what is modelled, what the model does not see, and what went wrong."""

from __future__ import annotations

from ..counts import said_precision
from . import html, words
from .figures import Report

MODELLED = [
    "Each load and store of the program goes, with its physical address, through a model of the "
    "machine's caches. A line that the CPU's own cache has is served there and in no picture; a "
    "line out of a cache of the same node is local cache, out of another node's is remote cache, "
    "otherwise it is its home node's DRAM, local or remote.",
    "A store makes other copies invalid; data newer than memory's comes from the cache with it.",
    "Each CPU has a virtual clock: instructions, and what each miss costs. Misses of streams and "
    "stores overlap; memory controllers and links have the bandwidth that the machine's page says.",
    "A region's virtual time is that of the farthest clock at its end less that at its beginning.",
    "Where pages are, what system calls answer, and which CPU runs a thread is the kernel's own.",
]
WAITS_SHARE = 0.1  # of the paced waits, given up: beyond, clocks may have been far apart


def _all(report: Report, key: str) -> list[str]:
    """Entries of a list of counts.json, of all runs, once each."""
    lists = (run.counts.get(key, []) for group in report.groups for run in group.runs)
    return list(dict.fromkeys(str(entry) for entries in lists for entry in entries))


def warnings(report: Report) -> list[str]:
    result = []
    for group in report.groups:
        counts = [run.counts for run in group.runs]
        if not all(one.get("calibrated", True) for one in counts):
            result.append(
                f"{group.label}: not calibrated: which memory belongs to which node is not known, "
                "so local and remote are not, either."
            )
        failed = {run.record.get("exit_status") for run in group.runs} - {None, 0}
        if failed:
            said = ", ".join(sorted(map(str, failed)))
            result.append(f"{group.label}: the program ended with status {said}.")
        if left_out := sum(one.get("regionsLeftOut", 0) for one in counts):
            result.append(f"{group.label}: {words.whole(left_out)} regions had no room, and are not counted.")
        # Regions lie in one another; `whole` has each access once.
        regions = [run.region("whole") or run.counts["regions"][0] for run in group.runs]
        unplaced = sum(region.get("unplaced", 0) for region in regions)
        if unplaced:
            result.append(
                f"{group.label}: {words.whole(unplaced)} accesses to memory of no known node "
                "are in no picture."
            )
        waits = sum(region.get("waits", 0) for region in regions)
        given_up = sum(region.get("waits_given_up", 0) for region in regions)
        if waits and given_up / waits > WAITS_SHARE:
            result.append(
                f"{group.label}: {words.percent(given_up / waits)} of the waits for slower CPUs "
                "were given up, so virtual times may be off."
            )
    if len({said_precision(run.counts) for group in report.groups for run in group.runs}) > 1:
        result.append("The runs' clocks were kept together differently (--quantum).")
    if len({group.machine_name for group in report.groups}) > 1:
        result.append("The runs are of different machines: compare shares rather than times.")
    scales = {run.record.get("cache_scale", 1) for g in report.groups for run in g.runs}
    if len(scales) > 1:
        result.append("The runs have caches of different sizes (--cache-scale).")
    return result


def section(report: Report) -> str:
    not_seen = _all(report, "notSeen")
    said = (said_precision(run.counts) for group in report.groups for run in group.runs)
    clocks = [f"{text}." for text in dict.fromkeys(said) if text]
    seen = html.listing(not_seen) if not_seen else "<p>The runs do not say.</p>"
    return (
        '<section class="card" id="model"><h2>What is modelled</h2>'
        f"{html.listing(MODELLED + clocks)}<h3>What the model does not see</h3>{seen}</section>"
    )
