#!/usr/bin/env python3
"""Makes each call fail in turn, in programs that use everything, and checks how they end.

For each program, surrounding and kind of call, a first run counts the calls; then the n-th fails, n = 1, 2, 3, ..., and
in a second mode all from the n-th on. A run is right, or tells what failed; anything else is a defect, printed with the
command that shows it again. Cases are run in an order that --seed shuffles, so that any part of them is a fair sample.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# As in inject.cpp.
KINDS = ["memory", "mmap", "mprotect", "thread", "futex", "futex-eintr", "membarrier", "setaffinity", "getaffinity",
         "open", "place"]
# Without a futex no thread can sleep, and a barrier that is refused late can't be made up for: an abort with a line of
# ours is an end with a message. For want of memory or of a thread it is not.
MAY_END_THE_PROCESS = {"futex": "futex", "membarrier": "membarrier"}
RECORD = struct.Struct(f"<{len(KINDS)}QQ4096s")

# Beside the real machine: a made-up one with more threads and homes, which is also told about at the end.
SURROUNDINGS = {
    "real": {},
    "nodes": {"HOMING_TOPOLOGY": "node:2 core:2 pu:1"},
    "told": {"HOMING_TOPOLOGY": "node:2 core:2 pu:1", "HOMING_PIN_MASTERS": "1", "HOMING_REPORT": "report",
             "HOMING_TRACE": "trace"},
}
WAYS = ("right", "reported", "ended")   # that a run may end; the rest are defects


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="which build (default: release)")
    parser.add_argument("--library", type=Path, help="folder of libtbb.so.12 (default: the build's)")
    parser.add_argument("--programs", default="", help="names, with commas between (default: all)")
    parser.add_argument("--kinds", default="", help=f"of {', '.join(KINDS)} (default: all)")
    parser.add_argument("--surroundings", default="", help=f"of {', '.join(SURROUNDINGS)} (default: all)")
    parser.add_argument("--case", default="", metavar="PROGRAM/SURROUNDING/KIND:N:MODE", help="this case alone")
    parser.add_argument("--repeat", type=int, default=1, help="with --case: how many times")
    parser.add_argument("--sample", type=int, default=0, help="so many cases, dealt over programs and kinds")
    parser.add_argument("--seed", type=lambda text: int(text, 0), default=1, help="of the order and the sample")
    parser.add_argument("--seconds", type=float, default=0, help="end after so long (default: when all is done)")
    parser.add_argument("--again", action="store_true", help="with --seconds: round after round, until the time is up")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at a time")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a run hangs (default 60)")
    parser.add_argument("--resume", type=Path, help="a file of what was done: left out now, and added to")
    parser.add_argument("--json", type=Path, help="where a summary goes")
    parser.add_argument("--keep-going", type=int, default=0, metavar="N", help="stop after N defects (default: never)")
    return parser.parse_args()


class Case(collections.namedtuple("Case", "program surrounding kind number mode")):
    def __str__(self):
        return f"{self.program}/{self.surrounding}/{self.kind}:{self.number}:{self.mode}"

    @staticmethod
    def parse(text):
        match = re.fullmatch(r"(\w+)/(\w+)/([\w-]+):(\d+):(once|on)", text)
        if not match or match[2] not in SURROUNDINGS or match[3] not in KINDS:
            sys.exit(f"faults: {text}: expected PROGRAM/SURROUNDING/KIND:N:once or :on")
        return Case(match[1], match[2], match[3], int(match[4]), match[5])


Outcome = collections.namedtuple("Outcome", "way calls failed where output")


class Bench:
    """The build, and how one case is run in it."""

    def __init__(self, arguments):
        self.folder = (arguments.build / "tests" / "faults").resolve()
        self.library = (arguments.library or arguments.build / "lib" / "homing").resolve()
        self.limit_s = arguments.limit
        for path in (self.folder / "inject.so", self.library / "libtbb.so.12"):
            if not path.exists():
                sys.exit(f"faults: {path} does not exist; build the target `faults` first")
        self.programs = sorted(p.name for p in self.folder.iterdir() if p.suffix == "" and os.access(p, os.X_OK)
                               and p.is_file())

    def environment(self, case, folder):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("HOMING_", "LD_"))}
        env.update(SURROUNDINGS[case.surrounding], LD_PRELOAD=str(self.folder / "inject.so"),
                   LD_LIBRARY_PATH=f"{self.library}:{self.library.parent}",
                   HOMING_FAULT=f"{case.kind}:{case.number}:{case.mode}", HOMING_FAULT_FILE="record")
        return env

    def command(self, case):
        words = [f"{name}='{value}'" for name, value in SURROUNDINGS[case.surrounding].items()]
        return " ".join(words + [f"LD_LIBRARY_PATH={self.library}:{self.library.parent}",
                                 f"HOMING_FAULT={case.kind}:{case.number}:{case.mode}",
                                 f"LD_PRELOAD={self.folder}/inject.so", str(self.folder / case.program)])

    def run(self, case):
        with tempfile.TemporaryDirectory(prefix="homing-faults-") as name:
            folder = Path(name)
            with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
                process = subprocess.Popen([self.folder / case.program], env=self.environment(case, folder), cwd=folder,
                                           stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
                status, stacks = self.wait(process)
            text = {stream: (folder / stream).read_text(errors="replace") for stream in ("out", "err")}
            *counts, failed, where = RECORD.unpack((folder / "record").read_bytes()[:RECORD.size])
            way = self.judge(case, status, text, folder)
            where = where.split(b"\0")[0].decode(errors="replace").split()
            return Outcome(way, dict(zip(KINDS, counts)), failed, where, text["out"] + text["err"] + stacks)

    def wait(self, process):
        """The status, or None and the stacks of a process that hangs, which is ended with its children."""
        try:
            return process.wait(self.limit_s), ""
        except subprocess.TimeoutExpired:
            stacks = ""
            if shutil.which("gdb"):
                stacks = subprocess.run(["gdb", "-p", str(process.pid), "-batch", "-ex", "thread apply all bt 30"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, errors="replace", check=False).stdout
            return None, stacks
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)   # a session of its own: it and its children only
            except ProcessLookupError:
                pass
            process.wait()

    @staticmethod
    def judge(case, status, text, folder):
        if status is None:
            return "hang"
        lines = text["out"].splitlines()
        told = [line for line in text["err"].splitlines() if line.startswith("homing: ")]
        if status == 0 and lines and lines[-1].startswith("right: "):
            way = "right"
        elif status == 3 and any(line.startswith("failed: ") and len(line) > 8 for line in lines):
            way = "reported"
        elif status == -signal.SIGABRT and case.kind in MAY_END_THE_PROCESS and told \
                and MAY_END_THE_PROCESS[case.kind] in told[-1]:
            return "ended"
        elif status < 0:
            return signal.Signals(-status).name
        else:
            if status == 6 and any(line.startswith("homing: cannot ") for line in told):
                return "reported"   # nobody can come, and the library has said why
            return {1: "wrong result", 6: "waits for ever without a word", 4: "unknown exception", 5: "did not recover"}.get(status, f"status {status}")
        if "HOMING_REPORT" in SURROUNDINGS[case.surrounding] and not told:
            # A program that failed may have run no task, and has no trace then.
            for name in ("report", "trace") if way == "right" else ("report",):
                try:
                    body = (folder / name).read_text()
                    for part in body.splitlines() if name == "report" else [body]:
                        json.loads(part)
                except (OSError, ValueError) as problem:
                    return f"{name} lost in silence ({type(problem).__name__})"
        return way


def place_of(where):
    """The innermost frames in our libraries, as functions and lines: what defects are sorted by."""
    named = []
    for frame in where:
        path, _, offset = frame.rpartition("+")
        if re.search(r"lib(tbb|homing)\.so", path) and shutil.which("addr2line"):
            answer = subprocess.run(["addr2line", "-Cfe", path, offset], stdout=subprocess.PIPE, text=True,
                                    check=False).stdout.splitlines()
            if len(answer) == 2 and re.search(r"/src/|/include/homing/", answer[1]):
                function = re.sub(r"\(anonymous namespace\)::|homing::", "", answer[0])
                named.append(f"{re.sub(r'[(<].*', '', function)} {'/'.join(answer[1].split()[0].split('/')[-2:])}")
        if len(named) == 6:
            break
    return named or where[1:6]


class Tally:
    """What came out so far, on the screen and in files."""

    def __init__(self, bench, arguments, total):
        self.bench, self.arguments, self.total = bench, arguments, total
        self.counts = collections.Counter()
        self.defects = []
        self.places = collections.Counter()
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.done = open(arguments.resume, "a") if arguments.resume else None

    def add(self, case, outcome):
        with self.lock:
            reached = outcome.failed > 0
            self.counts[case.kind, outcome.way if reached or outcome.way not in WAYS else "not reached"] += 1
            if self.done:
                print(json.dumps({"case": str(case), "way": outcome.way, "reached": reached}), file=self.done,
                      flush=True)
            if outcome.way not in WAYS:
                self.add_defect(case, outcome)
            runs = sum(self.counts.values())
            if sys.stdout.isatty():
                total = f" of {self.total}" if self.total else ""
                print(f"\r\033[Kfaults: {runs}{total} runs, {len(self.defects)} defects, "
                      f"{time.monotonic() - self.begun:.0f} s ", end="", flush=True)

    def add_defect(self, case, outcome):
        place = place_of(outcome.where)
        key = (outcome.way, tuple(place[:3]))
        self.places[key] += 1
        self.defects.append({"case": str(case), "way": outcome.way, "where": place, "output": outcome.output[-20000:],
                             "command": self.bench.command(case)})
        if self.places[key] == 1:   # its sisters are in the summary
            lines = "\n    ".join(place)
            start = "\r\033[K" if sys.stdout.isatty() else ""
            print(f"{start}DEFECT {outcome.way}: {case}\n    {lines}\n  {self.bench.command(case)}", flush=True)

    def summary(self):
        rows = {}
        for (kind, way), runs in self.counts.items():
            rows.setdefault(kind, {})[way if way in WAYS or way == "not reached" else "defect"] = \
                rows.get(kind, {}).get(way if way in WAYS or way == "not reached" else "defect", 0) + runs
        return {"seconds": round(time.monotonic() - self.begun, 1), "seed": self.arguments.seed,
                "runs": sum(self.counts.values()), "kinds": rows, "defects": self.defects,
                "places": [{"way": way, "where": place, "runs": runs}
                           for (way, place), runs in self.places.most_common()]}

    def finish(self):
        result = self.summary()
        if self.arguments.json:
            self.arguments.json.write_text(json.dumps(result, indent=1) + "\n")
        if sys.stdout.isatty():
            print("\r\033[K", end="")
        columns = (*WAYS, "not reached", "defect")
        print(f"{'kind':<14}" + "".join(f"{name:>13}" for name in columns))
        for kind in KINDS:
            if kind in result["kinds"]:
                print(f"{kind:<14}" + "".join(f"{result['kinds'][kind].get(name, 0):>13}" for name in columns))
        if self.defects:
            print("defects by place:")
            for entry in result["places"]:
                print(f"  {entry['runs']:>5} {entry['way']}: " + " < ".join(entry["where"]))
        print(f"{result['runs']} runs in {result['seconds']:.0f} s: {len(self.defects)} defects")
        reached = result["runs"] - sum(row.get("not reached", 0) for row in result["kinds"].values())
        if not reached:
            print("faults: no call failed in any run: nothing was tried")
        return 1 if self.defects or not reached else 0


def count_calls(bench, pool, programs, surroundings):
    """How many calls of each kind a program makes when none fails; which must end right."""
    pairs = [(p, s) for p in programs for s in surroundings]
    runs = pool.map(lambda pair: bench.run(Case(*pair, "memory", 0, "once")), pairs)
    calls = {}
    for pair, outcome in zip(pairs, runs):
        if outcome.way != "right":
            sys.exit(f"faults: {pair[0]} fails though nothing does: {outcome.way}\n{outcome.output}")
        calls[pair] = outcome.calls
    return calls


def cases_of(calls, kinds):
    """All, and some beyond the count, since schedules differ from run to run."""
    return [Case(program, surrounding, kind, number, mode)
            for (program, surrounding), counts in calls.items() for kind in kinds if counts[kind] > 0
            for number in range(1, counts[kind] + counts[kind] // 8 + 3) for mode in ("once", "on")]


def must_be_met(kinds, calls, arguments):
    """A kind of call that nobody makes tries nothing. Some programs alone need not make them all, unless asked for."""
    unmet = [kind for kind in kinds if not any(counts[kind] for counts in calls.values())]
    if unmet and (arguments.kinds or not (arguments.programs or arguments.surroundings)):
        sys.exit(f"faults: no program makes a call of {', '.join(unmet)}")


def fair_sample(cases, count, rng):
    """Round by round one of each program and kind, so that the many allocations don't crowd the rest out."""
    rng.shuffle(cases)
    groups = {}
    for case in cases:
        groups.setdefault((case.program, case.kind), []).append(case)
    chosen = []
    while len(chosen) < count and groups:
        for key in list(groups):
            chosen.append(groups[key].pop())
            if not groups[key]:
                del groups[key]
    return chosen[:count]


def chosen(names, given, what):
    wanted = given.split(",") if given else list(names)
    for name in wanted:
        if name not in names:
            sys.exit(f"faults: there is no {what} {name}; expected one of {', '.join(names)}")
    return wanted


def run_all(bench, pool, cases, tally, end, defects_max):
    """In order, until the time is up or there have been enough defects; False then."""
    def one(case):
        if time.monotonic() < end and not (defects_max and len(tally.defects) >= defects_max):
            tally.add(case, bench.run(case))
    for _ in pool.map(one, cases):
        pass
    return time.monotonic() < end


def main():
    arguments = parse_arguments()
    bench = Bench(arguments)
    rng = random.Random(arguments.seed)
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        if arguments.case:
            cases = [Case.parse(arguments.case)] * arguments.repeat
            chosen(bench.programs, cases[0].program, "program")
        else:
            kinds = chosen(KINDS, arguments.kinds, "kind")
            calls = count_calls(bench, pool, chosen(bench.programs, arguments.programs, "program"),
                                chosen(SURROUNDINGS, arguments.surroundings, "surrounding"))
            must_be_met(kinds, calls, arguments)
            cases = cases_of(calls, kinds)
            if arguments.sample:
                cases = fair_sample(cases, arguments.sample, rng)
        if arguments.resume and arguments.resume.exists():
            done = {json.loads(line)["case"] for line in arguments.resume.read_text().splitlines()}
            cases = [case for case in cases if str(case) not in done]
            if not cases:
                print("faults: all was done before")
                return 0
        end = time.monotonic() + arguments.seconds if arguments.seconds else float("inf")
        again = arguments.again and arguments.seconds
        tally = Tally(bench, arguments, 0 if again else len(cases))
        try:
            while True:
                if not arguments.sample:
                    rng.shuffle(cases)
                if not run_all(bench, pool, cases, tally, end, arguments.keep_going) or not again:
                    break
        except KeyboardInterrupt:
            end = 0
            pool.shutdown(cancel_futures=True)
        if arguments.case:
            print(f"{bench.command(cases[0])}")
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
