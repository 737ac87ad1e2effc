# The three Debian packages, built by `cpack` in a build directory. Dependencies are listed here, because dpkg-shlibdeps reads
# the native package database, which does not have the libraries of a cross build.
include(GNUInstallDirs)
set(here ${CMAKE_CURRENT_LIST_DIR})

install(TARGETS berthd RUNTIME DESTINATION sbin COMPONENT gateway)
install(FILES ${here}/berth-gateway.service DESTINATION /lib/systemd/system COMPONENT gateway)
install(FILES ${here}/berthd.yaml DESTINATION /etc/berth COMPONENT gateway)
install(FILES ${here}/mosquitto.conf DESTINATION share/berth-gateway COMPONENT gateway)
install(TARGETS berth-agent RUNTIME DESTINATION sbin COMPONENT agent)
install(FILES ${here}/berth-agent.service DESTINATION /lib/systemd/system COMPONENT agent)
install(TARGETS berthctl RUNTIME DESTINATION bin COMPONENT ctl)
install(FILES ${here}/berthctl.bash-completion DESTINATION share/bash-completion/completions RENAME berthctl
        COMPONENT ctl)

find_program(BERTH_GZIP gzip REQUIRED)
foreach(page berthd.8:gateway berth-agent.8:agent berthctl.1:ctl)
  string(REGEX MATCH "([^:]+\\.([0-9])):(.*)" unused ${page})
  set(name ${CMAKE_MATCH_1})
  set(section ${CMAKE_MATCH_2})
  set(component ${CMAKE_MATCH_3})
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/man/${name}.gz
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
    COMMAND ${BERTH_GZIP} -9n -c ${here}/${name} > ${CMAKE_BINARY_DIR}/man/${name}.gz
    DEPENDS ${here}/${name})
  list(APPEND pages ${CMAKE_BINARY_DIR}/man/${name}.gz)
  install(FILES ${CMAKE_BINARY_DIR}/man/${name}.gz DESTINATION share/man/man${section} COMPONENT ${component})
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/berth-${component} RENAME copyright
          COMPONENT ${component})
  install(FILES ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION share/doc/berth-${component} COMPONENT ${component})
endforeach()
add_custom_target(berth_man ALL DEPENDS ${pages})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME berth)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Berth developers <berth@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL gateway agent ctl)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(BERTH_ARCH)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${BERTH_ARCH})
endif()

set(common "libc6 (>= 2.36), libstdc++6 (>= 12), libgcc-s1, libcjson1 (>= 1.7.15), libmosquitto1 (>= 2.0.11), libssl3 (>= 3.0), libyaml-0-2")
set(CPACK_DEBIAN_GATEWAY_PACKAGE_NAME berth-gateway)
set(CPACK_DEBIAN_GATEWAY_DESCRIPTION
    "scheduler of a fleet of edge devices\n kube-scheduler's decisions over MQTT, in a few megabytes. Binds pods and their local volumes to devices that run\n berth-agent, and survives power cuts, dead links and sleeping devices.")
set(CPACK_DEBIAN_GATEWAY_PACKAGE_DEPENDS
    "${common}, libhttp-parser2.9, libsqlite3-0 (>= 3.40), mosquitto (>= 2.0.11), adduser, init-system-helpers (>= 1.60), berth-ctl (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_GATEWAY_PACKAGE_CONTROL_EXTRA "${CMAKE_BINARY_DIR}/deb/gateway/postinst;${CMAKE_BINARY_DIR}/deb/gateway/prerm;${CMAKE_BINARY_DIR}/deb/gateway/postrm;${CMAKE_BINARY_DIR}/deb/gateway/conffiles")
set(CPACK_DEBIAN_AGENT_PACKAGE_NAME berth-agent)
set(CPACK_DEBIAN_AGENT_DESCRIPTION
    "runs the pods that a Berth gateway binds to this device\n Admits pods, prepares their volumes and runs their containers as processes that outlive agent and gateway.")
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "${common}, libsqlite3-0 (>= 3.40), init-system-helpers (>= 1.60)")
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA "${CMAKE_BINARY_DIR}/deb/agent/postinst;${CMAKE_BINARY_DIR}/deb/agent/prerm;${CMAKE_BINARY_DIR}/deb/agent/postrm")
set(CPACK_DEBIAN_CTL_PACKAGE_NAME berth-ctl)
set(CPACK_DEBIAN_CTL_DESCRIPTION
    "command line tool of Berth\n Applies, shows, explains and deletes the objects of a fleet, and enrolls devices.")
set(CPACK_DEBIAN_CTL_PACKAGE_DEPENDS "${common}, mosquitto (>= 2.0.11) | mosquitto-clients, openssl")
# dpkg expects the scripts without the package prefix.
foreach(package gateway agent)
  foreach(script postinst prerm postrm conffiles)
    if(EXISTS ${here}/berth-${package}.${script})
      configure_file(${here}/berth-${package}.${script} ${CMAKE_BINARY_DIR}/deb/${package}/${script} COPYONLY)
    endif()
  endforeach()
endforeach()
include(CPack)
