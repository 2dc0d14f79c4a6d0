"""The files of the project, and how a tidy test reports: shared by all tests in this folder."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = (".cpp", ".hpp", ".inl", ".c", ".h", ".py", ".cmake", ".sh")


def files(*suffixes: str, under: str = "") -> list[Path]:
    """Files that are tracked, or would be (not ignored), relative to the root; all suffixes if none is given."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        found = [Path(name) for name in listing if name]
    except (OSError, subprocess.CalledProcessError):  # no git, or an unpacked archive
        found = [p.relative_to(ROOT) for p in ROOT.rglob("*")
                 if not {"build", ".venv", ".git", ".cache", "__pycache__"} & set(p.relative_to(ROOT).parts)]
    return sorted({p for p in found
                   if (ROOT / p).is_file() and not (ROOT / p).is_symlink()
                   and (not suffixes or p.suffix in suffixes)
                   and (not under or p.is_relative_to(under))})


def lines(path: Path) -> list[str]:
    """The lines of a text file; none for a binary one."""
    try:
        return (ROOT / path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


def finish(problems: list[str], checked: str) -> None:
    """Prints every problem and ends the test."""
    for problem in problems:
        print(problem)
    print(f"{checked}: {len(problems)} problem(s)")
    sys.exit(1 if problems else 0)
