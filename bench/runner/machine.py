"""What a figure depends on beside the code: commit, machine, kernel and the settings that move times."""

import os
import platform
import subprocess
from pathlib import Path

LSCPU_FIELDS = ("Model name", "CPU(s)", "Thread(s) per core", "Socket(s)", "NUMA node(s)",
                "L2 cache", "L3 cache", "Hypervisor vendor")


def command(arguments: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def setting(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "not visible"


def busy() -> bool:
    """Whether others keep the CPUs so busy that wall times say more about them than about us."""
    return os.getloadavg()[0] > 0.25 * len(os.sched_getaffinity(0))


def describe(root: Path) -> dict[str, str]:
    found = {}
    for line in command(["lscpu"], root).splitlines():
        name, _, value = line.partition(":")
        if name.strip() in LSCPU_FIELDS:
            found[name.strip()] = value.strip()
    commit = command(["git", "rev-parse", "--short=12", "HEAD"], root) or "unknown"
    changed = bool(command(["git", "status", "--porcelain", "--untracked-files=no"], root))
    return {
        "commit": commit + (" with local changes" if changed else ""),
        "processor": ", ".join(f"{name} {found[name]}" for name in LSCPU_FIELDS if name in found),
        "allowed CPUs": str(len(os.sched_getaffinity(0))),
        "kernel": platform.release(),
        "governor": setting("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "transparent huge pages": setting("/sys/kernel/mm/transparent_hugepage/enabled"),
        "NUMA balancing": setting("/proc/sys/kernel/numa_balancing"),
        "load before": f"{os.getloadavg()[0]:.2f}",
        "settings": " ".join(f"{name}={value}" for name, value in sorted(os.environ.items())
                             if name.startswith(("HOMING_", "TBB_", "HWLOC_"))) or "none",
    }
