# `homing lab` and `homing experiment` of the build tree: the source tree's launcher, with this build's binaries unless
# the user names others. The shell gets each path in quotes, since a path may have spaces.
function(homing_launcher name launcher)
  string(TOUPPER ${name} NAME)
  set(made "${CMAKE_BINARY_DIR}/bin/homing-${name}")
  file(CONFIGURE OUTPUT "${made}" @ONLY CONTENT [[#!/bin/sh
HOMING_@NAME@_BUILD=${HOMING_@NAME@_BUILD:-'@CMAKE_BINARY_DIR@'} HOMING_@NAME@_VENV='@venv@' exec '@launcher@' "$@"
]])
  file(CHMOD "${made}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endfunction()
