"""QEMU's command-line for a machine: sockets, nodes, distances, ports."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from pathlib import Path

from .architecture import X86_64, Architecture
from .errors import LabError
from .guest import CLOCK_BYTES, WINDOW_BYTES
from .machine import Machine

# Quiet but for errors; a panic ends the machine. The host may be slow: no watchdog, and no check of
# the timer at boot, which panics if it ticks late. For a quick boot: no CPU measures how long a loop
# takes (only short pauses in drivers go by it), and nobody waits for a quiet period of all CPUs
# (until the program starts: the guest's first program switches that off). x86-64: no self-tests of its ciphers, its own
# memory is not made read-only, nor the kernel moved to a random place, which in an emulated machine take a seventh of the boot.
KERNEL_WORDS = (
    "quiet panic=-1 oops=panic mitigations=off nowatchdog "
    "rcupdate.rcu_expedited=1 rcupdate.rcu_cpu_stall_suppress=1 audit=0 apparmor=0"
)
OWN_KERNEL_WORDS = {
    "x86_64": "console=ttyS0 tsc=reliable no_timer_check lpj=10000000 random.trust_cpu=on "
    "cryptomgr.notests rodata=off nokaslr",
    "aarch64": "console=ttyAMA0",
}
# AArch64: the GIC that more than eight CPUs need.
BOARDS = {"x86_64": "pc,usb=off,vmport=off", "aarch64": "virt,gic-version=3"}
# That board has one serial port, the console; a second one is a PCI card.
CHANNEL = {
    "x86_64": ["-serial", "chardev:channel"],
    "aarch64": ["-device", "pci-serial,chardev=channel"],
}
# AArch64: with LSE's atomics and without SVE, like the ThunderX2.
CPUS = {"x86_64": "max,vendor=GenuineIntel,-erms,-fsrm", "aarch64": "neoverse-n1"}


def program(arch: Architecture = X86_64) -> str:
    found = shutil.which(arch.qemu)
    if found is None:
        raise LabError(
            f"no {arch.qemu} here",
            f"scripts/setup {arch.setup}, or: apt-get install {arch.qemu_package}",
        )
    return found


def option(path: Path) -> str:
    """A path as the value of one of QEMU's options, which commas end."""
    return str(path).replace(",", ",,")


def topology_words(machine: Machine, arch: Architecture = X86_64) -> tuple[str, str]:
    """Values of -smp and -cpu: sockets, dies (as many as L3 groups), cores and threads. Nodes of
    different sizes become several small sockets each, for QEMU's sockets are all alike; then no L3
    is shown, which would be each socket's."""
    nodes = [node for node in machine.nodes if node.cpus]
    sockets = Counter(node.socket for node in nodes)
    threads = machine.threads_per_core
    alike = (
        len({(node.cpus, node.l3_groups) for node in nodes}) == 1
        and len(set(sockets.values())) == 1
    )
    if alike:
        dies = next(iter(sockets.values())) * nodes[0].l3_groups
        cores = nodes[0].cpus // nodes[0].l3_groups // threads
        count = len(sockets)
    else:
        dies = 1
        cores = math.gcd(*(node.cpus // threads for node in nodes))
        count = machine.cpu_count // threads // cores
    part = "dies" if arch is X86_64 else "clusters"
    without_l3 = ",l3-cache=off" if arch is X86_64 and not alike else ""
    return (
        f"{machine.cpu_count},sockets={count},{part}={dies},cores={cores},threads={threads}",
        CPUS[arch.name] + without_l3,
    )


def _ranges(machine: Machine) -> dict[int, str]:
    result, first = {}, 0
    for node in machine.nodes:
        if node.cpus:
            result[node.index] = f"{first}-{first + node.cpus - 1}"
            first += node.cpus
    return result


def command(
    machine: Machine,
    kernel: Path,
    image: Path,
    folder: Path,
    channel: int,
    kernel_words: str = "",
    plugin: str = "",
    clock: bool = False,
    arch: Architecture = X86_64,
) -> list[str]:
    """`folder`: of the run, for the console, the window and the clock's memory, which is there if
    `clock`; `channel`: an inherited socket that carries the second serial port; `plugin`: value of
    -plugin."""
    smp, cpu = topology_words(machine, arch)
    words = [
        program(arch),
        "-nodefaults",
        "-no-user-config",
        "-name",
        "homing-lab,debug-threads=on",  # threads with names: whose a crash was
        "-display",
        "none",
        "-no-reboot",
        "-machine",
        BOARDS[arch.name],
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        cpu,
        "-smp",
        smp,
        "-m",
        f"{machine.memory_mib}M",
    ]
    cpus = _ranges(machine)
    for node in machine.nodes:
        text = f"node,nodeid={node.index}"
        if node.memory_mib:
            words += ["-object", f"memory-backend-ram,id=m{node.index},size={node.memory_mib}M"]
            text += f",memdev=m{node.index}"
        if node.cpus:
            text += f",cpus={cpus[node.index]}"
        words += ["-numa", text]
    if len(machine.nodes) > 1:
        for a, row in enumerate(machine.slit):
            for b, distance in enumerate(row):
                words += ["-numa", f"dist,src={a},dst={b},val={distance}"]
    words += [
        "-kernel",
        str(kernel),
        "-initrd",
        str(image),
        "-append",
        # The first word for us tells programs that they are in the lab; the kernel passes it over.
        " ".join(
            (OWN_KERNEL_WORDS[arch.name], KERNEL_WORDS, f"homing.lab={machine.name}", kernel_words)
        ).strip(),
        "-chardev",
        f"file,id=console,path={option(folder / 'console.txt')}",
        "-serial",
        "chardev:console",
        "-chardev",
        f"socket,id=channel,fd={channel}",
        *CHANNEL[arch.name],
    ]
    shared = {"window": WINDOW_BYTES} | ({"clock": CLOCK_BYTES} if clock else {})
    for name, size in shared.items():
        words += [
            "-object",
            f"memory-backend-file,id={name},size={size},mem-path={option(folder / name)},share=on",
            "-device",
            f"ivshmem-plain,memdev={name}",
        ]
    if plugin:
        words += ["-plugin", plugin]
    return words
