"""Packaging: the installed tree works after it has been moved. Method: installs into a temporary folder, moves it,
then builds and runs one consumer with CMake and one with pkg-config, each on libhoming and on libtbb.so.12; by the
guide's own commands, too; installs the consumers; builds a project that has another TBB beside ours."""

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# What a shell may have, and what would choose libraries in the programs' place.
CLEAN = {name: value for name, value in os.environ.items() if name not in ("PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD")}


def run(*command: object, **environment: str) -> str:
    result = subprocess.run([str(part) for part in command], env=CLEAN | environment, text=True,
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
        f"-DEXAMPLE={ROOT / 'examples/figure8_addressed_loop.cpp'}")
    run("cmake", "--build", work / "cmake")
    if with_tbb:
        print(run(work / "cmake/example").strip())
        check(True, "an example against the installed tree")
        if (work / "cmake/lease_openmp").exists():
            run(work / "cmake/lease_openmp")
            check(True, "and the one with OpenMP")
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


def commands_of_the_page(prefix: Path, work: Path, tbb_include: str) -> None:
    """Those of "Building" in docs/guide/tasks.md, word for word: each program on Homing and on four domains."""
    page = (ROOT / "docs/guide/tasks.md").read_text()
    block = re.search(r"^## Building$.*?^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE).group(1)
    *builds, start = block.replace("\\\n", " ").splitlines()
    folder = work / "page"
    folder.mkdir()
    (folder / "app.cpp").write_text(
        "#include <homing/distribution.hpp>\n#include <homing/tasks.hpp>\n"
        "int main() { return homing::runtime().is_homing && homing::domain_count() == 4 && "
        "homing::block(8).home_of(7) == homing::domain_index{3} ? 0 : 1; }\n")
    compilers = [line for line in builds if line.startswith("g++")]
    check(len(compilers) == 2 and "pkg-config" in compilers[0] and "./app" in start, "the page has a command with pkg-config and one without")
    for left_out in reversed(compilers):
        lines = [line for line in builds if line != left_out]
        run("sh", "-e", "-c", "\n".join(["cd " + str(folder), *lines, start]), P=str(prefix), T=tbb_include)
        check(True, f"tasks.md: {lines[-1].split('app.cpp')[-1].strip()[:40]}")


def installed_consumers(prefix: Path, work: Path, with_tbb: bool) -> None:
    """As examples/README.md has it, with the libraries' paths; and without, where our libtbb.so.12 is found all the same."""
    build = work / "cmake"
    run("cmake", "--install", build, "--prefix", work / "plainly")
    if with_tbb:
        print(run(work / "plainly/bin/uses_tbb").strip())
        check(True, "an installed program still runs on our libtbb.so.12")
    run("cmake", "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON", build)
    run("cmake", "--build", build)
    run("cmake", "--install", build, "--prefix", work / "with_paths")
    for program in sorted((work / "with_paths/bin").iterdir()):
        run(program)
        check(True, f"an installed {program.name}, with the libraries' paths")


def versions_and_components(prefix: Path, work: Path) -> None:
    """The library's name promises what the package does; what a project can't get is said."""
    version = re.search(r'PACKAGE_VERSION "(\d+)\.(\d+)', (prefix / "lib/cmake/homing/homing-config-version.cmake").read_text())
    major, minor = (int(part) for part in version.groups())
    dynamic = run("readelf", "-d", prefix / "lib/libhoming.so", LC_ALL="C")
    check(f"soname: [libhoming.so.{major}.{minor}]" in dynamic, "the minor version is part of libhoming's name")
    for asked, words in ((f"{major}.{minor + 1}", f"version: {major}.{minor}"), ("COMPONENTS homing tasks", "there is no component tasks")):
        project = work / f"asks_{len(words)}"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.16)\nproject(p CXX)\nfind_package(homing {asked} REQUIRED)\n")
        seen = subprocess.run(["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}"], text=True, capture_output=True)
        check(seen.returncode != 0 and words in " ".join(seen.stderr.split()), f"find_package(homing {asked}) is refused: {words}")


def libraries_of(program: Path, **environment: str) -> set[Path]:
    """The files that stand for a libtbb in a program, links followed."""
    return {Path(found).resolve() for found in re.findall(r"libtbb(?:_debug)?\.so\.12 => (\S+)", run("ldd", program, **environment))}


def another_tbb(prefix: Path, work: Path, tbb_include: str) -> None:
    """Ours and TBB::tbb in one project: whoever links homing::tbb runs on ours, and so do its libraries. Debug builds, too."""
    other = Path(tbb_include).resolve().parent / "lib"
    if not (other / "cmake/tbb/TBBConfig.cmake").exists() or not (other / "libtbb_debug.so.12").exists():
        print(f"no other TBB in {other}: projects with two are not looked at")
        return
    ours = {(prefix / "lib/homing/libtbb.so.12").resolve()}
    for kind, flags, first in (("Release", "", "OFF"), ("Debug", "-DTBB_USE_DEBUG=1", "ON")):
        build, installed = work / f"other_{kind}", work / f"other_{kind}_installed"
        run("cmake", "-S", HERE / "other_tbb", "-B", build, f"-DCMAKE_BUILD_TYPE={kind}", f"-DCMAKE_CXX_FLAGS={flags}",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTBB_DIR={other / 'cmake/tbb'}", f"-DHOMING_TBB_INCLUDE={tbb_include}",
            f"-DHOMING_FIRST={first}", "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON")
        run("cmake", "--build", build)
        run("cmake", "--install", build, "--prefix", installed)
        for place in (build, installed / "bin"):
            for name in ("before_third", "behind_third", "before_third_shared", "behind_third_shared"):
                # The shared library in its new place is found by nobody; its own path is of the build.
                environment = {"LD_LIBRARY_PATH": str(installed / "lib")} if place != build else {}
                run(place / name, **environment)
                # A shared library of a Debug build brings its own file under its other name; its calls come to ours.
                if kind == "Release" or name.endswith("third"):
                    check(libraries_of(place / name, **environment) == ours, "our library alone is in it")
                check(True, f"{kind}, {place.name}: {name} runs on ours")
        check(libraries_of(build / "theirs").isdisjoint(ours), f"{kind}: a program on TBB::tbb has that")
        run(build / "theirs", LD_LIBRARY_PATH=str(prefix / "lib/homing"))
        check(True, f"{kind}: it runs on ours by LD_LIBRARY_PATH")
        if (prefix / "bin/homing").exists():
            check("on Homing" in run(prefix / "bin/homing", "run", "--", build / "theirs"), f"{kind}: and by homing run")


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
            check(os.readlink(prefix / "lib/homing/libtbb_debug.so.12") == "libtbb.so.12", "Debug builds find it by their name")
        consume(prefix, work, options.tbb_include, with_tbb)
        installed_consumers(prefix, work, with_tbb)
        versions_and_components(prefix, work)
        if with_tbb:
            commands_of_the_page(prefix, work, options.tbb_include)
            another_tbb(prefix, work, options.tbb_include)
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
