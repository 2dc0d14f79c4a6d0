"""Numba kernels on Numba's TBB threading layer; nothing here knows of Homing.

Prints `name value` lines; a value ending in `~` is a floating-point sum, whose last digits may depend on how
the loop was cut. Fails unless Numba really chose TBB.
"""

import sys
import time
import zlib

import numba
import numpy as np
from numba import njit, prange


@njit(parallel=True, cache=True)
def mandelbrot(height, width, limit):
    """Uneven work: rows through the middle of the set cost far more than those at the edge."""
    counts = np.empty((height, width), np.int32)
    for row in prange(height):
        for column in range(width):
            re = -2.0 + 2.6 * column / width
            im = -1.3 + 2.6 * row / height
            x, y, n = 0.0, 0.0, 0
            while x * x + y * y <= 4.0 and n < limit:
                x, y = x * x - y * y + re, 2.0 * x * y + im
                n += 1
            counts[row, column] = n
    return counts


@njit(parallel=True, cache=True)
def jacobi(grid, sweeps):
    """A five-point stencil: many short loops over the same memory, where it matters who ran which row last."""
    other = grid.copy()
    for _ in range(sweeps):
        for row in prange(1, grid.shape[0] - 1):
            for column in range(1, grid.shape[1] - 1):
                other[row, column] = 0.25 * (
                    grid[row - 1, column] + grid[row + 1, column] + grid[row, column - 1] + grid[row, column + 1]
                )
        grid, other = other, grid
    return grid


@njit(parallel=True, cache=True)
def histogram(values, bins):
    """Each part counts for itself, then the counts are added: integers, so exact whatever the cut."""
    parts = 64
    counts = np.zeros((parts, bins), np.int64)
    step = (values.size + parts - 1) // parts
    for part in prange(parts):
        for index in range(part * step, min(values.size, (part + 1) * step)):
            counts[part, int(values[index] * bins)] += 1
    return counts.sum(axis=0)


@njit(parallel=True, cache=True)
def energy(values):
    """A reduction of floating-point numbers."""
    total = 0.0
    for index in prange(values.size):
        total += np.sqrt(values[index]) * np.sin(values[index])
    return total


def main():
    size, seed = int(sys.argv[1]), int(sys.argv[2])
    random = np.random.Generator(np.random.PCG64(seed))
    values = random.random(size * size * 4)
    grid = random.random((size, size))
    for kernel, arguments in ((mandelbrot, (2, 2, 2)), (jacobi, (grid[:4, :4].copy(), 1)),
                              (histogram, (values[:64], 16)), (energy, (values[:64],))):
        kernel(*arguments)  # compile, or load what an earlier run compiled

    start = time.perf_counter()
    counts = mandelbrot(size, size, 400)
    smooth = jacobi(grid.copy(), 60)
    bins = histogram(values, 1000)
    total = energy(values)
    seconds = time.perf_counter() - start

    if numba.threading_layer() != "tbb":
        sys.exit(f"Numba uses the threading layer {numba.threading_layer()}, not tbb")
    with open("/proc/self/maps") as maps:
        loaded = {line.split(maxsplit=5)[5].strip() for line in maps if "libtbb.so" in line}
    # The caller compares this path with the library it meant.
    print("libtbb", *sorted(loaded))
    print("threading_layer", numba.threading_layer())
    print("mandelbrot", f"{zlib.crc32(counts.tobytes()):08x}")
    print("jacobi", f"{zlib.crc32(np.ascontiguousarray(smooth).tobytes()):08x}")
    print("histogram", f"{zlib.crc32(bins.tobytes()):08x}")
    print("energy", f"{total!r}~")
    print(f"seconds {seconds:.6f}")


if __name__ == "__main__":
    main()
