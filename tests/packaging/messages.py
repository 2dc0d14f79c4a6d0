"""Packaging: a wrong use of the headers gets a compiler's message that names what is wrong, in a few lines. Method: a
file of wrong uses, messages.cpp, each with words that must be said of its line or while it is instantiated."""

import argparse
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINES_MAX = 40  # of messages for each use, on average: oneTBB's overloads alone are 220


def words_of_uses(text):
    return [(number, found.group(1).strip()) for number, line in enumerate(text.splitlines(), 1)
            if (found := re.search(r"// says: (.*)$", line))]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--compiler", default="c++")
    options.add_argument("--tbb-include", required=True)
    given = options.parse_args()
    file = HERE / "messages.cpp"
    done = subprocess.run([given.compiler, "-std=c++20", "-Wall", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{ROOT}/include",
                           "-isystem", given.tbb_include, file], text=True, capture_output=True)
    said = done.stderr
    uses = words_of_uses(file.read_text())
    missing = [f"line {number}: {words}" for number, words in uses if said.count(words) == 0]
    # The same words for two uses are said twice.
    counts = {words: sum(w == words for _, w in uses) for _, words in uses}
    for words, count in counts.items():
        heads = [line for line in said.splitlines() if words in line and ("error" in line or "warning" in line or "note" in line)]
        if 0 < len(heads) < count:
            missing.append(f"{count} times, not {len(heads)}: {words}")
    if done.returncode == 0 or missing:
        raise SystemExit("failed: the compiler does not say\n" + "\n".join(missing) + "\n" + said)
    lines = len(said.splitlines())
    if lines > LINES_MAX * len(uses):
        raise SystemExit(f"failed: {lines} lines of messages for {len(uses)} wrong uses\n{said}")
    print(f"ok: {len(uses)} wrong uses are named, in {lines} lines")


main()
