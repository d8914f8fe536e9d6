# SPDX-License-Identifier: MIT
# cmake --install: the two programs, the rules, the unit and what an operator reads. The unit names
# /usr/bin, so a system installation uses --prefix /usr.
include(GNUInstallDirs)

foreach(program keysieved keysieve)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

if(TARGET keysieved)
  install(DIRECTORY deploy/rules/ DESTINATION ${CMAKE_INSTALL_DATADIR}/keysieve/rules
          FILES_MATCHING PATTERN "*.toml")
  foreach(kind prometheus grafana)
    if(EXISTS ${CMAKE_SOURCE_DIR}/deploy/${kind})
      install(DIRECTORY deploy/${kind} DESTINATION ${CMAKE_INSTALL_DATADIR}/keysieve)
    endif()
  endforeach()
  install(FILES deploy/systemd/keysieve.service DESTINATION lib/systemd/system)
  install(FILES deploy/systemd/keysieve.sysusers.conf
          DESTINATION lib/sysusers.d RENAME keysieve.conf)
  install(FILES deploy/systemd/software-vulkan.conf
          DESTINATION ${CMAKE_INSTALL_DATADIR}/keysieve)
  # Settings of the system's own installation belong in /etc, as the FHS has it.
  install(CODE [[
    set(ks_etc etc)
    if(CMAKE_INSTALL_PREFIX MATCHES "^/usr/?$")
      set(ks_etc ../etc)
    endif()]])
  install(FILES deploy/systemd/keysieved.toml DESTINATION "\${ks_etc}/keysieve")
endif()
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
