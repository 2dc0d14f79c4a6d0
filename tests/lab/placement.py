#!/usr/bin/env python3
"""Property: what enforce, verify, interleave, localize and memory resources say of pages is what the kernel of a machine with
four nodes says. Method: tests/lab/guest/placement.cpp and full.cpp, with and without huge pages, without system calls (Docker's
filter), without rights, under the kernel's own balancing, and with a full node."""

from guest_programs import in_guest
from lab import main, need


def small_pages(_):
    in_guest("small pages", "placement", "placement sandbox", options=("--thp", "never"))


def huge_pages(_):
    in_guest("huge pages", "placement huge", "placement sandbox huge", options=("--thp", "always"))


def without_rights(_):
    in_guest("an ordinary user", "placement", "placement sandbox", options=("--thp", "never", "--user", "nobody"))


def balancing(_):
    # As often as the kernel can: it then watches pages all the time, and Linux 6.1 hides those from who asks.
    busy = "".join(f"echo {value} > /sys/kernel/debug/sched/numa_balancing/{name}; " for name, value in
                   (("scan_delay_ms", 1), ("scan_period_min_ms", 10), ("scan_period_max_ms", 20)))
    busy = f"mkdir -p /sys/kernel/debug; mount -t debugfs none /sys/kernel/debug; {busy}"
    for pages, setting in (("small", "never"), ("huge", "always")):
        in_guest(f"NUMA balancing, {pages} pages", busy + f"placement balancing {pages}",
                 options=("--thp", setting, "--numa-balancing", "on"))


def full_node(_):
    in_guest("a full node", "full", "full sandbox", options=("--thp", "never"))


need("qemu-system-x86_64", "busybox")
main([small_pages, huge_pages, without_rights, balancing, full_node])
