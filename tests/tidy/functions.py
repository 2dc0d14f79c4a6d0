"""Functions of src/runtime fit a screen: at most 60 lines and 4 levels of blocks. Method: matches braces in text without
comments and strings; what stands before a brace tells a function from a class. --list prints the longest and deepest."""

import re
import sys
import tree

LINES_MAX = 60
LEVELS_MAX = 4
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
# In what stands before a brace, with nothing left inside its own brackets:
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()=;]*$")
BLOCK = re.compile(r"(^|[^\w])(if|for|while|switch|catch|else|do|try)\b[^;]*$")
LAMBDA = re.compile(r"\]\s*(\(\))?\s*(mutable|noexcept|->[^;]*|\s)*$")
FUNCTION = re.compile(r"\)\s*(const|noexcept|override|final|&&?|->[^;]*|\s)*(:[^;]*)?$")
INNERMOST = (re.compile(r"\(([^()]|\(\))+\)"), re.compile(r"\{([^{}]|\{\})+\}"))
NAME = re.compile(r"([~\w:]+|operator[^\s(]+)\s*\([^{}]*$")


def kind_of(before: str) -> str:
    """What a brace opens, by the text since the last statement."""
    for brackets, empty in zip(INNERMOST, ("()", "{}")):
        shorter = brackets.sub(empty, before)
        while shorter != before:
            before, shorter = shorter, brackets.sub(empty, shorter)
    if BLOCK.search(before):
        return "block"
    if LAMBDA.search(before):
        return "lambda"
    if SCOPE.search(before):
        return "scope"
    if FUNCTION.search(before):
        return "function"
    return "block" if before.strip() == "" else "value"


def functions_of(text: str):
    """(name, first line, lines, levels) of each function."""
    text = NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.M)
    stack: list[list] = []
    start = 0
    parens = 0
    for i, c in enumerate(text):
        if c == "(":
            parens += 1
        elif c == ")":
            parens -= 1
        elif c == ";" and parens == 0:
            start = i + 1
        elif c == "{":
            before = text[start:i]
            kind = kind_of(before)
            if kind == "function" and any(k[0] in ("function", "lambda", "block") for k in stack):
                kind = "value"
            stack.append([kind, before, start, i, parens, 0])
            if kind in ("block", "lambda"):
                level = 0
                for entry in stack:
                    level = 0 if entry[0] == "function" else level + (entry[0] in ("block", "lambda"))
                for entry in stack:
                    entry[5] = max(entry[5], level)
            start, parens = i + 1, 0
        elif c == "}":
            kind, before, begin, at, parens, levels = stack.pop()
            if kind == "function":
                head = re.search(r"\S", text[begin:])
                first = text.count("\n", 0, begin + (head.start() if head else 0)) + 1
                name = NAME.search(before.split("\n  : ")[0].split(" : ")[0])
                yield (name[1] if name else before.strip()[:40], first, text.count("\n", 0, i) + 2 - first, levels)
            if kind != "value":
                start = i + 1


def main() -> None:
    rows = []
    for path in tree.files(".cpp", ".hpp", under="src/runtime"):
        for name, first, lines, levels in functions_of((tree.ROOT / path).read_text(encoding="utf-8")):
            rows.append((lines, levels, f"{path}:{first}: {name}()"))
    if "--list" in sys.argv:
        for lines, levels, what in sorted(rows, reverse=True)[:25]:
            print(f"{lines:4} lines {levels} levels  {what}")
        for lines, levels, what in sorted(rows, key=lambda r: -r[1])[:10]:
            print(f"{lines:4} lines {levels} levels  {what}")
        print(f"{len(rows)} functions")
        return
    problems = [f"{what} has {lines} lines and {levels} levels; at most {LINES_MAX} and {LEVELS_MAX}"
                for lines, levels, what in rows if lines > LINES_MAX or levels > LEVELS_MAX]
    tree.finish(problems, f"{len(rows)} functions")


main()
