# What the build takes from outside: hwloc, oneTBB's headers, and header libraries for the command.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)

# oneTBB 2023.2.0: headers from the wheel tbb-devel, the stock library from the wheel tbb.
if(DEFINED ENV{HOMING_VENV})
  set(venv $ENV{HOMING_VENV})
  cmake_path(ABSOLUTE_PATH venv BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)   # as scripts/setup has it
else()
  set(venv ${CMAKE_CURRENT_SOURCE_DIR}/.venv)
endif()
set(HOMING_TBB_INCLUDE ${venv}/include CACHE PATH "Folder of oneTBB 2023's headers (tbb/, oneapi/)")
if(NOT EXISTS ${HOMING_TBB_INCLUDE}/oneapi/tbb/version.h)
  message(FATAL_ERROR "homing: no oneTBB headers in ${HOMING_TBB_INCLUDE}. "
          "Run `make setup`, or pass -DHOMING_TBB_INCLUDE=DIR.")
endif()
add_library(tbb_headers INTERFACE)   # 2023.2.0
target_include_directories(tbb_headers SYSTEM INTERFACE ${HOMING_TBB_INCLUDE})

# The distribution's own headers (2021.8 in Debian 12): clients built with them must run as well.
find_path(HOMING_TBB_OLD_INCLUDE oneapi/tbb/version.h PATHS /usr/include NO_DEFAULT_PATH)

file(GLOB cli_present CONFIGURE_DEPENDS cli/*.cpp)
if(cli_present AND NOT HOMING_GUEST)
  find_package(CLI11 REQUIRED)
  find_package(fmt REQUIRED)
  find_package(nlohmann_json REQUIRED)
  # libpfm4 knows hardware events by name; it has no package file.
  find_path(HOMING_PFM_INCLUDE perfmon/pfmlib_perf_event.h REQUIRED)
  find_library(HOMING_PFM pfm REQUIRED)
endif()
if(HOMING_TESTS AND NOT HOMING_GUEST)
  find_package(GTest REQUIRED)
endif()
