# Small functions that keep the lists short.

# All .cpp files of the given folders; folders may be empty or absent.
macro(homing_sources result)
  set(${result})
  foreach(folder ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND ${result} ${found})
  endforeach()
endmacro()

# A program that knows TBB only by its public headers. No RPATH: LD_LIBRARY_PATH chooses the
# library, so that the same binary runs on stock oneTBB and on ours.
function(homing_client_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE homing_settings tbb_headers Threads::Threads)
  set_target_properties(${name} PROPERTIES SKIP_BUILD_RPATH ON)
  if(EXISTS ${HOMING_STOCK_TBB}/libtbb.so.12)
    target_link_libraries(${name} PRIVATE ${HOMING_STOCK_TBB}/libtbb.so.12)
  elseif(TARGET tbb)
    target_link_libraries(${name} PRIVATE tbb)
  endif()
endfunction()

# bench/<program>/<variant>.cpp becomes build/<preset>/bench/<program>/<variant>; files in
# bench/ itself become build/<preset>/bench/<file>. bench/support/ holds what they share.
function(homing_bench_programs)
  file(GLOB files CONFIGURE_DEPENDS bench/*.cpp bench/*/*.cpp)
  foreach(file ${files})
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/bench OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH program)
    cmake_path(GET path STEM variant)
    if(program STREQUAL support)
      continue()
    endif()
    string(REPLACE / _ target bench_${program}_${variant})
    homing_client_program(${target} ${file})
    target_include_directories(${target} PRIVATE bench)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${variant}
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench/${program})
  endforeach()
endfunction()
