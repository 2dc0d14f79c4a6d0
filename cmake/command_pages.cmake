# Manual pages and completions: the command prints them itself, from the descriptions in its options.
set(HOMING_SHARE ${CMAKE_BINARY_DIR}/share)
set(made ${CMAKE_CURRENT_BINARY_DIR}/command_pages.made)
set(completions ${HOMING_SHARE}/bash-completion/completions ${HOMING_SHARE}/zsh/site-functions
                ${HOMING_SHARE}/fish/vendor_completions.d)
add_custom_command(
  OUTPUT ${made}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${HOMING_SHARE}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
  COMMAND homing_cli manual --folder ${HOMING_SHARE}/man/man1
  COMMAND homing_cli completions bash > ${HOMING_SHARE}/bash-completion/completions/homing
  COMMAND homing_cli completions zsh > ${HOMING_SHARE}/zsh/site-functions/_homing
  COMMAND homing_cli completions fish > ${HOMING_SHARE}/fish/vendor_completions.d/homing.fish
  # The lab's own, if there is a Python that runs it.
  COMMAND sh -c "HOMING_LAB_VENV='${venv}' '${CMAKE_SOURCE_DIR}/lab/homing-lab' manual \
                 > homing-lab.1 2>/dev/null && mv homing-lab.1 '${HOMING_SHARE}/man/man1' || rm -f homing-lab.1"
  COMMAND ${CMAKE_COMMAND} -E touch ${made}
  DEPENDS homing_cli ${CMAKE_SOURCE_DIR}/lab/homing_lab/cli.py ${CMAKE_SOURCE_DIR}/lab/homing_lab/report/command.py
  VERBATIM)
add_custom_target(homing_command_pages ALL DEPENDS ${made})
