"""Words: nothing unfinished, no path or host of one machine, no test that waits by the clock. Method: patterns over
every tracked text; each is spelt so that it does not match itself."""

import re

import tree

EVERYWHERE = {
    "a path of one machine": r"/wor[k]/|/far[m]/|/tm[p]/",
    "a package registry's host": r"pypi[.]org|pythonhosted[.]org|deb[.]debian[.]org|debian[.]net|mirrors?[.][a-z]+[.]",
    "a tracker's number (say it in words)": r"\b[Ii]ssues? ?#?\d+\b|\(#\d+\)",
}
CODE = {
    "an unfinished place": r"TOD[O]|FIXM[E]|\bXX[X]\b|\bHAC[K]\b",
    "an atomic outside the one door (sync/atomic.hpp)": r"#\s*include <atomi[c]>",
}
TESTS = {
    "a test that waits by the clock": r"sleep_fo[r]|sleep_unti[l]|(?<![.>])\b(nano|u)?slee[p]\(|time[.]slee[p]\(|poll\(nullpt[r]",
}


def applies(group: dict, path: tree.Path) -> dict:
    rules = dict(group)
    if path == tree.Path("tests/stress/common/report.cpp"):
        rules.pop("a test that waits by the clock", None)  # the watchdog, whose very job is the clock
    if path.suffix == ".md" and path.parts[0] == "docs":
        rules.pop("a tracker's number (say it in words)", None)  # oneTBB's own threads are cited there
    if path.parts[0] != "src" or path == tree.Path("src/sync/atomic.hpp"):
        rules.pop("an atomic outside the one door (sync/atomic.hpp)", None)
    return rules


def main() -> None:
    problems = []
    paths = [p for p in tree.files() if p.name != "LICENSE"]
    for path in paths:
        rules = dict(EVERYWHERE)
        if path.suffix != ".md":
            rules |= CODE
        if path.parts[0] == "tests" or path.name.startswith("test_"):
            rules |= TESTS
        patterns = [(name, re.compile(rule)) for name, rule in applies(rules, path).items()]
        for number, line in enumerate(tree.lines(path), 1):
            problems += [f"{path}:{number}: {name}: {line.strip()[:100]}" for name, rule in patterns if rule.search(line)]
    tree.finish(problems, f"{len(paths)} files")


main()
