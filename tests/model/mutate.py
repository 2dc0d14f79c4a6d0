#!/usr/bin/env python3
"""Mutation: does a model fail when one memory order is weaker, or one fence is gone?

Each order of an atomic operation in the modelled files is weakened by one step, and each fence is left out, one at a
time. The changed files stand in a folder of their own before src/ in the include path, each with all of its mutants,
of which a run chooses one. A model is compiled with them once, linked with the build's checker, and run for each until
the first failure: to the sample's bounds, then to the full ones. The tree is never changed.

    tests/model/mutate.py --build build/release            all files
    tests/model/mutate.py --build build/release --only mailbox --json mailbox.json

Exit code: 0 if every mutant was found or is listed in survivors.toml with its reason, 1 if not.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

ARENA_MODELS = "arena_calls visitors waits"
MANAGER_MODELS = "manager_calls refusals"

# A file's models, the quickest first. Not those of the arena's files that the models have in small (doors_workers/); nor
# src/sync/asymmetric_fence.cpp: the kernel's barriers in it order more than C++ knows of, so that weaker orders beside
# them show in no model.
MODELS = {
    "src/sync/work_deque.hpp": "deque",
    "src/sync/owner_lock.hpp": "owner_lock",
    "src/runtime/task/cancel_marks.hpp": "contexts",
    "src/runtime/task/context.cpp": "context_tree",
    "src/runtime/task/context.hpp": "context_tree",
    "src/sync/spin_lock.hpp": "locks",
    "src/sync/mutex.hpp": "locks",
    "src/sync/parker.hpp": "parker",
    "src/sync/mailbox.hpp": "mailbox",
    "src/sync/mailbox_place.hpp": "mailbox",
    "src/sync/shared_queue.hpp": "shared_queue",
    "src/sync/sharded_queue.hpp": "shared_queue",
    "src/runtime/thread/reference_vertices.hpp": "reference_vertex",
    "src/sync/wait_set.hpp": "wait_set",
    "src/sync/wait_set.cpp": "wait_set",
    "src/memory/small_object_pool.cpp": "object_pool",
    "src/runtime/task/task_proxy.hpp": "object_pool",
    "src/runtime/task/lane.cpp": "fork_lane",
    "src/runtime/task/lane.hpp": "fork_lane",
    "include/homing/detail/fork_lane.hpp": "fork_lane",
    "src/runtime/arena/searcher_counts.hpp": "searcher_counts",
    "src/runtime/arena/library_users.hpp": "library_users",
    "src/runtime/arena/missed_wake.hpp": "missed_wake",
    "src/runtime/arena/observer_list.cpp": "observers",
    "src/runtime/arena/observer_list.hpp": "observers",
    "src/runtime/arena/slot_hold.hpp": "slots",
    "src/runtime/thread/visit_mark.hpp": "visitors",
    "src/runtime/task/exception_word.hpp": "exceptions",
    "src/sync/asymmetric_fence.hpp": "fences",
    "src/runtime/arena/searchers.hpp": "waits",
    "src/runtime/arena/searchers.cpp": "waits",
    "src/runtime/arena/sleepers.cpp": "waits",
    "src/runtime/search/waiters.hpp": "waits",
    "src/runtime/thread/wait_table.hpp": "waits",
    "src/runtime/task/left_stack.hpp": "suspend",
    "src/runtime/stack/stack_switching.cpp": "suspend",
    "src/runtime/stack/suspend_point.cpp": "suspend",
    "src/runtime/pipeline/input_offer.hpp": "pipeline_offer",
    "src/tbb/queuing_rw_mutex.cpp": "queuing_rw_mutex",
    "src/tbb/live_arena.cpp": "live_arenas",
    "src/runtime/arena/arena_access.hpp": "live_arenas",
    "include/homing/locality_queues.hpp": "locality_queues",
    "src/runtime/arena/arena.cpp": ARENA_MODELS,
    "src/runtime/arena/arena.hpp": ARENA_MODELS,
    "src/runtime/arena/arena_queues.cpp": ARENA_MODELS,
    "src/runtime/arena/worker_account.hpp": ARENA_MODELS,
    "src/runtime/workers/demand.cpp": MANAGER_MODELS,
    "src/runtime/workers/making.cpp": MANAGER_MODELS,
    "src/runtime/workers/resource_manager.cpp": MANAGER_MODELS,
    "src/runtime/workers/standing_in.cpp": MANAGER_MODELS,
    "src/runtime/workers/worker.cpp": MANAGER_MODELS,
    "src/runtime/workers/worker_shortage.cpp": MANAGER_MODELS,
}

# As CMakeLists.txt has them.
WRAPPED = ["-Wl,--wrap=mmap,--wrap=mprotect,--wrap=munmap"]
WRAPPED_TOO = {"fences": ["-Wl,--wrap=syscall"]}

OPERATION = re.compile(r"(?:\.(load|store|exchange|compare_exchange_strong|compare_exchange_weak|fetch_\w+)"
                       r"|\b(spin_wait_until_eq))\(")
ORDER = re.compile(r"(?:\bsync::|\bstd::memory_order_|\b)(acquire|release|acq_rel|seq_cst)$")
FENCE = re.compile(r"(?:\bsync::)?\b(light_fence|heavy_fence|full_fence|full_fence_after_exchange)\(\);")
WEAKER = {
    "load": {"acquire": ["relaxed"], "seq_cst": ["acquire"]},
    "store": {"release": ["relaxed"], "seq_cst": ["release"]},
    "update": {"acquire": ["relaxed"], "release": ["relaxed"], "acq_rel": ["acquire", "release"], "seq_cst": ["acq_rel"]},
}


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    what: str  # "exchange: acq_rel -> acquire", "without heavy_fence"
    begin: int
    end: int
    text: str  # instead of [begin, end)
    source: str  # the line as it stands
    nth: int = 1  # of those that are alike in this file

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line} {self.what}"

    @property
    def key(self) -> str:
        """Without the line's number, which any change above it moves."""
        return f"{self.file}: {self.source}: {self.what}" + (f" ({self.nth})" if self.nth > 1 else "")


def models_of(mutant: Mutant) -> list[str]:
    return MODELS[mutant.file].split()


def without_comments(text: str) -> str:
    """The same length, with comments as blanks."""
    return re.sub(r"//[^\n]*", lambda m: " " * len(m[0]), text)


def arguments(code: str, start: int) -> list[tuple[int, int]]:
    """The spans of a call's arguments; `start` is behind its parenthesis."""
    depth, begin, spans = 0, start, []
    for at in range(start, len(code)):
        c = code[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return spans + [(begin, at)]
            depth -= 1
        elif c == "," and depth == 0:
            spans.append((begin, at))
            begin = at + 1
    return spans


def mutants_of(file: str) -> list[Mutant]:
    text = (ROOT / file).read_text()
    code = without_comments(text)
    lines = text.splitlines()
    found = []

    def add(what: str, begin: int, end: int, instead: str) -> None:
        line = text.count("\n", 0, begin) + 1
        source = re.sub(r"\s+", " ", lines[line - 1].split("//")[0]).strip()
        found.append(Mutant(file, line, what, begin, end, instead, source))

    for call in OPERATION.finditer(code):
        name = call[1] or "load"
        spans = [s for s in arguments(code, call.end()) if ORDER.search(code[s[0]:s[1]].strip())]
        for i, (begin, end) in enumerate(spans):
            order = ORDER.search(code[begin:end].strip())[1]
            fails = name.startswith("compare_exchange") and i == len(spans) - 1 and is_failure(code, call.end(), end)
            kind = "load" if name == "load" or fails else "store" if name == "store" else "update"
            for weaker in WEAKER[kind].get(order, []):
                what = f"{name}{' (failure)' if fails else ''}: {order} -> {weaker}"
                add(what, begin, end, code[begin:end].replace(order, weaker))
    for fence in FENCE.finditer(code):
        add(f"without {fence[1]}", fence.start(), fence.end(), ";")
    found.sort(key=lambda m: (m.line, m.what))
    alike = collections.Counter()
    for i, mutant in enumerate(found):
        alike[mutant.key] += 1
        found[i] = dataclasses.replace(mutant, nth=alike[mutant.key])
    return found


def is_failure(code: str, start: int, end: int) -> bool:
    """True if the argument that ends there is a compare-exchange's fourth."""
    return [e for _, e in arguments(code, start)].index(end) == 3


def mutated(file: str, mutants: list[tuple[int, Mutant]]) -> str:
    """The file with all of its mutants in it: each by its number, chosen when the program runs."""
    text = (ROOT / file).read_text()
    by_place = collections.defaultdict(list)
    for number, m in mutants:
        by_place[m.begin, m.end].append((number, m))
    for (begin, end), alternatives in sorted(by_place.items(), reverse=True):
        instead = text[begin:end]
        for number, m in alternatives:
            if m.text == ";":  # a fence
                instead = f"if (::homing::model::is_kept({number})) {{ {instead} }}"
            else:
                instead = f"::homing::model::or_weaker({number}, {instead}, {m.text})"
        text = text[:begin] + instead + text[end:]
    return text


class Builder:
    """Compiles and links a model as the build does, with all mutants of its files in it; runs it with one at a time."""

    def __init__(self, build: Path, sample: bool, seconds: int, folder: Path):
        self.build, self.sample, self.seconds, self.folder = build, sample, seconds, folder
        self.commands = {Path(c["file"]).stem: c for c in json.loads((build / "compile_commands.json").read_text())
                         if Path(c["file"]).parent == HERE}
        self.engine = sorted(str(p) for p in (build / "tests/model/CMakeFiles/model_engine.dir").rglob("*.o"))
        if not self.engine:
            sys.exit(f"{build}: no checker in it; build a model first: ninja -C {build} model_litmus")

    def make(self, model: str, mutants: list[tuple[int, Mutant]]) -> str:
        """The model's program; a model that fails without any mutant would find every mutant, and ends this."""
        folder = self.folder / model
        for file in {m.file for _, m in mutants}:
            changed = folder / file
            changed.parent.mkdir(parents=True, exist_ok=True)
            changed.write_text(mutated(file, [(n, m) for n, m in mutants if m.file == file]))
        program = folder / "model"
        if problem := self.compile(model, folder, program):
            sys.exit(f"{model}: with mutants in it, it does not compile: {problem}")
        if subprocess.run([str(program), "--stop", "--sample"], capture_output=True).returncode != 0:
            sys.exit(f"{model} --sample: fails without any mutant; mend that first")
        return str(program)

    def outcome(self, programs: dict[str, str], number: int) -> tuple[str, str]:
        """What came of a mutant, and by which of its models. The samples first: they find most, and soon."""
        late = ""
        for bounds in [["--sample"]] if self.sample else [["--sample"], []]:
            for model, program in programs.items():
                ran = subprocess.run([program, "--stop", "--mutant", str(number), *bounds], capture_output=True,
                                     text=True, preexec_fn=self.limit)
                if -ran.returncode in (signal.SIGXCPU, signal.SIGKILL):
                    late = " (out of time)"
                elif ran.returncode != 0:
                    return "found" if ran.returncode == 1 else f"ended by itself ({ran.returncode})", model
        return f"survived{late}", ""

    def limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds))

    def compile(self, model: str, folder: Path, program: Path) -> str:
        entry = self.commands[model]
        words = [w for w in shlex.split(entry["command"]) if "ccache" not in w]
        words = words[:words.index("-o")] + ["-o", str(program.with_suffix(".o")), "-c", entry["file"]]
        first = next(i for i, w in enumerate(words) if w == f"-I{ROOT / 'src'}")
        words[first:first] = [f"-I{folder / 'src'}", f"-I{folder / 'include'}", f"-I{folder}"]
        words += ["-g0", "-O1", "-include", str(HERE / "engine/mutant.hpp")]
        for command in (words, [words[0], str(program.with_suffix(".o")), *self.engine, *WRAPPED, *WRAPPED_TOO.get(model, []), "-o", str(program)]):
            done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
            if done.returncode != 0:
                return next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a build folder in which the models were built")
    parser.add_argument("--only", default="",
                        help="mutants whose name (FILE:LINE WHAT) contains this, or one of these, with commas between")
    parser.add_argument("--sample", action="store_true", help="the models' sample bounds only")
    parser.add_argument("--seconds", type=int, default=600,
                        help="of one CPU, for one mutant's model; out of time counts as survived")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="also write the outcomes here")
    parser.add_argument("--list", action="store_true", help="only say which mutants there are")
    options = parser.parse_args()
    mutants = [m for file in MODELS for m in mutants_of(file)
               if any(part in m.name for part in options.only.split(","))]
    if not mutants:
        parser.error(f"no mutant's name contains {options.only!r}; --list has them")
    if options.list:
        print("\n".join(m.name for m in mutants))
        return 0
    reasons = tomllib.loads((HERE / "survivors.toml").read_text())["survivor"]
    known = {r["mutant"]: r["reason"] for r in reasons}
    rows, unexplained = [], 0
    with tempfile.TemporaryDirectory(prefix="homing-mutants-") as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        builder = Builder(options.build.resolve(), options.sample, options.seconds, Path(folder))
        numbered = list(enumerate(mutants, 1))
        by_model = {model: [(n, m) for n, m in numbered if model in models_of(m)] for model in
                    dict.fromkeys(model for m in mutants for model in models_of(m))}
        making = {model: pool.submit(builder.make, model, its) for model, its in by_model.items()}
        outcomes = [pool.submit(lambda n=n, m=m: builder.outcome({k: making[k].result() for k in models_of(m)}, n))
                    for n, m in numbered]
        for mutant, running in zip(mutants, outcomes):
            outcome, model = running.result()
            reason = known.get(mutant.key, "") if outcome.startswith("survived") else ""
            unexplained += outcome != "found" and not reason
            rows.append(dataclasses.asdict(mutant) | {"outcome": outcome, "model": model, "reason": reason,
                                                      "key": mutant.key})
            by, why = f" ({model})" if model else "", f": {reason}" if reason else ""
            print(f"{outcome:10} {mutant.name}{by}{why}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    found = sum(r["outcome"] == "found" for r in rows)
    print(f"{found} of {len(rows)} found ({100 * found / len(rows):.1f}%), "
          f"{len(rows) - found - unexplained} explained, {unexplained} not")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
