# The guest's first program of `homing lab`: static, and for any x86-64 machine that QEMU emulates.
if(HOMING_SANITIZE)
  return()
endif()
homing_sources(guest_sources lab/guest)
add_executable(homing_lab_init ${guest_sources})
target_compile_options(homing_lab_init PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       $<$<BOOL:${HOMING_WERROR}>:-Werror> -g0 -ffunction-sections)
target_link_options(homing_lab_init PRIVATE -static -s -Wl,--gc-sections)
set_target_properties(homing_lab_init PROPERTIES OUTPUT_NAME homing-lab-init
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)

# `homing lab` of the build tree: the source tree's launcher, with this build's binaries.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/bin/homing-lab @ONLY CONTENT [[#!/bin/sh
HOMING_LAB_BUILD=@CMAKE_BINARY_DIR@ HOMING_LAB_VENV=@venv@ exec @CMAKE_SOURCE_DIR@/lab/homing-lab "$@"
]])
file(CHMOD ${CMAKE_BINARY_DIR}/bin/homing-lab PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
     WORLD_READ WORLD_EXECUTE)
