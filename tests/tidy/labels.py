"""Labels: each protocol label is defined once, and cited. Method: a definition is a line of docs/protocols/*.md that
begins with the label (`[S1]`, also in a list or in bold); a citation is the label in a comment of src/, include/ or lab/.
Citations may say the range ([S1] to [S4]) once, in the file's first comment. Rules, races, proofs and tests stand apart:
definitions under a heading of rules only, the others under their own."""

import re
from collections import defaultdict

import tree

LABEL = re.compile(r"\[([A-Z]{1,3}\d{1,2})\](?!\()")
DEFINITION = re.compile(r"^\s*(?:[-*]\s+|\|\s*|#+\s+)?\**`?\[([A-Z]{1,3}\d{1,2})\](?!\()")
RANGE = re.compile(r"\[([A-Z]{1,3})(\d{1,2})\] to \[\1(\d{1,2})\]")
COMMENT = re.compile(r"//.*|/\*.*|^\s*\*.*")

APART = {"Rules": re.compile(r"^\s*- \[[A-Z]{1,3}\d{1,2}\]"), "Race": re.compile(r"^\s*(- )?Races?\b.*:"),
         "Proof": re.compile(r"^\s*(- )?(Proof|Why|Order)\b.*:"), "Tests": re.compile(r"^\s*(- )?(Tests?|Models?|Stress):")}


def misplaced(path: tree.Path) -> list[str]:
    """What stands under another kind's heading, and kinds of which a page of rules has none."""
    problems = []
    heading = ""
    headings = []
    for number, line in enumerate(tree.lines(path), 1):
        if line.startswith("## "):
            heading = line[3:]
            headings.append(heading)
        problems += [f"{path}:{number}: under a heading that begins with '{kind}', not under '{heading}': {line.strip()[:60]}"
                     for kind, begins in APART.items() if begins.match(line) and not heading.startswith(kind)]
    if any(h.startswith("Rules") for h in headings):
        problems += [f"{path}: no section '{kind}'" for kind in ("Tests",) if not any(h.startswith(kind) for h in headings)]
    return problems


def labels_in(text: str) -> set[str]:
    found = set(LABEL.findall(text))
    for prefix, first, last in RANGE.findall(text):
        found |= {f"{prefix}{n}" for n in range(int(first), int(last) + 1)}
    return found


def main() -> None:
    defined = defaultdict(list)
    cited = defaultdict(list)
    mentioned = []
    for path in tree.files(".md", under="docs/protocols"):
        for number, line in enumerate(tree.lines(path), 1):
            where = f"{path}:{number}"
            definition = DEFINITION.match(line)
            if definition:
                defined[definition[1]].append(where)
            mentioned += [(label, where) for label in labels_in(line)]
    for path in [p for folder in ("src", "include", "lab") for p in tree.files(".cpp", ".hpp", under=folder)]:
        for number, line in enumerate(tree.lines(path), 1):
            if comment := COMMENT.search(line):
                for label in labels_in(comment[0]):
                    cited[label].append(f"{path}:{number}")
    problems = [f"{places[1]}: [{label}] is defined a second time (first in {places[0]})"
                for label, places in sorted(defined.items()) if len(places) > 1]
    problems += [f"{places[0]}: [{label}] is cited but defined nowhere in docs/protocols"
                 for label, places in sorted(cited.items()) if label not in defined]
    problems += [f"{places[0]}: [{label}] is defined but never cited in src/, include/ or lab/"
                 for label, places in sorted(defined.items()) if label not in cited]
    problems += [f"{where}: [{label}] is mentioned but defined nowhere"
                 for label, where in mentioned if label not in defined]
    for path in tree.files(".md", under="docs/protocols"):
        problems += misplaced(path)
    tree.finish(problems, f"{len(defined)} labels")


main()
