"""Cycles: no file of src/ reaches itself by its includes, a source and its header taken as one. Method: the graph of all
#include "..." lines, its strongly connected parts. --graph prints the graph of one folder."""

import re
import sys
import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def graph_of(folder: str) -> dict[str, set[str]]:
    """Modules, as paths without their suffixes, and what each includes."""
    sources = tree.files(".cpp", ".hpp", under=folder)
    modules = {str(p.with_suffix("")) for p in sources}
    graph: dict[str, set[str]] = {m: set() for m in modules}
    for path in sources:
        module = str(path.with_suffix(""))
        for line in tree.lines(path):
            if match := INCLUDE.match(line):
                target = str((tree.Path("src") / match[1]).with_suffix(""))
                if target in modules and target != module:
                    graph[module].add(target)
    return graph


def cycles_in(graph: dict[str, set[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components, those of several modules."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            part = []
            while not part or part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] == "--graph":
        for module, targets in sorted(graph_of(sys.argv[2]).items()):
            print(f"{module}: {' '.join(sorted(targets))}")
        return
    graph = graph_of("src")
    problems = [f"a cycle of {len(part)} modules: {' '.join(part)}" for part in cycles_in(graph)]
    tree.finish(problems, f"{len(graph)} modules")


main()
