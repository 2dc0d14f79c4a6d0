#!/usr/bin/env python3
"""Property: `homing lab run --hot` names the lines that two CPUs take from each other, the bytes that each uses, and whether they
share them or only the line; padding is not in the list. Method: a program whose threads take turns, so that each kind of line
has to move as often as there are turns, whatever the clocks do; as text, as JSON, and without debug information."""

import json
import subprocess

from lab import ROOT, check, lab, main, need

SECONDS_MAX = 500   # of a host that is busy with other things
TURNS = 2000
SOURCE = ROOT / "tests/lab/programs/fought_lines.cpp"
LEAST, MOST = 0.7, 3.5   # moves a turn: a handing-over is a read and a write, each of which may take the line


def compiled(folder, *options):
    program = folder / "fought_lines"
    subprocess.run(["c++", "-std=c++20", "-O1", "-pthread", "-march=x86-64-v2",
                    "-fno-toplevel-reorder", *options, str(SOURCE), "-o", str(program)], check=True)
    return program


def run(program, *words):
    return lab("run", "--machine", "westmere", "--hot", "--timeout", SECONDS_MAX, *words, "--", program, TURNS, seconds=SECONDS_MAX + 60)


def line_with(told, part):
    return next((line for line in told["lines"] if any(name.startswith(part) for name in line["parts"])), None)


def fields(folder):
    """With -g: variables, fields, and false sharing by name."""
    seen = run(compiled(folder, "-g"), "--json", "--results", folder / "out")
    check(seen.code == 0, "the program ran", seen)
    told = json.loads(seen.out)["hot"]
    check(told == json.loads((folder / "out/hot.json").read_text()), "hot.json is the same")

    turn = line_with(told, "turn")
    check(turn is not None and turn["sharing"] == "shared", "the word that says whose turn it is: shared", told["lines"])
    pair = line_with(told, "neighbours.counters.left")
    check(pair is not None and pair["sharing"] == "false sharing", "two counters on one line: false sharing", told["lines"])
    check(pair is not None and pair["parts"] == ["neighbours.counters.left", "neighbours.counters.right"], "both fields are named", pair)
    twins = line_with(told, "first_half")
    check(twins is not None and twins["sharing"] == "false sharing" and "second_half" in twins["parts"],
          "two variables on one line: false sharing", told["lines"])
    both = line_with(told, "locked.lock")
    check(both is not None and both["sharing"] == "shared" and "locked.value" in both["parts"], "what a lock guards is shared", told["lines"])
    for line in (turn, pair, twins, both):
        moves = line["moves"] if line else 0
        check(LEAST * TURNS <= moves <= MOST * TURNS, f"moves of {line['name'] if line else '-'}: {moves} in {TURNS} turns", line)
        check(line is not None and line["moves_between_nodes"] >= 0.9 * moves, "nearly all of them between nodes", line)
    check(line_with(told, "apart") is None, "padded counters are not in the list", told["lines"])
    padded = [line for line in told["lines"] if line["moves"] > TURNS / 10 and any("apart" in name for name in line["parts"])]
    check(not padded, "nor do they move", padded)

    heap = next((line for line in told["lines"] if line["kind"] == "heap" and line["moves"] > TURNS / 10), None)
    check(heap is not None and heap["sharing"] == "false sharing", "allocated memory, too", told["lines"])
    check(heap is not None and "take_turns" in heap["name"], "it has the name of the function that fights for it", heap)
    check(heap is not None and any("of_allocated" in user["source"] for user in heap["users"]), "and the line of the source", heap)
    hot = [function for function in told["functions"] if "take_turns" in function["function"]]
    check(bool(hot) and hot[0]["instructions"] > 20 * TURNS and hot[0]["ns"] > hot[0]["wait_ns"] > 0, "its time, instructions and waits",
          told["functions"])


def lines_only(folder):
    """With -g1: variables without fields, as text; by position-dependent addresses."""
    seen = run(compiled(folder, "-g1", "-no-pie"))
    check(seen.code == 0 and "Modelled, not measured: lines that CPUs take" in seen.err, "it is told as text, on stderr", seen)
    check("FALSE SHARING" in seen.err and "neighbours+16, neighbours+24" in seen.err, "variables with offsets", seen)
    check("fought_lines.cpp:" in seen.err, "lines of the source", seen)


def stripped(folder):
    """Without symbols there are still the file and the offsets."""
    seen = run(compiled(folder, "-s"))
    check(seen.code == 0 and "FALSE SHARING" in seen.err and "fought_lines+0x" in seen.err, "a stripped program", seen)


def without_plugin(_):
    seen = lab("run", "--machine", "one-node", "--hot", "--no-count", "--", "true")
    check(seen.code == 2 and "--hot" in seen.err and "--no-count" in seen.err, "--hot without the plugin is refused", seen)


need("qemu-system-x86_64", "busybox", "c++", "addr2line", "nm")
main([without_plugin, fields, lines_only, stripped])
