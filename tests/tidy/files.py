"""Files: each begins with a comment that says its idea (a source with a header of its name leaves that to it) and is
readable in one sitting, 500 lines at most; headers carry #pragma once; scripts with a #! are executable. Comments of C++ have
120 columns at most, and each section of theirs (`Threads:`, `Source:`) a line of its own."""

import os
import re

import tree

LINES_MAX = 500
COLUMNS_MAX = 120
COMMENT = re.compile(r"\s*//")
RUN_TOGETHER = re.compile(r"\s*///? \S.*\s(Ownership|Threads|Order|Errors|Cost|Parts|Places|Protocols?|Source): {2,}")


def first_comment(path: tree.Path, text: list[str]) -> bool:
    body = [line for line in text if line.strip() and not line.startswith("#!")]
    if not body:
        return path.name == "__init__.py"
    if path.suffix == ".cpp" and (tree.ROOT / path.with_suffix(".hpp")).exists():
        return True
    if path.suffix in (".cpp", ".hpp", ".c", ".h"):
        return body[0].startswith(("//", "/*"))
    return body[0].startswith(("#", '"""', 'r"""', "cmake_minimum"))


def main() -> None:
    problems = []
    paths = tree.files(*tree.CODE)
    for path in paths:
        text = tree.lines(path)
        if len(text) > LINES_MAX:
            problems.append(f"{path}: {len(text)} lines; which two ideas are in it?")
        if not first_comment(path, text):
            problems.append(f"{path}: does not begin with a comment that says its idea")
        if path.suffix in (".cpp", ".hpp"):
            problems += [f"{path}:{number}: a comment of {len(line)} columns, {COLUMNS_MAX} at most"
                         for number, line in enumerate(text, 1) if COMMENT.match(line) and len(line) > COLUMNS_MAX]
            problems += [f"{path}:{number}: sections of a comment run together: {line.strip()[:60]}"
                         for number, line in enumerate(text, 1) if RUN_TOGETHER.match(line)]
        if path.suffix == ".hpp" and "#pragma once" not in text:
            problems.append(f"{path}: no #pragma once")
    for path in tree.files():
        text = tree.lines(path)
        if text and text[0].startswith("#!") and not os.access(tree.ROOT / path, os.X_OK):
            problems.append(f"{path}: begins with #! but is not executable")
    tree.finish(problems, f"{len(paths)} files")


main()
