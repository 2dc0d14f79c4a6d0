# MPI where it is complete. Debian's openmpi-bin alone brings compiler wrappers without headers, and CMake's FindMPI ends
# the configuration over their include folders, QUIET or not: so the wrapper is tried first.
macro(homing_find_mpi)
  find_program(HOMING_MPI_WRAPPER NAMES ${MPI_CXX_COMPILER} mpicxx mpic++ mpiCC)
  mark_as_advanced(HOMING_MPI_WRAPPER)
  if(HOMING_MPI_WRAPPER)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/mpi_probe.cpp "#include <mpi.h>\nint main() { return MPI_VERSION == 0; }\n")
    execute_process(COMMAND ${HOMING_MPI_WRAPPER} ${CMAKE_CURRENT_BINARY_DIR}/mpi_probe.cpp
                            -o ${CMAKE_CURRENT_BINARY_DIR}/mpi_probe
                    RESULT_VARIABLE mpi_probe_failed OUTPUT_QUIET ERROR_QUIET)
    if(mpi_probe_failed)
      message(STATUS "homing: MPI left out: ${HOMING_MPI_WRAPPER} can't build a program (Debian: libopenmpi-dev is missing?)")
    else()
      find_package(MPI COMPONENTS CXX QUIET)
    endif()
  endif()
endmacro()
