# Sets `result` to all .cpp files of the given folders, which may be empty or absent.
macro(homing_sources result)
  set(${result})
  foreach(folder ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND ${result} ${found})
  endforeach()
endmacro()
