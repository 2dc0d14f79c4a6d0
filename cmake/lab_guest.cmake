# The guest's first program of `homing lab`: static, and for any x86-64 machine that QEMU emulates.
if(HOMING_SANITIZE)
  return()
endif()
homing_sources(guest_sources lab/guest)
add_executable(homing_lab_init ${guest_sources})
target_include_directories(homing_lab_init PRIVATE include)
target_compile_options(homing_lab_init PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       $<$<BOOL:${HOMING_WERROR}>:-Werror> -g0 -ffunction-sections)
# Not at the fixed address where the user's program may be, which --hot could not tell from it.
target_link_options(homing_lab_init PRIVATE -static-pie -s -Wl,--gc-sections)
set_target_properties(homing_lab_init PROPERTIES OUTPUT_NAME homing-lab-init
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)

# What --virtual-clock and --hot preload: it must not bring a C++ library into other people's programs.
foreach(part clock names)
  homing_sources(${part}_sources lab/${part})
  add_library(homing_lab_${part} MODULE ${${part}_sources})
  target_include_directories(homing_lab_${part} PRIVATE include)
  target_compile_options(homing_lab_${part} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                         $<$<BOOL:${HOMING_WERROR}>:-Werror> -fvisibility=hidden -fno-exceptions -fno-rtti
                         -fno-threadsafe-statics -ftls-model=initial-exec)
  target_link_options(homing_lab_${part} PRIVATE -static-libstdc++ -static-libgcc -s -Wl,-z,defs,--as-needed)
  set_target_properties(homing_lab_${part} PROPERTIES OUTPUT_NAME homing-lab-${part} PREFIX ""
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)
  add_dependencies(homing_lab_init homing_lab_${part})
endforeach()

include(launcher)
homing_launcher(lab ${CMAKE_SOURCE_DIR}/lab/homing-lab)
