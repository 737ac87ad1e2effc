berth_test(unit_ctl SOURCES ctl_table_test.cc ctl_text_test.cc ctl_options_test.cc LIBS berth_ctl_app)
if(EXISTS ${CMAKE_SOURCE_DIR}/firmware-host/yaml.h)
  berth_test(unit_ctl_client SOURCES ctl_client_test.cc LIBS berth_ctl_app berth_transports)
endif()
