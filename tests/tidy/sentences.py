"""Sentences: none in the README, the guide, the protocols and the design records has more than 30 words. Method: blocks of
code, headings, tables and HTML are left out; a paragraph or an item of a list is cut behind each full stop."""

import re

import tree

WORDS_MAX = 30
FOLDERS = ("docs/guide", "docs/protocols", "docs/design")

LEFT_OUT = re.compile(r"#|\||<")
ITEM = re.compile(r"(?:[-*]|\d{1,2}\.)\s+")
# Behind a stop, and what may close a sentence with it. A small letter goes on (`e.g. this`), unless a name begins with one.
STOP = re.compile(r"(?<=[.!?])[)\]`*_\"]*\s+(?=[^a-z\s]|oneTBB|hwloc|libhoming)")


def paragraphs(lines: list[str]):
    """(number of the first line, [(number, text)]) of each paragraph and item of a list."""
    found = []
    fenced = False
    for number, line in enumerate([*lines, ""], 1):
        text = line.strip()
        fence = text.startswith("```")
        fenced ^= fence
        ends = fence or fenced or not text or LEFT_OUT.match(text)
        item = not ends and ITEM.match(text)
        if (ends or item) and found:
            yield found
            found = []
        if not ends:
            found.append((number, text[item.end():] if item else text))


def sentences(lines: list[str]):
    """(number of the line in which it begins, text) of each sentence."""
    for found in paragraphs(lines):
        text = " ".join(line for _, line in found)
        ends = [stop.end() for stop in STOP.finditer(text)]
        for first, last in zip([0, *ends], [*ends, len(text)]):
            begins = 0  # of the line after the one at hand
            for number, line in found:
                begins += len(line) + 1
                if first < begins:
                    break
            yield number, text[first:last].strip()


def words(sentence: str) -> int:
    return sum(any(c.isalnum() for c in word) for word in sentence.split())


def check_self() -> None:
    """What is a sentence: each line of the sample that begins one says so, and how long it is."""
    sample = ["# A heading. Not this one", "Nine words, 2 of them in", "the next (line.) Two here.",
              "- One item", "  goes on, e.g. here", "- `next`. oneTBB begins one. 2.5 is no stop",
              "| a | table. | ", "```", "code. Is left out", "```", "1. Last + one"]
    expected = [(2, 9), (3, 2), (4, 6), (6, 1), (6, 3), (6, 4), (11, 2)]
    seen = [(number, words(text)) for number, text in sentences(sample)]
    if seen != expected:
        raise SystemExit(f"sentences.py: its own sample is cut into {seen}, expected {expected}")


def main() -> None:
    check_self()
    pages = [tree.Path("README.md"), *(page for folder in FOLDERS for page in tree.files(".md", under=folder))]
    problems = []
    count = 0
    for page in pages:
        for number, text in sentences(tree.lines(page)):
            count += 1
            if words(text) > WORDS_MAX:
                problems.append(f"{page}:{number}: a sentence of {words(text)} words, {WORDS_MAX} at most; say it in two: "
                                f"{text[:80]}...")
    tree.finish(problems, f"{count} sentences of {len(pages)} pages")


main()
