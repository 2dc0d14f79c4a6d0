"""Links: every relative link of a page leads to a file. Method: reads [text](target) outside code blocks."""

import re

import tree

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")


def main() -> None:
    problems = []
    pages = tree.files(".md")
    for page in pages:
        fenced = False
        for number, line in enumerate(tree.lines(page), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if "://" in target or target.startswith(("#", "mailto:")):
                    continue
                if not (tree.ROOT / page.parent / target.split("#")[0]).exists():
                    problems.append(f"{page}:{number}: {target} does not exist")
    tree.finish(problems, f"{len(pages)} pages")


main()
