"""How a program's end is told: signals by name, and what to do where the guest is the cause."""

from __future__ import annotations

import signal

from .architecture import X86_64, Architecture

ABOUT = {
    signal.SIGILL: "an instruction that the guest has not; {has_not}",
    signal.SIGBUS: "a file or a node may be full: --memory MIB gives each node more",
}


def signal_name(number: int) -> str:
    """SIGSEGV (11, Segmentation fault)"""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} ({number}, {signal.strsignal(number)})"


def told(program: str, code: int, number: int, arch: Architecture = X86_64) -> str:
    """What is said of a program's end; nothing of an ordinary one."""
    known = {of: text.format(has_not=arch.has_not) for of, text in ABOUT.items()}
    if number:
        about = known.get(number)  # type: ignore[call-overload]
        return f"{program} was killed by {signal_name(number)}" + (f"\n  {about}" if about else "")
    of_a_child = code - 128
    if of_a_child in (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV):
        about = known.get(of_a_child)  # type: ignore[call-overload]
        what = f"status {code}: what shells say of a program of theirs that was killed by "
        return what + signal_name(of_a_child) + (f"\n  {about}" if about else "")
    return ""
