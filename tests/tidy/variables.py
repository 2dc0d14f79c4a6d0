"""Rule: the table of our variables names all that the tree reads, and only those. Method: the calls that read one, in C++,
Python and shell."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "src/platform/known_variables.cpp"
NAME = r"(HOMING_[A-Z][A-Z_]*)"
READS = {
    ".cpp": [rf'(?:\benv|env_flag|env_integer|env_choice(?:<[^(]*>)?|getenv|\badd|path_of_environment \w+|report_|trace_)\s*[({{]\s*"{NAME}"'],
    ".hpp": [rf'(?:env|getenv)\s*\(\s*"{NAME}"'],
    ".py": [rf'environ(?:\.get\(|\[)\s*"{NAME}"'],
    "": [rf"\$\{{?{NAME}"],
    ".sh": [rf"\$\{{?{NAME}"],
}

table = set(re.findall(rf'"{NAME}"', TABLE.read_text())) - {"HOMING_TEST_"}
read = {}
for folder in ("src", "cli", "lab", "experiments", "bench", "demo", "scripts", "tests/upstream", "tests/stress", "cmake"):
    for file in (ROOT / folder).rglob("*"):
        patterns = READS.get(file.suffix)
        if not file.is_file() or file == TABLE or patterns is None or file.name.startswith("test_") or "__pycache__" in file.parts:
            continue
        text = file.read_text(errors="replace")
        for pattern in patterns:
            for name in re.findall(pattern, text):
                read.setdefault(name, file.relative_to(ROOT))
for file in (ROOT / "cmake").glob("*.cmake"):
    for name in re.findall(r"ENV\{(HOMING_[A-Z_]+)\}", file.read_text()):
        read.setdefault(name, file.relative_to(ROOT))
problems = [f"{file}: reads {name}, which {TABLE.relative_to(ROOT)} does not know" for name, file in read.items() if name not in table]
problems += [f"{TABLE.relative_to(ROOT)}: nobody reads {name}" for name in sorted(table - set(read))]
for problem in problems:
    print(problem)
print(f"{len(read)} variables: {len(problems)} problem(s)")
sys.exit(1 if problems else 0)
