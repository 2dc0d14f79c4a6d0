"""What the tests of `homing bandwidth` and `homing latency` share: small runs, and what both must refuse and say."""

import os
import pty
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

from command import COMMAND, OURS, check, homing

FIXTURES = Path(__file__).resolve().parent.parent / "data/topology"
SMALL = ("--size", "64K", "--repeat", "2")
TWO_NODES = {"HWLOC_SYNTHETIC": "node:2 core:2 pu:1"}
SPREAD = {"median", "min", "q1", "q3", "max", "samples"}


def small(*words):
    """Words of a small run. An option that they name is not given a second time."""
    return [word for at in range(0, len(SMALL), 2) if SMALL[at] not in words for word in SMALL[at:at + 2]] + [*words]


def is_spread(spread, runs):
    ordered = [spread[key] for key in ("min", "q1", "median", "q3", "max")]
    return set(spread) == SPREAD and len(spread["samples"]) == runs and ordered == sorted(ordered) and ordered[0] > 0


def refuses(subcommand, *own):
    """Bad input: one clear line that names it, a code of its own, nothing on stdout."""
    cases = [(["--size", value], f"--size {value}: ") for value in ("x", "-1M", "1Q", "0", "100", "2000T", "5.M")]
    cases += [(["--threads", value], f"--threads {value}: ") for value in ("0", "x", "-1", "1.5", "60000", "99999999999")]
    cases += [(["--repeat", value], f"--repeat {value}: ") for value in ("0", "x", "1001")]
    cases += [(["--nodes", value], f"--nodes: '{value}' ") for value in ("x", "7777", "1-0", "0-", "+99", "0,,0", "-0")]
    cases += [([option, ""], f"{option}: its value is empty") for option in ("--nodes", "--svg")]
    cases += [(["--svg", option], f"--svg: expected its value, and found {option}") for option in ("--json", "--")]
    cases += [([option, value, f"{option}={value}"], f"{option}: given twice")
              for option, value in (("--nodes", "0"), ("--size", "64K"), ("--threads", "1"), ("--repeat", "1"), ("--pages", "base"), ("--svg", "x"))]
    cases += [(["--pages", "giant"], "giant"), (["--json", "--csv"], "--csv"), (["stray"], "stray"),
              (["--nothing"], "--nothing"), (["--size"], "--size"), (["--svg"], "--svg"), (["--nodes", "!0"], "leaves no node")]
    for words, told in [*cases, *own]:
        seen = homing(subcommand, *words, env={"HOMING_TOPOLOGY": "node:1 core:2 pu:1"})
        check(seen.code == 2 and seen.out == "" and seen.err.count("\n") == 1 and told in seen.err and "--help" in seen.err,
              f"wrong usage: {' '.join(words)}", seen)
    seen = homing(subcommand, "--size", "1000T")
    check(seen.code == 2 and seen.out == "" and seen.err.count("\n") == 1 and "to give" in seen.err,
          "more memory than there is", seen)
    seen = homing(subcommand, *SMALL, "--svg", "/no-such-folder/x.svg")
    check(seen.code == 1 and seen.out == "" and "/no-such-folder/x.svg" in seen.err and seen.err.count("\n") == 1,
          "a picture that can't be written", seen)


def helps_and_is_quiet(subcommand):
    seen = homing(subcommand, "--help")
    for option in ("--nodes", "--size", "--threads", "--repeat", "--pages", "--json", "--csv", "--svg", "Examples:"):
        check(seen.code == 0 and option in seen.out, f"help of {option}", seen)
    seen = homing(subcommand, *SMALL)
    check(seen.code == 0 and seen.err == "" and "\r" not in seen.out, "quiet in a pipe", seen)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([COMMAND, subcommand, *SMALL], stdout=full, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 1 and "can't write" in done.stderr, "a full disk", done)


def shows_progress_on_a_terminal(subcommand):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    ours, theirs = pty.openpty()
    with subprocess.Popen([COMMAND, subcommand, *SMALL], stdout=subprocess.PIPE, stderr=theirs, env=clean) as child:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 4096):
                shown += block
        except OSError:  # the other end is closed
            pass
        child.stdout.read()
    os.close(ours)
    check(child.returncode == 0 and b"[1/" in shown and b"CPU node 0, memory node 0" in shown, "progress", shown)
    check(shown.endswith(b"\r\x1b[K"), "the line is wiped at the end", shown)


def picture_texts(path):
    """Every text of an SVG file, which must be XML and need nothing from elsewhere."""
    text = path.read_text()
    root = xml.fromstring(text)
    check(root.tag == "{http://www.w3.org/2000/svg}svg" and "viewBox" in root.attrib, "an SVG picture", text[:200])
    check("href" not in text and "url(" not in text and "@import" not in text, "self-contained", text[:200])
    check("prefers-color-scheme:dark" in text, "legible in the dark", text[:200])
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def is_marked_in(texts, printed, digits):
    """Whether a cell has a CSV's figure with fewer digits, and the mark of virtual ones. Of two that are equally near, the figure
    behind the CSV's last digit decides."""
    half = float(f"0.49e-{len(printed.partition('.')[2])}")
    return any(f"{float(printed) + side:.{digits}f}*" in texts for side in (-half, half))
