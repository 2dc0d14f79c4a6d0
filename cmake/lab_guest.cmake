# The guest's first program of `homing lab`: static, and for any x86-64 machine that QEMU emulates.
if(HOMING_SANITIZE)
  return()
endif()
homing_sources(guest_sources lab/guest)
add_executable(homing_lab_init ${guest_sources})
target_include_directories(homing_lab_init PRIVATE include)
target_compile_options(homing_lab_init PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       $<$<BOOL:${HOMING_WERROR}>:-Werror> -g0 -ffunction-sections)
target_link_options(homing_lab_init PRIVATE -static -s -Wl,--gc-sections)
set_target_properties(homing_lab_init PROPERTIES OUTPUT_NAME homing-lab-init
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)

# What --virtual-clock preloads: it must not bring a C++ library into other people's programs.
homing_sources(clock_sources lab/clock)
add_library(homing_lab_clock MODULE ${clock_sources})
target_include_directories(homing_lab_clock PRIVATE include)
target_compile_options(homing_lab_clock PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       $<$<BOOL:${HOMING_WERROR}>:-Werror> -fvisibility=hidden -fno-exceptions -fno-rtti
                       -ftls-model=initial-exec)
target_link_options(homing_lab_clock PRIVATE -static-libstdc++ -static-libgcc -s -Wl,-z,defs,--as-needed)
set_target_properties(homing_lab_clock PROPERTIES OUTPUT_NAME homing-lab-clock PREFIX ""
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)
add_dependencies(homing_lab_init homing_lab_clock)

# `homing lab` of the build tree: the source tree's launcher, with this build's binaries unless the user names others.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/bin/homing-lab @ONLY CONTENT [[#!/bin/sh
HOMING_LAB_BUILD=${HOMING_LAB_BUILD:-@CMAKE_BINARY_DIR@} HOMING_LAB_VENV=@venv@ exec @CMAKE_SOURCE_DIR@/lab/homing-lab "$@"
]])
file(CHMOD ${CMAKE_BINARY_DIR}/bin/homing-lab PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
     WORLD_READ WORLD_EXECUTE)
