"""Snippets: code that a page says is compiled is in the program that it names, line by line. Method: a block of C++ after
the line `<!-- from PATH -->` must be found in PATH, whatever its indentation."""

import re
import textwrap

import tree

MARK = re.compile(r"^<!-- from (\S+) -->$")


def blocks_of(page: tree.Path):
    """(line number, path, lines of code) of each marked block."""
    text = tree.lines(page)
    for at, line in enumerate(text):
        if (mark := MARK.match(line)) is None:
            continue
        code = []
        if at + 1 < len(text) and text[at + 1] == "```cpp":
            for inside in text[at + 2:]:
                if inside == "```":
                    break
                code.append(inside)
        yield at + 1, tree.Path(mark[1]), code


def contains(program: list[str], code: list[str]) -> bool:
    wanted = "\n".join(code).strip()
    for at in range(len(program) - len(code) + 1):
        if textwrap.dedent("\n".join(program[at:at + len(code)])).strip() == wanted:
            return True
    return False


def main() -> None:
    problems = []
    count = 0
    for page in tree.files(".md"):
        for number, path, code in blocks_of(page):
            count += 1
            if not code:
                problems.append(f"{page}:{number}: no ```cpp block follows")
            elif not (tree.ROOT / path).is_file():
                problems.append(f"{page}:{number}: {path} does not exist")
            elif not contains(tree.lines(path), code):
                problems.append(f"{page}:{number}: the code is not in {path}: {code[0].strip()}")
    tree.finish(problems, f"{count} snippets")


main()
