"""Layers: a folder of src/ includes only itself and folders above it in src/README.md's lists; public headers
include none; and conditional compilation stays where the platform is. Method: reads every #include and #if."""

import re
import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b")
LAYER = re.compile(r"^\| `((?:[a-z]+/)*[a-z]+)/` \|")


def layer_of(path: tree.Path, order: list[str]) -> str | None:
    """The innermost folder of the table that a path below src/ lies in."""
    return next((str(p) for p in path.parents if str(p) in order), None)


def is_below(target: str, layer: str, order: list[str]) -> bool:
    """By the outermost folders, then by the inner ones; a folder and one inside it are one layer to each other."""
    outer = [target.split("/")[0], layer.split("/")[0]]
    if outer[0] != outer[1]:
        target, layer = outer
    elif f"{target}/".startswith(f"{layer}/") or f"{layer}/".startswith(f"{target}/"):
        return False
    return order.index(target) > order.index(layer)


def main() -> None:
    problems = []
    order = [m[1] for m in map(LAYER.match, tree.lines(tree.Path("src/README.md"))) if m]
    sources = tree.files(".cpp", ".hpp", under="src")
    folders = {p.parent.relative_to("src") for p in sources if len(p.parts) > 2}
    for folder in sorted(str(f) for f in folders if str(f) not in order):
        problems.append(f"src/{folder}: not in the tables of src/README.md")
    for path in sources:
        layer = layer_of(path.relative_to("src"), order)
        for number, line in enumerate(tree.lines(path), 1):
            where = f"{path}:{number}"
            if match := INCLUDE.match(line):
                target = layer_of(tree.Path(match[1]), order)
                if match[1].startswith("."):
                    problems.append(f"{where}: relative include {match[1]}; start at src/")
                elif target and layer and is_below(target, layer, order):
                    problems.append(f"{where}: {layer} includes {match[1]}, which is below it")
                elif match[1].split("/")[0] in ("cli", "tests", "bench"):
                    problems.append(f"{where}: src/ includes {match[1]}")
            elif CONDITIONAL.match(line) and layer != "platform" and str(path) != "src/sync/atomic.hpp":
                problems.append(f"{where}: conditional compilation outside src/platform and src/sync/atomic.hpp")
    for path in tree.files(".hpp", under="include"):
        for number, line in enumerate(tree.lines(path), 1):
            if (match := INCLUDE.match(line)) and match[1].split("/")[0] in order:
                problems.append(f"{path}:{number}: a public header includes {match[1]} from src/")
    tree.finish(problems, f"{len(sources)} files in {len(order)} layers")


main()
