"""Layers: a folder of src/ includes only itself and folders above it in src/README.md's list; public headers
include none; and conditional compilation stays where the platform is. Method: reads every #include and #if."""

import re
import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b")
LAYER = re.compile(r"^\| `([a-z]+)/` \|")


def main() -> None:
    problems = []
    order = [m[1] for m in map(LAYER.match, tree.lines(tree.Path("src/README.md"))) if m]
    sources = tree.files(".cpp", ".hpp", under="src")
    for folder in sorted({p.parts[1] for p in sources if len(p.parts) > 2} - set(order)):
        problems.append(f"src/{folder}: not in the table of src/README.md")
    for path in sources:
        layer = path.parts[1]
        for number, line in enumerate(tree.lines(path), 1):
            where = f"{path}:{number}"
            if match := INCLUDE.match(line):
                target = match[1].split("/")[0]
                if match[1].startswith("."):
                    problems.append(f"{where}: relative include {match[1]}; start at src/")
                elif target in order and layer in order and order.index(target) > order.index(layer):
                    problems.append(f"{where}: {layer} includes {match[1]}, which is below it")
                elif target in ("cli", "tests", "bench"):
                    problems.append(f"{where}: src/ includes {match[1]}")
            elif CONDITIONAL.match(line) and layer != "platform" and str(path) != "src/sync/atomic.hpp":
                problems.append(f"{where}: conditional compilation outside src/platform and src/sync/atomic.hpp")
    for path in tree.files(".hpp", under="include"):
        for number, line in enumerate(tree.lines(path), 1):
            if (match := INCLUDE.match(line)) and match[1].split("/")[0] in order:
                problems.append(f"{path}:{number}: a public header includes {match[1]} from src/")
    tree.finish(problems, f"{len(sources)} files in {len(order)} layers")


main()
