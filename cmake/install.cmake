# The installed tree: relocatable, with libtbb.so.12 in a folder of its own, so that it never
# stands in the way of the system's.
include(CMakePackageConfigHelpers)
set(config ${CMAKE_CURRENT_BINARY_DIR}/package)
set(templates ${CMAKE_CURRENT_SOURCE_DIR}/cmake/package)

install(DIRECTORY include/homing DESTINATION include)
install(TARGETS homing EXPORT homing_targets LIBRARY DESTINATION lib INCLUDES DESTINATION include)
install(EXPORT homing_targets NAMESPACE homing:: FILE homing-targets.cmake DESTINATION lib/cmake/homing)
if(TARGET tbb)
  install(TARGETS tbb LIBRARY DESTINATION lib/homing)
  install(FILES ${debug_name} DESTINATION lib/homing)   # a link
  configure_file(${templates}/homing-tbb.pc.in ${config}/homing-tbb.pc @ONLY)
  install(FILES ${config}/homing-tbb.pc DESTINATION lib/pkgconfig)
endif()
if(TARGET homing_cli)
  install(TARGETS homing_cli RUNTIME DESTINATION bin)
  install(DIRECTORY ${HOMING_SHARE}/ DESTINATION share)
endif()

# What the commands in Python share: they find it beside their own folders.
if(TARGET homing_cli OR TARGET homing_lab_init)
  install(DIRECTORY commands/homing_commands DESTINATION lib/homing/commands PATTERN __pycache__ EXCLUDE)
endif()

# The lab: the launcher beside the command, everything else in a folder of its own.
if(TARGET homing_lab_init)
  install(PROGRAMS lab/homing-lab DESTINATION bin)
  install(DIRECTORY lab/homing_lab lab/machines DESTINATION lib/homing/lab PATTERN __pycache__ EXCLUDE)
  install(FILES lab/__main__.py DESTINATION lib/homing/lab)
  install(TARGETS homing_lab_init homing_lab_clock homing_lab_names RUNTIME DESTINATION lib/homing/lab LIBRARY DESTINATION lib/homing/lab)
  foreach(part homing_lab_plugin lab_calibrate)
    if(TARGET ${part})
      install(TARGETS ${part} RUNTIME DESTINATION lib/homing/lab LIBRARY DESTINATION lib/homing/lab)
    endif()
  endforeach()
endif()

# Experiments: alike; they need a build with programs/, which is not installed.
if(TARGET homing_cli)
  install(PROGRAMS experiments/homing-experiment DESTINATION bin)
  install(DIRECTORY experiments/homing_experiment DESTINATION lib/homing/experiments PATTERN __pycache__ EXCLUDE)
  install(FILES experiments/__main__.py DESTINATION lib/homing/experiments)
endif()

configure_package_config_file(${templates}/homing-config.cmake.in ${config}/homing-config.cmake
                              INSTALL_DESTINATION lib/cmake/homing)
# As libhoming's SOVERSION has it: what is built on 0.1 does not run on 0.2.
write_basic_package_version_file(${config}/homing-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config}/homing-config.cmake ${config}/homing-config-version.cmake DESTINATION lib/cmake/homing)
configure_file(${templates}/homing.pc.in ${config}/homing.pc @ONLY)
install(FILES ${config}/homing.pc DESTINATION lib/pkgconfig)
