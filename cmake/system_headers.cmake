# homing_system_headers(variable target): options for a compiler that is called by hand, such as the other one of a test,
# so that it finds an imported target's headers. None for folders that compilers search by themselves: before those of
# the C++ library they would break it.
function(homing_system_headers variable target)
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(NOT folders)
    set(folders "")
  endif()
  list(REMOVE_ITEM folders /usr/include ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  list(TRANSFORM folders PREPEND "-isystem")
  set(${variable} ${folders} PARENT_SCOPE)
endfunction()
