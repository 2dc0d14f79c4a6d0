"""Packaging: what is broken around the build is a message, not its end. Method: an MPI wrapper that can't compile, as
Debian's openmpi-bin without its headers; scripts/build in a tree that was copied with its build folder, with a cmake
that only notes how it is called; folders with spaces in their names; an environment of Python without pip; a GoogleTest
in a folder of its own; a project with Homing as a subdirectory."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(condition, what, seen=""):
    if not condition:
        raise SystemExit(f"failed: {what}\n{seen}")
    print(f"ok: {what}")


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def broken_mpi(folder):
    """Wrappers without headers are left out, and do not hide complete ones that have names of their own."""
    tools = folder / "bin"
    tools.mkdir()
    project = folder / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\n"
        f"list(APPEND CMAKE_MODULE_PATH {ROOT}/cmake)\ninclude(optional_mpi)\nhoming_find_mpi()\n"
        'message(STATUS "found: ${MPI_CXX_FOUND} ${MPI_CXX_COMPILER}")\n')

    def configure(*broken):
        for name in broken:
            script(tools / name,
                   'case "$*" in *-show*) echo "c++ -I/nonexistent/openmpi/include -lmpi" ;; *) exit 1 ;; esac\n')
        return subprocess.run(["cmake", "-S", project, "-B", folder / broken[0]], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"})

    probe = folder / "probe.cpp"
    probe.write_text("#include <mpi.h>\nint main() { return MPI_VERSION == 0; }\n")
    mpich = shutil.which("mpicxx.mpich")
    is_complete = mpich and subprocess.run([mpich, probe, "-o", folder / "probe"], capture_output=True).returncode == 0
    done = configure("mpicxx", "mpic++", "mpiCC")
    if is_complete:
        check(done.returncode == 0 and f"found: TRUE {mpich}" in done.stdout, "a complete MPICH behind it is found",
              done.stdout)
    done = configure("mpicxx.mpich", "mpicxx.openmpi")
    check(done.returncode == 0 and "MPI left out" in done.stdout, "a broken MPI is left out", done.stdout)


def copied_tree(folder):
    tools = folder / "tools"
    tools.mkdir()
    script(tools / "cmake", f'echo "$@" >> {folder}/calls\n')
    tree = folder / "copy"
    (tree / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/build", tree / "scripts/build")
    build = tree / "build/release"
    build.mkdir(parents=True)
    (build / "build.ninja").touch()

    def run(home):
        (build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={home}\n")
        (folder / "calls").unlink(missing_ok=True)
        done = subprocess.run([tree / "scripts/build", "release"], text=True, capture_output=True,
                              env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"})
        return done, (folder / "calls").read_text().splitlines()

    done, calls = run(tree)
    check(done.returncode == 0 and len(calls) == 1 and calls[0].startswith("--build"), "a tree in its place is only built", (done, calls))
    done, calls = run("/somewhere/else")
    check(done.returncode == 0 and calls[0] == "--preset release --fresh" and calls[1].startswith("--build"),
          "a copied one is configured anew", (done, calls))
    check("/somewhere/else" in done.stderr, "and it is said", done)


def paths_with_spaces(folder):
    """The build tree's launchers, and what `make install` hands on."""
    project = folder / "a b"
    project.mkdir()
    script(project / "launcher", 'echo "$HOMING_SOME_BUILD|$HOMING_SOME_VENV|$*"\n')
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\n"
        f'list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")\ninclude(launcher)\nset(venv "/an env")\n'
        'homing_launcher(some "${CMAKE_SOURCE_DIR}/launcher")\n')
    build = project / "the build"
    subprocess.run(["cmake", "-S", project, "-B", build], check=True, stdout=subprocess.DEVNULL)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOMING")}
    for given, used in (({}, build), ({"HOMING_SOME_BUILD": "/an other"}, "/an other")):
        done = subprocess.run([build / "bin/homing-some", "x y"], env=clean | given, text=True, capture_output=True)
        check(done.stdout == f"{used}|/an env|x y\n", f"a launcher with spaces around it, {given or 'nothing'} given", done)
    done = subprocess.run(["make", "-n", "-C", ROOT, "install", "PREFIX=/my folder", "DESTDIR=/my stage"], text=True, capture_output=True)
    words = [shlex.split(line) for line in done.stdout.splitlines() if "cmake --install" in line]
    check(len(words) == 1 and "DESTDIR=/my stage" in words[0] and "/my folder" in words[0], "make install into a folder with a space",
          done)


def interrupted_setup(folder):
    tree = folder / "tree"
    (tree / "scripts/requirements").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/setup", tree / "scripts/setup")
    (tree / "scripts/requirements/none.txt").write_text("# nothing\n")
    environment = {name: value for name, value in os.environ.items() if name != "HOMING_VENV"}
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tree / ".venv"], check=True)   # as far as it came
    done = subprocess.run([tree / "scripts/setup", "none"], env=environment, text=True, capture_output=True)
    check(done.returncode == 0 and (tree / ".venv/.installed-none").exists(), "a setup that was interrupted goes on", done)


def gtest_elsewhere(folder):
    """The test that another compiler builds finds GoogleTest where CMake did, also outside of /usr/include."""
    clang = shutil.which("clang++-16") or shutil.which("clang++")
    if not clang:
        print("no Clang: where the other compiler finds GoogleTest is not looked at")
        return
    elsewhere = folder / "an env/include"
    elsewhere.mkdir(parents=True)
    for place, options in ((elsewhere, f"-isystem{elsewhere}"), ("/usr/include", "")):
        config, build = folder / f"config{bool(options)}", folder / f"build{bool(options)}"
        config.mkdir()
        (config / "GTestConfig.cmake").write_text(
            "foreach(name gtest gtest_main gmock gmock_main)\n  add_library(GTest::${name} INTERFACE IMPORTED)\n"
            f'  set_target_properties(GTest::${{name}} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "{place}")\nendforeach()\n')
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, f"-DGTest_DIR={config}", "-DCMAKE_CXX_COMPILER=g++",
                               *sys.argv[1:]],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        calls = [line for line in (build / "build.ninja").read_text().splitlines() if "COMMAND = " in line and "by_clang.o" in line]
        check(done.returncode == 0 and len(calls) == 1, "a test is built by another compiler", (done.stdout, calls))
        words = shlex.split(calls[0])
        asked = [word for word in words if str(place) in (word.removeprefix("-isystem"), word.removeprefix("-I"))]
        check(asked == ([options] if options else []), f"it finds GoogleTest in {place}", calls)


def subdirectory(folder):
    """Homing in the middle of a user's project: the message says how it is used instead."""
    (folder / "CMakeLists.txt").write_text(
        f'cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nadd_subdirectory("{ROOT}" homing)\n')
    done = subprocess.run(["cmake", "-S", folder, "-B", folder / "build"], text=True, capture_output=True)
    said = " ".join(done.stderr.split())
    check(done.returncode != 0 and said.count("CMake Error") == 1 and "use find_package(homing)" in said and "make install" in said,
          "Homing as a subdirectory is refused, with the way that works", done)


for test in (broken_mpi, copied_tree, paths_with_spaces, interrupted_setup, gtest_elsewhere, subdirectory):
    work = Path(tempfile.mkdtemp(prefix="homing-configure-"))
    try:
        test(work)
    finally:
        shutil.rmtree(work)
