#!/usr/bin/env python3
"""Property: `homing run` starts a program on our libtbb.so.12 with the settings asked for, gives its exit code back, and
says what will keep it off our library. Method: programs that print what reached them, Python as a program that loads
libtbb.so.12 for real, and small C programs linked in each way that matters."""

import json
import os
import shutil
import signal
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

from command import COMMAND, SECONDS_MAX, check, homing, main, script
from measuring import picture_texts

LIBRARY = (COMMAND.parent / "../lib/homing").resolve()
# A program on TBB: loads it by name, as the dynamic linker of any program would, and asks it.
ASK = """
import ctypes
tbb = ctypes.CDLL("libtbb.so.12")
tbb.TBB_runtime_version.restype = ctypes.c_char_p
print(tbb.TBB_runtime_version().decode(), tbb._ZN3tbb6detail2r115numa_node_countEv())
"""
REPORT = {"homing": "0", "domains": 4, "virtual": True, "threads": 8,
          "tasks": {"executed": 1000, "home": 975, "away": 25}, "steals": {"near": 12, "far": 3}, "mailbox": 40,
          "shared_queue": 5, "revokes": 2, "bypasses": 1, "wakeups": 7}


def our_library(_):
    seen = homing("run", "--", sys.executable, "-c", ASK)
    check(seen.code == 0 and "homing" in seen.out, "a program gets our library", seen)
    seen = homing("run", "--topology", "node:4 core:2 pu:1", sys.executable, "-c", ASK)
    check(seen.out.split()[-1:] == ["4"], "--topology reaches the runtime", seen)
    seen = homing("run", "--tbb=stock", "--", sys.executable, "-c", ASK, env={"LD_LIBRARY_PATH": str(LIBRARY)})
    check("homing" not in seen.out, "--tbb=stock takes ours out of the way", seen)


def settings(folder):
    show = ["sh", "-c", "env; echo args:$#:$1:$2", "name"]
    xml = Path(__file__).resolve().parent.parent / "data/topology/unequal.xml"
    shutil.copy(xml, folder / "machine.xml")
    seen = homing("run", "--steal=domain", "--domain", "socket", "--topology", "machine.xml", "--", *show, "--report", "a b",
                  env={"LD_LIBRARY_PATH": f"/first:{LIBRARY}::/last"}, cwd=folder)
    lines = seen.out.splitlines()
    for line in ("HOMING_STEAL=domain", "HOMING_DOMAIN=socket", f"HOMING_TOPOLOGY={folder.resolve()}/machine.xml",
                 "args:2:--report:a b"):
        check(line in lines, line, seen)
    path = [line for line in lines if line.startswith("LD_LIBRARY_PATH=")]
    check(len(path) == 1 and path[0].startswith(f"LD_LIBRARY_PATH={LIBRARY}:/first:")
          and path[0].count(str(LIBRARY)) == 1, "our folder once, and first", seen)
    seen = homing("run", "--", *show)
    check("HOMING_" not in seen.out, "nothing is set that was not asked for", seen)
    check(homing("run", "--", "sh", "-c", "exec cat", "--").code == 0, "a later -- is the program's own")


def exit_codes(folder):
    for words in ([], ["--report"]):
        name = "with a report" if words else "plain"
        check(homing("run", *words, "--", "sh", "-c", "exit 42").code == 42, f"{name}: the program's own")
        seen = homing("run", *words, "--", "sh", "-c", "kill -KILL $$")
        check(seen.code in (-signal.SIGKILL, 128 + signal.SIGKILL), f"{name}: killed", seen)
        check(homing("run", *words, "nosuchprogram").code == 127, f"{name}: not found")
        check(homing("run", *words, folder / "none").code == 127, f"{name}: no such path")
        (folder / "plain.txt").write_text("text")
        seen = homing("run", *words, folder / "plain.txt")
        check(seen.code == 126 and "plain.txt" in seen.err, f"{name}: not executable", seen)
        check(homing("run", *words, folder).code == 126, f"{name}: a folder")
    for words in ([], ["--"], ["--report"], ["--steal=foo", "true"], ["--domain", "planet", "true"], ["--nothing", "true"],
                  ["--membind", "", "true"], ["--interleave=", "true"], ["--topology", "", "true"], ["--threads", "", "true"],
                  ["--tbb=mine", "true"], ["--tbb=stock", "--report", "true"], ["--topology", "nonsense", "true"]):
        seen = homing("run", *words)
        check(seen.code == 125 and seen.err.startswith("homing: "), "wrong usage: " + " ".join(words), seen)


def without_library(folder):
    copy = folder / "bin/homing"
    copy.parent.mkdir()
    shutil.copy(COMMAND, copy)
    done = subprocess.run([copy, "run", "--", "true"], text=True, capture_output=True)
    check(done.returncode == 125 and "lib/homing/libtbb.so.12" in done.stderr, "a command without its library", done)


def report(folder):
    writer = script(folder / "writer", f"#!/bin/sh\necho '{json.dumps(REPORT)}' >> $HOMING_REPORT\necho out\nexit 9\n")
    seen = homing("run", "--report", writer)
    check(seen.code == 9 and seen.out == "out\n", "the program's output and code stay", seen)
    for line in ("4 domains of a virtual machine, 8 threads", "in their home domain               975   97.5 %",
                 "steals, far                            3"):
        check(line in seen.err, line, seen)
    twice = script(folder / "twice", f"#!/bin/sh\n{writer}\n{writer}\n")
    seen = homing("run", "--report", twice)
    check("sums of 2 processes" in seen.err and "2000" in seen.err, "several processes are summed", seen)
    large = {"homing": "0", "domains": 4, "threads": 8, "homes": [[0, 0, 10], [3, 1, 50]], "bytes_by_node": {"0": 4096}}
    small = {"homing": "0", "domains": 1, "threads": 1, "homes": [[0, 0, 40]], "bytes_by_node": {"0": 8192}}
    unequal = script(folder / "unequal", "#!/bin/sh\n" + "".join(f"echo '{json.dumps(r)}' >> $HOMING_REPORT\n" for r in (large, small)))
    seen = homing("run", "--report", "--svg", folder / "unequal.svg", unequal)
    row = next((line.split() for line in seen.err.splitlines() if line.split()[:1] == ["3"]), [])
    texts = picture_texts(folder / "unequal.svg")
    check("4 domains, 8 threads" in seen.err and row == ["3", "0", "50", "0", "0"], "the largest machine of several processes", seen)
    check("50" in texts and "all processes, at the end" in texts, "in the picture, too", texts)
    seen = homing("run", f"--report={folder}/kept.json", writer)
    check(seen.code == 9 and json.loads((folder / "kept.json").read_text()) == REPORT and seen.err == "",
          "--report=FILE keeps the JSON", seen)
    for name in ("true", "false", "stderr", "{}", "1"):
        seen = homing("run", f"--report={name}", "--", writer, cwd=folder)
        check(seen.code == 9 and (folder / name).exists() and json.loads((folder / name).read_text()) == REPORT and seen.err == "",
              f"a file may have any name: {name}", seen)
    two = script(folder / "two", '#!/bin/sh\n"$@"\n"$@"\n')
    for time in ("first", "second"):
        seen = homing("run", f"--report={folder}/real.json", "--", two, sys.executable, "-c", ASK)
        lines = (folder / "real.json").read_text().splitlines()
        check(seen.code == 0 and [json.loads(line)["tasks"]["executed"] for line in lines] == [0, 0],
              f"each process on our library adds a line, and none of an earlier run is left: the {time} run", (seen, lines))
    seen = homing("run", "--report", "--", two, sys.executable, "-c", ASK)
    check("sums of 2 processes" in seen.err, "a table of both", seen)
    lost = "import ctypes, os; ctypes.CDLL('libtbb.so.12'); os.fork() or os._exit(0)"
    seen = homing("run", "--report", "--", sys.executable, "-c", lost)
    check("no task was reported" in seen.err and "_exit" in seen.err and "steals" not in seen.err and "pages at the end" in seen.err,
          "no task at all is said in place of zeros", seen)
    part = script(folder / "part", "#!/bin/sh\necho '{\"domains\":1,\"tasks\":{\"executed\":0}}' > $HOMING_REPORT\n")
    seen = homing("run", "--report", part)
    lines = [line for line in seen.err.splitlines() if "not measured" in line]
    for figure in ("steals, near", "mailboxes", "wake-ups", "pages at the end", "home domain"):
        check(any(figure in line for line in lines) and "nan" not in seen.err, f"a missing figure is not measured, never 0: {figure}", seen)
    for text in ("garbage", "[1]", '{"tasks":'):
        bad = script(folder / "bad", f"#!/bin/sh\necho '{text}' > $HOMING_REPORT\nexit 3\n")
        seen = homing("run", "--report", bad)
        check(seen.code == 3 and "can't be understood" in seen.err, f"a damaged report: {text}", seen)
    seen = homing("run", "--report", "true")
    check(seen.code == 0 and "no report" in seen.err, "no report at all", seen)
    seen = homing("run", "--report", writer, env={"TMPDIR": str(folder / "none")})
    check(seen.code == 125 and "TMPDIR" in seen.err and "--report=FILE" in seen.err, "nowhere to put the report", seen)
    seen = homing("run", "--json", "true")
    check(seen.code == 0 and "no report" in json.loads(seen.err[seen.err.index("{"):])["error"], "no report at all, as JSON", seen)
    seen = homing("run", f"--report={folder}/kept.json", "--json", writer)
    check(seen.code == 125 and "leave out one of the two" in seen.err, "--json beside --report=FILE", seen)
    named = script(folder / os.fsdecode(b"d\xf8d"), f"#!/bin/sh\n{writer}\n")
    seen = homing("run", "--svg", folder / "odd.svg", "--", named)
    xml.dom.minidom.parse(str(folder / "odd.svg"))
    check(seen.code == 9, "a picture is XML whatever the program's name", seen)


def locality_report(folder):
    """All that the report is made of, from a program that really runs tasks."""
    program = tasks_program(folder)
    if program is None:
        return
    machine = ["--topology", "node:4 core:2 pu:1"]
    seen = homing("run", *machine, "--json", "--", program)
    check(seen.code == 0 and seen.out == "done\n", "a program with tasks", seen)
    report = json.loads(seen.err)
    homes = report["homes"]
    tasks = report["tasks"]
    check(sum(n for _, _, n in homes) == tasks["executed"] > 0, "tasks by home and domain add up", report)
    check(sum(n for home, ran, n in homes if home == ran) == tasks["home"], "those at home too", report)
    check(sum(n for home, ran, n in homes if home != ran) == tasks["away"], "and those away", report)
    check(sum(report["bytes_by_node"].values()) >= 32 << 20, "pages at the end, with what the program keeps", report)
    check((report["traffic"] is None) == ("traffic_reason" in report), "traffic, or a reason", report)
    table = homing("run", *machine, "--report", "--", program)
    check("tasks by home (row)" in table.err and "pages at the end" in table.err and "traffic" in table.err, "the table", table)
    rows = dict(line.split(",") for line in homing("run", *machine, "--csv", "--", program).err.splitlines())
    check(int(rows["tasks_executed"]) > 0 and rows["figure"] == "value" and "traffic_near" in rows, "CSV", rows)
    one = json.loads(homing("run", "--threads", "1", "--json", "--", program).err)
    check(one["steals"] == {"near": 0, "far": 0} and one["tasks"]["executed"] > 0, "--threads 1: nobody steals", one)


def picture(folder):
    """--svg: the report as a picture, or a message and no file."""
    program = tasks_program(folder)
    if program is None:
        return
    drawn = folder / "run.svg"
    seen = homing("run", "--topology", "node:4 core:2 pu:1", "--json", "--svg", drawn, "--", program)
    report = json.loads(seen.err)
    texts = picture_texts(drawn)
    check(seen.code == 0 and "ran in domain" in texts and "pages" in texts, "--svg beside --json", texts)
    check(sum(text.endswith(" %") for text in texts) >= 4, "shares in the cells", texts)
    check(any("made-up machine" in text for text in texts) == report["virtual"], "says what is made up", texts)
    absent = folder / "none.svg"
    for words, part in ((["--report=x.json"], "leave out one"), (["--tbb=stock"], "needs our library")):
        seen = homing("run", *words, "--svg", absent, "--", program)
        check(seen.code == 125 and part in seen.err and not absent.exists(), f"--svg with {words}", seen)
    seen = homing("run", "--svg", folder / "no-folder/x.svg", "--", program)
    check(seen.code == 125 and seen.out == "" and "no-folder/x.svg" in seen.err, "nowhere to draw: not started", seen)
    seen = homing("run", "--svg", absent, "--", "true")
    check(seen.code == 0 and "no report" in seen.err and not absent.exists(), "no report, no picture", seen)


def tasks_program(folder):
    """A program on oneTBB's own headers that keeps 32 MiB and runs loops with affinity; None without a compiler."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None or not Path("/usr/include/oneapi/tbb.h").exists():
        print("left out: no C++ compiler, or no oneTBB headers")
        return None
    (folder / "tasks.cpp").write_text("""#include <oneapi/tbb.h>
#include <cstdio>
#include <vector>
int main() {
  static auto& kept = *new std::vector<double>(4 << 20, 1.0);
  oneapi::tbb::affinity_partitioner same;
  for (int round = 0; round < 4; ++round)
    oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<int>(0, 1 << 20, 4096), [](const auto& r) {
      for (int i = r.begin(); i != r.end(); ++i) kept[static_cast<unsigned>(i)] += i;
    }, same);
  std::puts(kept[5] > 0 ? "done" : "wrong");
}
""")
    subprocess.run([compiler, "-std=c++17", "-O1", folder / "tasks.cpp", "-o", folder / "tasks", LIBRARY / "libtbb.so.12", "-pthread"],
                   check=True)
    return folder / "tasks"


def trace(folder):
    program = tasks_program(folder)
    if program is None:
        return
    (folder / "trace.json").write_text("")   # as mktemp(1) makes one
    seen = homing("run", "--topology", "node:4 core:2 pu:1", "--trace", "trace.json", "--json", "--", program, cwd=folder)
    check(seen.code == 0, "--trace with a report", seen)
    events = json.loads((folder / "trace.json").read_text())
    report = json.loads(seen.err)
    slices = [e for e in events["traceEvents"] if e["ph"] == "X"]
    check(len(slices) + events["otherData"]["dropped_tasks"] == report["tasks"]["executed"], "a slice a task",
          (len(slices), report))
    processes = {e["pid"]: e["args"]["name"] for e in events["traceEvents"] if e["name"] == "process_name"}
    check(len(processes) == 4 and all(e["pid"] in processes for e in slices), "a process a domain", processes)
    threads = {(e["pid"], e["tid"]) for e in events["traceEvents"] if e["name"] == "thread_name"}
    check(all((e["pid"], e["tid"]) in threads for e in slices), "each thread has a name", threads)
    check(len({tid for _, tid in threads}) == len(threads), "and is in one process only", threads)
    check(sum(e["cat"] == "steal,far" for e in slices) <= report["steals"]["far"], "far steals are marked", report)
    away = sum(e["args"]["home"] != e["pid"] - 1 for e in slices)
    check(away == report["tasks"]["away"], "home and domain as in the report", (away, report["tasks"]))
    two = script(folder / "two", f"#!/bin/sh\n{program}\n{program}\n")
    seen = homing("run", "--trace", folder / "both.json", "--", two)
    found = sorted(p.name for p in folder.glob("both.json*"))
    check(seen.code == 0 and len(found) == 2 and found[0] == "both.json", "a file each for several processes", found)
    # The command knows the further trace, written by src/observe/trace_file.cpp, by its first words: cli/run/files.cpp.
    seen = homing("run", "--trace", folder / "both.json", "--", two)
    again = sorted(p.name for p in folder.glob("both.json*"))
    check(seen.code == 0 and len(again) == 2 and again[0] == "both.json", "those of the run before are gone", (found, again))
    # It knows an earlier report by its first words as well, written by src/observe/report.cpp.
    for time in ("first", "second"):
        seen = homing("run", f"--report={folder}/kept.json", "--", program)
        lines = (folder / "kept.json").read_text().count("\n")
        check(seen.code == 0 and seen.err == "" and lines == 1, f"a report in place of an earlier one: the {time} run", (seen, lines))
    seen = homing("run", "--", program)
    check(seen.err == "", "nothing without it", seen)


def policies(folder):
    show = "import os; print(*sorted(os.sched_getaffinity(0))); print(open('/proc/self/numa_maps').readline().split()[1])"
    if not os.path.exists("/proc/self/numa_maps"):
        print("left out: no numa_maps")
        return
    nodes = json.loads(homing("topology", "--json").out)["nodes"]
    usable = [n["node"] for n in nodes if n["memory"] == "usable"]
    first = usable[0]
    for option, name in (("--membind", f"bind:{first}"), ("--preferred", f"prefer:{first}"), ("-m", f"bind:{first}"),
                         ("-p", f"prefer:{first}")):
        for value in (str(first), "+0"):
            seen = homing("run", option, value, "--", sys.executable, "-c", show)
            if "refuses set_mempolicy" in seen.err:
                print("left out: set_mempolicy is refused here")
                return
            check(seen.code == 0 and seen.out.split("\n")[1].startswith(name), f"{option} {value}", seen)
    seen = homing("run", "--interleave=all", "--", sys.executable, "-c", show)
    check(seen.out.split("\n")[1].startswith("interleave:"), "--interleave=all", seen)
    cpus = {cpu for n in nodes for cpu in n["cpus"]}
    node = next(n for n in nodes if n["cpus"])
    seen = homing("run", "-N", node["node"], "-m", first, "--", sys.executable, "-c", show)
    check([int(c) for c in seen.out.split("\n")[0].split()] == node["cpus"], "--cpunodebind", seen)
    for words in (["-N", node["node"], "-m", "same"], ["-m", "same", "-N", node["node"]]):
        seen = homing("run", *words, "--", sys.executable, "-c", show)
        if words[0] == "-N" and node["node"] in usable:
            check(seen.out.split("\n")[1].startswith(f"bind:{node['node']}"), "-m same", seen)
        if words[0] == "-m":
            check(seen.code == 125 and "there is none" in seen.err, "same, and nothing before it", seen)
    if node["node"] in usable:
        seen = homing("run", "-m", node["node"], "-N", "same", "--", sys.executable, "-c", show)
        check([int(c) for c in seen.out.split("\n")[0].split()] == node["cpus"], "-N same", seen)
    cpu = min(cpus)
    narrow = subprocess.run(["taskset", "-c", str(cpu), COMMAND, "run", "-N", "all", "--", sys.executable, "-c", show],
                            text=True, capture_output=True) if shutil.which("taskset") else None
    check(narrow is None or narrow.stdout.split("\n")[0] == str(cpu), "a mask is never widened", narrow)
    last = max(os.sched_getaffinity(0))
    real = [n["node"] for n in nodes]
    if last not in real:  # hwloc is told that each CPU is a node
        made_up = {"HWLOC_SYNTHETIC": f"node:{last + 1} core:1 pu:1"}
        seen = homing("run", "-N", last, "--", "true", env=made_up)
        check(seen.code == 125 and f"'{last}' names node {last}, which does not exist" in seen.err, "a node that only hwloc has been told of", seen)
        seen = homing("where", "--json", "--", "taskset", "-c", last, sys.executable, "-c", "pass", env=made_up)
        check(seen.code == 0 and all(thread["node"] in real for thread in json.loads(seen.err)["threads"]), "nor does `where` see one", seen)
    for words in (["--membind", "99"], ["--interleave", "0-99"], ["--membind", "x"], ["--membind="], ["--cpunodebind", "99"],
                  ["--preferred", "!99"], ["-m", "same"], ["-N", "ip:localhost"], ["-m", "netdev:lo"], ["-m", "pci:x"],
                  ["--membind", "0", "--interleave", "0"], ["--preferred", "0", "-m", "0"],
                  [f"--membind=!{','.join(map(str, usable))}"], ["--threads", "0"], ["--threads", "x"], ["--threads", "65537"],
                  ["--tbb=stock", "--threads", "2"], ["--tbb=stock", "--trace", "x"], ["--stock-library", "x"],
                  ["--trace"], ["--svg"], ["--report", "-m"], ["--trace", "--report"], ["-N", "-0"], ["--interleave=0,,0"],
                  ["--tbb=stock", "--steal=near"], ["--tbb=stock", "--domain=l3"], ["--tbb=stock", "--topology=node:2 pu:1"],
                  ["--topology", "node:2 pu:1" + " " * 4096],
                  ["--tbb=stock", "--stock-library", folder / "none/libtbb.so.12"], ["--tbb=stock", "--stock-library", "/bin/sh"],
                  ["--trace", folder / "none/x.json"], ["--trace", folder], ["--json", "--csv"],
                  [f"--report={folder}/none/x.json"], [f"--report={folder}"], ["--svg", folder / "none/x.svg"]):
        seen = homing("run", *words, "--", sys.executable, "-c", "print('started')")
        check(seen.code == 125 and seen.out == "" and seen.err.count("\n") == 1 and seen.err.startswith("homing: "),
              f"refused before the program starts: {' '.join(map(str, words))}", seen)


def stock_library(folder):
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        print("left out: no C compiler")
        return
    (folder / "other.c").write_text('const char *TBB_runtime_version(void) { return "other"; }\n'
                                    "int _ZN3tbb6detail2r115numa_node_countEv(void) { return 77; }\n")
    (folder / "lib").mkdir()
    library = folder / "lib/libtbb.so.12"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wl,-soname,libtbb.so.12", folder / "other.c", "-o", library], check=True)
    seen = homing("run", "--tbb=stock", "--stock-library", library, "--", sys.executable, "-c", ASK)
    check(seen.code == 0 and seen.out == "other 77\n", "--stock-library", seen)


def signals(folder):
    writer = script(folder / "waits", "#!/bin/sh\ntrap 'echo got; exit 5' TERM\necho ready\nwhile :; do read line; done\n")
    child = subprocess.Popen([COMMAND, "run", "--report", "--", writer], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    check(child.stdout.readline() == "ready\n", "the program runs")
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(input="\n", timeout=SECONDS_MAX)
    check(child.returncode == 5 and out == "got\n" and "no report" in err, "SIGTERM is passed on", (child.returncode, out, err))


def warnings(folder):
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        print("left out: no C compiler")
        return
    (folder / "main.c").write_text("int main(void) { return 4; }\n")
    (folder / "uses.c").write_text("const char *TBB_runtime_version(void);\nint main(void) { return !TBB_runtime_version(); }\n")
    (folder / "other.c").write_text('const char *TBB_runtime_version(void) { return "other"; }\n')

    def build(name, *words):
        subprocess.run([compiler, *map(str, words), "-o", folder / name], check=True)
        return folder / name

    seen = homing("run", build("plain", folder / "main.c"))
    check(seen.code == 4 and seen.err.count("\n") == 1 and "does not use libtbb.so.12" in seen.err, "without TBB", seen)
    seen = homing("run", build("fixed", folder / "main.c", "-static"))
    check(seen.code == 4 and "statically linked" in seen.err, "statically linked", seen)
    (folder / "lib").mkdir()
    other = build("lib/libtbb.so.12", "-shared", "-fPIC", "-Wl,-soname,libtbb.so.12", folder / "other.c")
    seen = homing("run", build("uses", folder / "uses.c", other))
    check(seen.code == 0 and seen.err == "", "with TBB: nothing to say", seen)
    old = build("old", folder / "uses.c", other, "-Wl,--disable-new-dtags", f"-Wl,-rpath,{folder}/lib")
    seen = homing("run", old)
    check(seen.code == 0 and f"gets libtbb.so.12 from {folder}/lib" in seen.err, "its own RPATH comes first", seen)
    new = build("new", folder / "uses.c", other, "-Wl,--enable-new-dtags", f"-Wl,-rpath,{folder}/lib")
    seen = homing("run", new)
    check(seen.code == 0 and seen.err == "", "RUNPATH comes after us", seen)
    (folder / "plain").chmod(0o4755)
    seen = homing("run", folder / "plain")
    check("gains rights" in seen.err, "set-user-ID", seen)
    for size in (4, 64, 200):
        damaged = folder / f"damaged{size}"
        damaged.write_bytes((folder / "plain").read_bytes()[:size])
        damaged.chmod(0o755)
        seen = homing("run", damaged)
        check(seen.code != 0 and seen.code > 0, f"an ELF file of {size} bytes", seen)


main([our_library, settings, exit_codes, without_library, report, locality_report, picture, trace, policies, stock_library, signals, warnings])
