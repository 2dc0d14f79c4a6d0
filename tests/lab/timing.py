"""Property: the model's times are what the machine file implies. One core alone: independent loads and a gather by the misses
in flight and what their load adds, a chase by the latency, chains of multiplications and additions by theirs, instructions
side by side by the CPI; all CPUs: streams that are read, written, and written past the caches, by the controllers. Two CPUs:
an add to a line that the other has is a transfer, false sharing is at least five times as slow as padding, and an idle CPU
goes on as long after it was called as the file says. Method: probes with known answers in one boot; nothing depends on the
host's speed.

usage: timing.py HOMING PROBES-FOLDER"""

import json
import sys
from pathlib import Path

from lab import check, lab, main, need

PROBES = Path(sys.argv[2]).resolve()
MACHINE, CACHE_SCALE = "nehalem-e5520", 16   # half a MiB of L3 a node
MIB, ADDS, WAKES = 4, 5000, 200
WORDS = (f"core 0 0 {MIB}", f"chase 0 0 {MIB}", "stream_nodes local 2", "stream_nodes write 2", "stream_nodes around 2",
         f"adds 0 1 {ADDS}", f"wake 0 4 {WAKES}")
TOLERANCE = 0.05


def run(folder):
    names = sorted({word.split()[0] for word in WORDS})
    files = [f"--file={PROBES}/homing-lab-{name}:/usr/bin/homing-lab-{name}" for name in names]
    script = "set -e; " + "; ".join(f"homing-lab-{word}" for word in WORDS)
    seen = lab("run", "--machine", MACHINE, "--cache-scale", CACHE_SCALE, "--timeout", 900, "--results", folder, *files,
               "--", "/bin/sh", "-c", script, seconds=1000)
    check(seen.code == 0, "the probes run", seen)
    said = {line["region"]: line for line in map(json.loads, seen.out.splitlines())}
    counted = json.loads((folder / "counts.json").read_text())
    check(counted["precision"] == {"quantum_cycles": 1000, "look_cycles": 500}, "the counts say how exact the clocks were")
    check("within 1,000 cycles" in seen.err, "and so does the table", seen.err)
    return said, {region["label"]: region for region in counted["regions"]}


def near(what, found, expected, unit):
    off = found / expected - 1
    check(abs(off) <= TOLERANCE, f"{what}: {found:.3f} {unit}, implied {expected:.3f} ({100 * off:+.1f}%)")


def a_line_alone(shape):
    """Nanoseconds a line where all miss slots are in use, with what that load adds to the latency (LM13): the share of the
    controller's time that the lines take, less that of one that comes alone."""
    ns, occupied = shape["dram_ns"][0][0], 64 / shape["memory"][0]["bandwidth_gbs"]
    slot = ns / shape["overlap"]
    each = slot
    for _ in range(50):   # each hangs on the load, and the load on each
        load = occupied / each - occupied / ns
        each = (each + slot * (1 + 0.43 * load + 0.4 * load ** 4)) / 2
    return each


def one_core(shape, said, counted):
    ns, core, cycle = shape["dram_ns"][0][0], shape["core"], 1 / shape["clock_ghz"]
    slot = a_line_alone(shape)

    def an_item(region):
        return counted[region]["virtual_ns"] / said[region]["items"]

    near("random loads", an_item("random"), slot, "ns each")
    near("gather", an_item("gather"), slot * (1 + 1 / 16), "ns each")   # one line of the index for 16 loads
    near("chase", counted["chase 0 0"]["virtual_ns"] / said["chase 0 0"]["loads"], ns, "ns each")
    near("chain", an_item("chain"), (core["float_multiply_cycles"] + core["float_add_cycles"]) * cycle, "ns a pair")
    near("chains", counted["chains"]["virtual_ns"] / counted["chains"]["instructions"], shape["cpi"] * cycle, "ns an instruction")


def streams(shape, counted):
    bound = sum(memory["bandwidth_gbs"] for memory in shape["memory"])

    def gbs(region, *sources):
        return sum(counted[region][source] for source in sources) * 64 / counted[region]["virtual_ns"]

    near("read", gbs("stream local", "local_dram", "remote_dram"), bound, "GB/s")
    near("written: read, and written back", gbs("stream write", "local_dram", "remote_dram", "write_backs"), bound, "GB/s")
    near("written past the caches", gbs("stream around", "local_dram", "remote_dram"), bound, "GB/s")


def lines_fought_over(said, counted):
    def transfers(region):
        cpus = said[region]["cpus"]
        return sum(cpu["remote_cache"] for cpu in counted[region]["cpus"] if cpu["cpu"] in cpus)

    adds = said["spaced"]["adds"]
    check(abs(transfers("spaced") / adds - 1) <= 0.2, f"spaced: {transfers('spaced')} transfers of {adds} adds")
    slower = counted["false"]["virtual_ns"] / counted["padded"]["virtual_ns"]
    check(slower >= 5, f"false sharing: {slower:.1f} times as long as padded counters")
    check(transfers("padded") < 0.05 * adds, f"padded: {transfers('padded')} transfers")
    print(f"one counter, no pause: {transfers('one')} transfers of {adds} adds")


def waking(shape, counted):
    """What the idle CPU needs, two ways through the kernel, and two lines that change hands: a microsecond or two in all."""
    each, idle_ns = counted["wake"]["virtual_ns"] / counted["wake"]["entries"], shape["core"]["wake_ns"]
    check(counted["wake"]["entries"] == WAKES and idle_ns <= each <= 2 * idle_ns,
          f"an idle CPU is awake {each:.0f} ns after it is called for, {idle_ns:.0f} of them its own")


def times(folder):
    shape = json.loads(lab("export", MACHINE, "--json").out)
    said, counted = run(folder)
    one_core(shape, said, counted)
    streams(shape, counted)
    lines_fought_over(said, counted)
    waking(shape, counted)


def quantum_is_checked(folder):
    for word in ("99", "1000001", "x"):
        seen = lab("run", "--quantum", word, "--", "true")
        check(seen.code == 2 and "--quantum" in seen.err, f"--quantum {word} is refused", seen)


need("qemu-system-x86_64", "busybox")
main([times, quantum_is_checked])
