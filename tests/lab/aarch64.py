"""Property: an AArch64 guest is counted and timed as an x86-64 one is: who served each line, the latency of a chase, chains of
arithmetic, loads side by side, streams near and far, lines that are zeroed; and a program of the cross compiler runs there
with our libtbb.so.12, near and far as numactl says, suspends tasks, and places pages. Method: the same probes built for both, on the same machine file; figures
that the file implies where it does, else each other's. Skipped where scripts/setup lab-aarch64 or its build is missing.

usage: aarch64.py HOMING PROBES-FOLDER"""

import json
import subprocess
import sys
from pathlib import Path

from lab import ROOT, check, lab, main, need

PROBES = {"x86_64": Path(sys.argv[2]).resolve(), "aarch64": ROOT / "build/aarch64/lab"}
TBB = ROOT / "build/aarch64/lib/homing"
GUEST_PROGRAMS = ROOT / "build/aarch64/tests/lab_guest"
MACHINE, CACHE_SCALE, MIB, SECONDS = "thunderx2", 16, 4, 900
PROGRAMS = ("chase", "core", "stream_nodes")
CORE = f"core 0 0 {MIB}"   # what both architectures are compared by
WORDS = (f"chase 0 0 {MIB}", f"chase 0 1 {MIB}", CORE, "stream_nodes local 2", "stream_nodes next 2")
TOLERANCE = 0.05
ZERO = """#include <homing/lab.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  char* p = aligned_alloc(4096, 4 << 20);
  memset(p, 1, 4 << 20);
  HOMING_LAB_BEGIN("zero");
  memset(p, 0, 4 << 20);
  HOMING_LAB_END("zero");
  return p[12345];
}
"""


def parts():
    need("qemu-system-x86_64", "qemu-system-aarch64", "aarch64-linux-gnu-g++", "busybox")
    missing = [p for p in (PROBES["aarch64"] / "homing-lab-init", TBB / "libtbb.so.12", GUEST_PROGRAMS / "workers") if not p.is_file()]
    if missing:
        print(f"skipped: no {missing[0]} (scripts/setup lab-aarch64, scripts/build aarch64)")
        raise SystemExit(77)


def counted(folder):
    return {region["label"]: region for region in json.loads((folder / "counts.json").read_text())["regions"]}


def near(what, found, expected, unit):
    off = found / expected - 1
    check(abs(off) <= TOLERANCE, f"{what}: {found:.3f} {unit}, expected {expected:.3f} ({100 * off:+.1f}%)")


def probes(folder, arch, words):
    files = [f"--file={PROBES[arch]}/homing-lab-{name}:/usr/bin/homing-lab-{name}" for name in PROGRAMS]
    script = "set -e; uname -m; " + "; ".join(f"homing-lab-{word}" for word in words)
    seen = lab("run", "--arch", arch, "--machine", MACHINE, "--cache-scale", CACHE_SCALE, "--timeout", SECONDS, "--results",
               folder / arch, *files, "--", "/bin/sh", "-c", script, seconds=SECONDS + 60)
    check(seen.code == 0 and seen.out.startswith(arch), f"{arch}: the probes run", seen)
    items = {}
    for line in seen.out.splitlines()[1:]:
        said = json.loads(line)
        items[said["region"]] = said.get("items", said.get("loads", 0))
    return items, counted(folder / arch)


def answers(folder):
    shape = json.loads(lab("export", MACHINE, "--json").out)
    core, cycle = shape["core"], 1 / shape["clock_ghz"]
    items, arm = probes(folder, "aarch64", WORDS)
    other_items, x86 = probes(folder, "x86_64", (CORE,))

    def each(region):
        return arm[region]["virtual_ns"] / items[region]

    for node in (0, 1):
        region = f"chase 0 {node}"
        near(region, each(region), shape["dram_ns"][0][node], "ns a load")
        here = arm[region]["local_dram" if node == 0 else "remote_dram"]
        check(abs(here / items[region] - 1) <= 0.005, f"{region}: {here} lines of {items[region]} loads")
    near("chain", each("chain"), (core["float_multiply_cycles"] + core["float_add_cycles"]) * cycle, "ns a pair")
    near("chains", arm["chains"]["virtual_ns"] / arm["chains"]["instructions"], shape["cpi"] * cycle, "ns an instruction")
    for region in ("random", "gather"):
        near(f"{region}, as on x86-64", each(region), x86[region]["virtual_ns"] / other_items[region], "ns each")
    gbs = {}
    for region, node_of in (("stream local", lambda node: node), ("stream next", lambda node: 1 - node)):
        gbs[region] = 64 * (arm[region]["local_dram"] + arm[region]["remote_dram"]) / arm[region]["virtual_ns"]
        near(region, gbs[region], sum(shape["pair_gbs"][node][node_of(node)] for node in (0, 1)), "GB/s")
    local = arm["stream local"]
    share = 100 * local["local_dram"] / (local["local_dram"] + local["remote_dram"] + local["remote_cache"])
    check(share >= 99.8, f"streams of near memory: {share:.2f}% local")
    factor = gbs["stream local"] / gbs["stream next"]
    check(3 <= factor <= 4.7, f"streams: near is {factor:.2f} times as fast as far")


def zeroed_lines(folder):
    """DC ZVA would not be seen; the guest is told that it has none."""
    (folder / "zero.c").write_text(ZERO)
    subprocess.run(["aarch64-linux-gnu-gcc", "-O2", f"-I{ROOT}/include", folder / "zero.c", "-o", folder / "zero"], check=True)
    seen = lab("run", "--machine", MACHINE, "--cache-scale", CACHE_SCALE, "--results", folder / "out", "--json", "--",
               folder / "zero")
    check(seen.code == 0, "a program of C runs", seen)
    report = json.loads(seen.out)
    check(report["architecture"] == report["counts"]["architecture"] == "aarch64"
          and any("memory order" in line for line in report["counts"]["notSeen"]), "the report says the architecture, and what is missing")
    lines, region = (4 << 20) // 64, counted(folder / "out")["zero"]
    dram = region["local_dram"] + region["remote_dram"]
    check(abs(dram / lines - 1) <= 0.01, f"memset of {lines} lines: {dram} from DRAM")


def built_with_tbb(folder, name):
    root = subprocess.run([sys.executable, "-m", "homing_lab.guest_root", "aarch64"], cwd=ROOT / "lab", text=True, check=True,
                          stdout=subprocess.PIPE).stdout.strip()
    subprocess.run(["aarch64-linux-gnu-g++", "-std=c++20", "-O2", f"-I{ROOT}/include", "-isystem", ROOT / ".venv/include",
                    ROOT / f"tests/lab/programs/{name}.cpp", "-o", folder / name, f"-L{TBB}", "-l:libtbb.so.12",
                    f"-Wl,-rpath-link,{root}/usr/lib/aarch64-linux-gnu"], check=True)
    return folder / name


def tbb_near_and_far(folder):
    program = built_with_tbb(folder, "four_threads")
    for node, name in ((0, "local_dram"), (1, "remote_dram")):
        seen = lab("run", "--machine", MACHINE, "--cache-scale", CACHE_SCALE, "--tbb", "homing", "--results", folder / name,
                   "--", "numactl", "--cpunodebind=0", f"--membind={node}", program)
        check(seen.code == 0 and "sum 786432, CPUs 4" in seen.out, f"TBB on four CPUs, memory of node {node}", seen)
        region = counted(folder / name)["update"]
        share = region[name] / (region["local_dram"] + region["remote_dram"])
        check(share >= 0.9, f"{name}: {100 * share:.1f}% of what DRAM served")


def runtime(folder):
    """Suspended tasks, and what the kernel says of workers and pages, as tests/lab/runtime.py and placement.py ask on x86-64."""
    files = [f"--file={GUEST_PROGRAMS / name}:/usr/bin/{name}" for name in ("workers", "placement")]
    files.append(f"--file={built_with_tbb(folder, 'suspended')}:/usr/bin/suspended")
    script = "set -e; suspended; workers --domains 4 --concurrency 16; placement"
    seen = lab("run", "--arch", "aarch64", "--machine", "westmere", "--no-count", "--thp", "never", "--timeout", SECONDS, "--tbb",
               "homing", *files, "--", "/bin/sh", "-c", script, seconds=SECONDS + 60)
    check(seen.code == 0 and "FAILED" not in seen.out, "workers and placement on AArch64", seen)
    check("kept 64, rounded 64" in seen.out, "suspended tasks keep registers, rounding and exceptions", seen)


def what_does_not_fit(folder):
    for words, code, said in ((("--arch", "riscv64", "--", "true"), 2, "x86_64 or aarch64"),
                              (("--arch", "aarch64", "--", "/usr/bin/python3"), 126, "x86-64 program"),
                              (("--arch", "aarch64", "--", "homing-no-such-program"), 127, "no program")):
        seen = lab("run", *words)
        check(seen.code == code and said in seen.err, f"{' '.join(words)}: status {code}", seen)


parts()
main([what_does_not_fit, runtime, tbb_near_and_far, zeroed_lines, answers])
