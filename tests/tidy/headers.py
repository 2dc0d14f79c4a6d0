"""Headers: each header of include/ and src/ compiles alone, without warnings. Method: the project's compiler checks
the syntax of a file that includes nothing else."""

import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--system", default=str(tree.ROOT / ".venv/include"), help="oneTBB's headers")
    options = parser.parse_args()
    command = [options.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
               "-D__TBB_BUILD=1", "-I", "include", "-I", "src", "-isystem", options.system, "-x", "c++", "-"]
    headers = tree.files(".hpp", under="include") + tree.files(".hpp", under="src")

    def check(path: tree.Path) -> list[str]:
        name = path.relative_to(path.parts[0])
        result = subprocess.run(command, input=f'#include "{name}"\n', cwd=tree.ROOT, text=True, capture_output=True)
        return [f"{path}: does not compile alone:\n{result.stderr}"] if result.returncode else []

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for found in pool.map(check, headers) for problem in found]
    tree.finish(problems, f"{len(headers)} headers")


main()
