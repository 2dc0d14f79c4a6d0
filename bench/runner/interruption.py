"""What ends a campaign from outside (Ctrl-C, SIGTERM, a terminal that closes) ends what it has started, too: a virtual machine would
go on for an hour."""

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

INTERRUPTED = 130  # the shell's word for SIGINT
ENDINGS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
Result = TypeVar("Result")


def with_process(command: list, use: Callable[[subprocess.Popen], Result], end: Callable[[subprocess.Popen], None],
                 **options: Any) -> Result:
    """Starts the command as subprocess.Popen does, and returns what `use` does. If we are stopped meanwhile, or `use` throws, `end`
    has been called, and the command has ended, when this throws."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)  # not while it has started and we don't know of it
        process = subprocess.Popen(command, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before), **options)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    with process:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return use(process)
        except BaseException:
            end(process)
            process.wait()  # Popen itself waits a quarter of a second, no more
            raise


def run_to_its_end(command: list[str], **options: Any) -> subprocess.CompletedProcess:
    """As subprocess.run. If we are stopped meanwhile, the command is asked to end: `homing lab` switches the machine off."""
    def run(process: subprocess.Popen) -> subprocess.CompletedProcess:
        said, errors = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, said, errors)

    return with_process(command, run, subprocess.Popen.terminate, **options)


def exit_with(main: Callable[[], int]) -> None:
    """Ends the process with main's status, or quietly if somebody stops it."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is not signal.SIG_IGN:  # nohup
            signal.signal(ending, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
