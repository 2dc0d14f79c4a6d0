"""Packaging: the installed tree works after it has been moved. Method: installs into a temporary folder, moves it,
then builds and runs one consumer with CMake and one with pkg-config, each on libhoming and on libtbb.so.12."""

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(*command: object, **environment: str) -> str:
    result = subprocess.run([str(part) for part in command], env=os.environ | environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise SystemExit(f"failed ({result.returncode}): {' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def check(condition: bool, what: str) -> None:
    if not condition:
        raise SystemExit(f"failed: {what}")
    print(f"ok: {what}")


def consume(prefix: Path, work: Path, tbb_include: str, with_tbb: bool) -> None:
    programs = ["uses_homing"] + (["uses_tbb"] if with_tbb else [])
    run("cmake", "-S", HERE / "consumer", "-B", work / "cmake", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DHOMING_TBB_INCLUDE={tbb_include}", f"-DWITH_TBB={'ON' if with_tbb else 'OFF'}",
        f"-DEXAMPLE={HERE.parents[1] / 'examples/figure8_addressed_loop.cpp'}")
    run("cmake", "--build", work / "cmake")
    if with_tbb:
        print(run(work / "cmake/example").strip())
        check(True, "an example against the installed tree")
    for name in programs:
        print(run(work / "cmake" / name).strip())
        check(True, f"CMake consumer {name}")
        package = "homing" if name == "uses_homing" else "homing-tbb"
        flags = run("pkg-config", f"--define-variable=tbbinclude={tbb_include}", "--cflags", "--libs", package,
                    PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")).split()
        binary = work / f"pkgconfig_{name}"
        standard = "c++20" if name == "uses_homing" else "c++17"
        run(os.environ.get("CXX", "c++"), f"-std={standard}", HERE / f"consumer/{name}.cpp", "-o", binary, *flags)
        run(binary)
        check(True, f"pkg-config consumer {name}")


def without_tbb(prefix: Path, work: Path, tbb_include: str) -> None:
    """A package of a build that had no libtbb.so.12."""
    (prefix / "lib/homing/libtbb.so.12").unlink(missing_ok=True)
    asked = ["cmake", "-S", HERE / "consumer", "-B", work / "without_tbb", f"-DCMAKE_PREFIX_PATH={prefix}",
             f"-DHOMING_TBB_INCLUDE={tbb_include}", "-DWITH_TBB=ON"]
    seen = subprocess.run(asked, text=True, capture_output=True)
    check(seen.returncode != 0 and "libtbb.so.12 is not in" in " ".join(seen.stderr.split()),
          "a package without libtbb.so.12 says so where it is asked for")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--tbb-include", required=True)
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="homing-packaging-"))
    try:
        run("cmake", "--install", options.build, "--prefix", work / "usr", DESTDIR=str(work / "stage"))
        prefix = work / "moved"
        shutil.move(work / "stage" / str(work / "usr").lstrip("/"), prefix)
        with_tbb = (prefix / "lib/homing/libtbb.so.12").exists()
        if (options.build / "lib/homing/libtbb.so.12").exists():
            check(with_tbb and (prefix / "lib/homing/libtbb.so").is_symlink(), "libtbb.so.12 is in its own folder")
            check(not list(prefix.glob("lib/libtbb*")), "and nowhere else")
        consume(prefix, work, options.tbb_include, with_tbb)
        if (prefix / "bin/homing").exists():
            check(run(prefix / "bin/homing", "--version").startswith("homing "), "bin/homing starts")
            if (prefix / "bin/homing-experiment").exists():
                check((prefix / "lib/homing/experiments/homing_experiment/cli.py").exists(), "the package of homing experiment")
            if (prefix / "bin/homing-lab").exists():
                lab = prefix / "lib/homing/lab"
                for part in ("homing_lab/cli.py", "machines/westmere.toml", "homing-lab-init"):
                    check((lab / part).exists(), f"lib/homing/lab/{part}")
                said = subprocess.run([prefix / "bin/homing", "lab", "list"], text=True, capture_output=True)
                check(said.returncode == 0 and "westmere" in said.stdout or "typer and rich" in said.stderr,
                      "homing lab of the moved tree starts, or says what Python it needs")
            for page in ("homing", "homing-topology", "homing-run"):
                check((prefix / f"share/man/man1/{page}.1").stat().st_size > 0, f"man {page}")
            for path in ("bash-completion/completions/homing", "zsh/site-functions/_homing", "fish/vendor_completions.d/homing.fish"):
                check((prefix / "share" / path).stat().st_size > 0, f"completions: {path}")
        if with_tbb and (prefix / "bin/homing").exists():
            said = run(prefix / "bin/homing", "run", "--", work / "cmake/uses_tbb")
            check("on Homing" in said, "homing run -- PROGRAM uses the moved library")
        for text in prefix.rglob("*"):
            if text.suffix in (".cmake", ".pc"):
                check(str(work) not in text.read_text(), f"{text.name} names no folder of the build")
        without_tbb(prefix, work, options.tbb_include)
    finally:
        shutil.rmtree(work)


main()
