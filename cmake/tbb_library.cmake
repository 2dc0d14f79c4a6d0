# libtbb.so.12: the scheduler behind oneTBB's binary interface.

# No symbol version, as in oneTBB; everything that is not in the list stays inside, also what
# the standard library's templates would leak.
set(symbol_list ${CMAKE_CURRENT_SOURCE_DIR}/tests/abi/symbols.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${symbol_list})
file(STRINGS ${symbol_list} symbols)
list(APPEND symbols homing_tasks_door)   # ours, for <homing/tasks.hpp>
list(JOIN symbols ";\n  " symbols)
set(export_map ${CMAKE_CURRENT_BINARY_DIR}/libtbb.map)
file(CONFIGURE OUTPUT ${export_map} CONTENT "{\n global:\n  @symbols@;\n local:\n  *;\n};\n" @ONLY)

# Objects of their own, so that unit tests named runtime_* can reach inside.
if(runtime_sources)
  add_library(homing_runtime OBJECT ${runtime_sources})
  target_compile_definitions(homing_runtime PUBLIC __TBB_BUILD=1)
  target_link_libraries(homing_runtime PUBLIC homing_core tbb_headers)
  set_target_properties(homing_runtime PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()

add_library(homing_exports OBJECT ${tbb_sources})
target_compile_definitions(homing_exports PUBLIC __TBB_BUILD=1)
target_link_libraries(homing_exports PUBLIC homing_core tbb_headers)
set_target_properties(homing_exports PROPERTIES POSITION_INDEPENDENT_CODE ON)

add_library(tbb SHARED)
target_include_directories(tbb SYSTEM INTERFACE ${HOMING_TBB_INCLUDE})
target_link_libraries(tbb PRIVATE homing_exports homing_core tbb_headers Threads::Threads)
if(TARGET homing_runtime)
  target_link_libraries(tbb PRIVATE homing_runtime)
endif()
target_link_options(tbb PRIVATE -Wl,-z,nodelete -Wl,--version-script=${export_map})
if(NOT HOMING_SANITIZE)
  target_link_options(tbb PRIVATE -Wl,-z,defs)
endif()
set_target_properties(tbb PROPERTIES VERSION 12 SOVERSION 12 LINK_DEPENDS ${export_map}
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/homing)

# Debug builds with oneTBB's own TBBConfig ask for this name. The symbols are the same, and so are the types.
set(debug_name ${CMAKE_BINARY_DIR}/lib/homing/libtbb_debug.so.12)
add_custom_command(TARGET tbb POST_BUILD BYPRODUCTS ${debug_name}
                   COMMAND ${CMAKE_COMMAND} -E create_symlink libtbb.so.12 ${debug_name} VERBATIM)
