"""The demo's programs, in the order in which they are shown."""

from programs.base import Program
from programs.flexbar import Flexbar
from programs.mathicgb import MathicGb
from programs.numba_kernels import NumbaKernels
from programs.opencv import OpenCv
from programs.openvdb import OpenVdb
from programs.salmon import Salmon
from programs.stl import Stl

ALL: list[Program] = [Stl(), NumbaKernels(), Flexbar(), Salmon(), OpenCv(), OpenVdb(), MathicGb()]
