#!/usr/bin/env python3
"""Runs the stress driver again and again with new seeds, for a given time, and reports.

Every process gets a slice of the time, a seed of its own and one of the thread counts; the last line
is `N passed, N failed`. A failure's output, with seed and backtraces, is kept in a file. Ended by SIGTERM or
SIGINT, it ends the driver, too, and reports what was through by then; exit status 130.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What a sanitizer needs to be told. A fork from a process with threads is refused by TSan unless
# asked for; coroutine stacks are not known to ASan's fake stacks.
SANITIZER_OPTIONS = {
    "TSAN_OPTIONS": "die_after_fork=0:second_deadlock_stack=1:history_size=4",
    "ASAN_OPTIONS": "detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="total time (default 60)")
    parser.add_argument("--slice", type=float, default=20, help="time of one process (default 20)")
    parser.add_argument("--threads", default="16,64", help="thread counts (default 16,64)")
    parser.add_argument("--scenario", default="", help="names, or -names to leave out")
    parser.add_argument("--topology", default="", help="HOMING_TOPOLOGY, for example 'node:4 core:2 pu:1'")
    parser.add_argument("--preset", default="release", help="which build (default release)")
    parser.add_argument("--library", default="", help="folder of libtbb.so.12 (default: the build's)")
    parser.add_argument("--program", default="", help="the driver (default: the build's)")
    parser.add_argument("--stock", action="store_true", help="leave out what stock oneTBB fails")
    parser.add_argument("--watchdog", type=int, default=60, help="seconds without progress = hang")
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=None,
                        help="seed of the sequence of seeds")
    parser.add_argument("--logs", default="", help="folder for failures (default: in the build)")
    return parser.parse_args()


def environment(arguments, library):
    env = dict(os.environ)
    env["LD_LIBRARY_PATH"] = f"{library}:{env.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    if arguments.topology:
        env["HOMING_TOPOLOGY"] = arguments.topology
    if arguments.preset in ("asan", "tsan"):
        for name, value in SANITIZER_OPTIONS.items():
            env[name] = f"{value}:{env[name]}" if name in env else value
    return env


def suppressions(env):
    """Adds the checked-in suppressions, each explained in its file."""
    file = ROOT / "tests" / "stress" / "tsan.supp"
    if file.exists():
        env["TSAN_OPTIONS"] = f"{env.get('TSAN_OPTIONS', '')}:suppressions={file}".lstrip(":")


def run_once(command, env, limit_s):
    """Returns (succeeded, output). The driver's own watchdog comes first; the limit is the last resort."""
    try:
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=limit_s, check=False)
        return done.returncode == 0, f"{done.stdout}\n(exit status {done.returncode})\n"
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        if isinstance(output, bytes):
            output = output.decode(errors="replace")
        return False, f"{output}\n(killed after {limit_s:.0f} s)\n"


def main():
    arguments = parse_arguments()
    build = ROOT / "build" / arguments.preset
    program = Path(arguments.program or build / "tests" / "stress" / "stress").resolve()
    library = Path(arguments.library or build / "lib" / "homing").resolve()
    for path in (program, library / "libtbb.so.12"):
        if not path.exists():
            sys.exit(f"stress: {path} does not exist; build the preset {arguments.preset} first")
    logs = Path(arguments.logs or build / "stress-logs")
    env = environment(arguments, library)
    if arguments.preset == "tsan":
        suppressions(env)

    sequence = arguments.seed if arguments.seed is not None else random.SystemRandom().getrandbits(32)
    seeds = random.Random(sequence)
    threads = [int(text) for text in arguments.threads.split(",")]
    print(f"stress: {program} on {library}, sequence seed {sequence:#x}", flush=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs it in the background may have it ignored
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    passed = failed = rounds = 0
    is_cut = False
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        seconds = max(1.0, min(arguments.slice, end - time.monotonic()))
        command = [str(program), "--seed", f"{seeds.getrandbits(48):#x}",
                   "--seconds", f"{seconds:.0f}",
                   "--threads", str(threads[(passed + failed) % len(threads)]),
                   "--watchdog", str(arguments.watchdog)]
        if arguments.scenario:
            command += ["--scenario", arguments.scenario]
        if arguments.stock:
            command.append("--stock")
        try:
            succeeded, output = run_once(command, env, seconds * 2 + arguments.watchdog * 3 + 60)
        except KeyboardInterrupt:  # subprocess.run() has killed the driver
            is_cut = True
            break
        if succeeded:
            passed += 1
            rounds += int(output.split(" rounds passed")[0].rsplit(" ", 1)[-1])
            continue
        failed += 1
        logs.mkdir(parents=True, exist_ok=True)
        log = logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{failed}.log"
        log.write_text(" ".join(command) + "\n" + output)
        reasons = [line for line in output.splitlines()
                   if "FAILED" in line or "replay" in line or "ERROR: " in line
                   or "WARNING: ThreadSanitizer" in line or "runtime error" in line
                   or line.startswith(("Assertion", "terminate called"))]
        print(f"FAILED: {' '.join(command[1:])}\n  " + "\n  ".join(reasons[:8]) + f"\n  log: {log}",
              flush=True)
    print(f"stress: {rounds} rounds{', ended by a signal' if is_cut else ''}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 130 if is_cut else 0


if __name__ == "__main__":
    sys.exit(main())
