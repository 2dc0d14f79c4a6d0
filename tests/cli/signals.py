#!/usr/bin/env python3
"""Property: who signals `homing run` or `homing where -- PROGRAM` means the program, which is never left behind; a program's
rights and exit code are its own. Method: signals by kill and by the terminal, ignored ones, a reader that is gone, and a
set-user-ID program."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from command import COMMAND, SECONDS_MAX, check, main, script

TRAPS = "#!/bin/sh\ntrap 'echo got; exit 5' {0}\necho ready\nwhile :; do sleep 0.05; done\n"


def running(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] not in "ZX"


def ends(pid):
    """Whether a process that is nobody's child here ends; the deadline is for one that never does."""
    deadline = time.monotonic() + 100
    while running(pid) and time.monotonic() < deadline:
        os.sched_yield()
    if running(pid):
        os.kill(pid, signal.SIGKILL)
        return False
    return True


def times_slept(pid):
    return int(Path(f"/proc/{pid}/status").read_text().rpartition("\nvoluntary_ctxt_switches:")[2].split()[0])


def start(*words, **options):
    return subprocess.Popen([COMMAND, *map(str, words)], text=True, stdout=subprocess.PIPE, **{"stderr": subprocess.PIPE} | options)


def passed_on(folder):
    for name in ("TERM", "HUP", "INT", "QUIT", "USR1"):
        program = script(folder / name, TRAPS.format(name))
        for command in ("run", "where"):
            ours = start(command, "--", program, start_new_session=True)
            check(ours.stdout.readline() == "ready\n", "the program runs")
            ours.send_signal(getattr(signal, f"SIG{name}"))
            try:
                out, _ = ours.communicate(timeout=SECONDS_MAX)
            except subprocess.TimeoutExpired:
                os.killpg(ours.pid, signal.SIGKILL)   # the program as well
                out, _ = ours.communicate()
            check(ours.returncode == 5 and out == "got\n", f"{command}: SIG{name} is passed on", (ours.returncode, out))


def after_ctrl_c(command, program, until):
    """The exit code of a program in a terminal, which gets SIGUSR1 when ^C has come that far."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(COMMAND, [str(COMMAND), command, "--", str(program)])
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    while until not in seen:
        seen += os.read(terminal, 1024)
    os.kill(pid, signal.SIGUSR1)   # behind a ^C that is passed on, unless both come at once
    try:
        while os.read(terminal, 1024):
            pass
    except OSError:   # the other side is closed
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def from_the_terminal(folder):
    """It reaches the program by itself: passed on as well, it would come twice. Two that wait at once count as one, so a program
    that the terminal does not mean shows what is passed on. The terminal shows ^C when it has sent the signal."""
    counts = script(folder / "counts", "#!/bin/sh\nn=0\ntrap 'n=$((n+1)); echo got $n' INT\ntrap 'exit $n' USR1\necho ready\n"
                                       "while :; do sleep 0.05; done\n")
    apart = script(folder / "apart", f"#!{sys.executable}\nimport os, signal\nwanted = [signal.SIGINT, signal.SIGUSR1]\n"
                                     "signal.pthread_sigmask(signal.SIG_BLOCK, wanted)\nos.setpgid(0, 0)\nprint('ready', flush=True)\n"
                                     "got = 0\nwhile signal.sigwait(wanted) == signal.SIGINT:\n    got += 1\nraise SystemExit(got)\n")
    for command in ("run", "where"):
        check(after_ctrl_c(command, counts, b"got 1") == 1, f"{command}: ^C comes once")
        check(after_ctrl_c(command, apart, b"^C") == 0, f"{command}: and is not passed on")


def never_left_behind(folder):
    program = script(folder / "names", "#!/bin/sh\necho $$\nwhile :; do sleep 0.05; done\n")
    for command in ("run", "where"):
        ours = start(command, "--", program, env=os.environ | {"TMPDIR": str(folder)})
        pid = int(ours.stdout.readline())
        ours.kill()
        ours.wait()
        check(ends(pid), f"{command}: killed, so is the program")
    told = script(folder / "told", "#!/bin/sh\necho $$\nread line\nexit 6\n")
    reader, writer = os.pipe()
    ours = start("where", "--watch=0.1", "--", told, stdin=subprocess.PIPE, stderr=writer)
    os.close(writer)
    pid = int(ours.stdout.readline())
    os.read(reader, 1)   # a look
    os.close(reader)
    begun = times_slept(ours.pid)
    while ours.poll() is None and times_slept(ours.pid) < begun + 5:   # looks, which nobody reads
        os.sched_yield()
    check(ours.poll() is None and running(pid), "a reader that is gone ends neither")
    ours.communicate("\n", timeout=SECONDS_MAX)
    check(ours.returncode == 6 and ends(pid), "the program's exit code stays its own", ours.returncode)


def ignored_children(_):
    """Whoever starts the command may ignore SIGCHLD: then the kernel keeps no exit code."""
    for command in (["run"], ["run", "--report"], ["where"]):
        ours = start(*command, "--", "sh", "-c", "exit 7", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        _, err = ours.communicate(timeout=SECONDS_MAX)
        check(ours.returncode == 7 and "waitpid" not in err, f"SIGCHLD was ignored: {command}", (ours.returncode, err))


def rights(folder):
    """One that is traced would not get them."""
    if os.geteuid() != 0:
        print("left out: not root")
        return
    folder.chmod(0o755)
    ours, program = folder / "homing", folder / "id"
    shutil.copy(COMMAND, ours)
    shutil.copy(shutil.which("id"), program)
    program.chmod(0o4755)
    done = subprocess.run([ours, "where", "--", program, "-u"], text=True, capture_output=True, timeout=SECONDS_MAX, cwd="/",
                          user=65534, group=65534, extra_groups=[])
    check(done.returncode == 0 and done.stdout == "0\n" and "its end was not seen" in done.stderr, "a set-user-ID program keeps its rights", done)


main([passed_on, from_the_terminal, never_left_behind, ignored_children, rights])
