"""Packaging: a wrong use of the headers gets a compiler's message that names what is wrong, in a few lines. Method: a
file of wrong uses, messages.cpp, each with words that must be in a message about its own lines: at them, or of what is
instantiated from them. The compiler does not show the lines themselves, in which the words stand."""

import argparse
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILE = HERE / "messages.cpp"
LINES_MAX = 40  # of messages for each use, on average: oneTBB's overloads alone are 220
HEAD = re.compile(r"(?:^|: )(error|warning|note): ")
PLACE = re.compile(re.escape(str(FILE)) + r":(\d+)[:,]")


def words_of_uses(text):
    """Of each use, the lines from the one before up to its words, and the words."""
    uses, first = [], 1
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.search(r"// says: (.*)$", line):
            uses.append((range(first, number + 1), found.group(1).strip()))
            first = number + 1
    return uses


def messages(said):
    """Errors and warnings, each with its notes: the lines of messages.cpp that it names, and its heads."""
    found, before = [], []
    for line in said.splitlines():
        before.append(line)   # g++ says where something is instantiated before it says what is wrong there
        head = HEAD.search(line)
        if head and head.group(1) != "note":
            found.append([])
        if head and found:
            found[-1] += before
            before = []
    if found:
        found[-1] += before
    return [({int(place.group(1)) for line in lines if (place := PLACE.match(line))}, [line for line in lines if HEAD.search(line)])
            for lines in found]


def options_of(compiler):
    version = subprocess.run([compiler, "--version"], text=True, capture_output=True, check=True).stdout
    return ["-fno-caret-diagnostics", "-ferror-limit=0"] if "clang" in version else ["-fno-diagnostics-show-caret"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--compiler", default="c++")
    options.add_argument("--tbb-include", required=True)
    given = options.parse_args()
    done = subprocess.run([given.compiler, "-std=c++20", "-Wall", "-fsyntax-only", "-fdiagnostics-color=never", *options_of(given.compiler),
                           f"-I{ROOT}/include", "-isystem", given.tbb_include, FILE], text=True, capture_output=True)
    said = done.stderr
    uses, found = words_of_uses(FILE.read_text()), messages(said)
    missing = [f"line {lines[-1]}: {words}" for lines, words in uses
               if not any(places & set(lines) and any(words in head for head in heads) for places, heads in found)]
    if done.returncode == 0 or not uses or missing:
        raise SystemExit("failed: the compiler does not say\n" + "\n".join(missing) + "\n" + said)
    lines = len(said.splitlines())
    if lines > LINES_MAX * len(uses):
        raise SystemExit(f"failed: {lines} lines of messages for {len(uses)} wrong uses\n{said}")
    print(f"ok: {len(uses)} wrong uses are named, in {lines} lines")


main()
