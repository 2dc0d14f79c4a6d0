# Compiler settings that every target of ours shares: homing_settings.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(HOMING_DEBUG_LEVEL 1 CACHE STRING "Debug information of a release build: 1 has functions and lines, 2 has types, too")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g${HOMING_DEBUG_LEVEL} -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
# Sanitized builds keep assertions and readable stacks.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g -fno-omit-frame-pointer")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Sanitize" FORCE)
endif()

find_program(HOMING_CCACHE ccache)
if(HOMING_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HOMING_CCACHE})
endif()

add_library(homing_settings INTERFACE)
target_compile_options(homing_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  $<$<BOOL:${HOMING_WERROR}>:-Werror>)
# The thread descriptor is read on every spawn, so it must not cost a call: the library is
# never unloaded (nodelete) and its thread-local data is small enough for the static block.
target_compile_options(homing_settings INTERFACE -ftls-model=initial-exec -fno-plt)
if(HOMING_SANITIZE)
  target_compile_options(homing_settings INTERFACE -fsanitize=${HOMING_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(homing_settings INTERFACE -fsanitize=${HOMING_SANITIZE})
  if(HOMING_SANITIZE MATCHES undefined)
    # oneTBB's flow graph casts a task to its type after it has run the destructor (graph_task::finalize, in its
    # headers), which this one check of UBSan takes for a wrong type.
    target_compile_options(homing_settings INTERFACE -fno-sanitize=vptr)
  endif()
  if(HOMING_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # TSan can't see fences; each use has a stress test of its own instead (docs/protocols/).
    # GCC's flow analysis is not meant for instrumented code: it calls members of a variant uninitialized.
    target_compile_options(homing_settings INTERFACE -Wno-tsan -Wno-maybe-uninitialized)
  endif()
endif()
