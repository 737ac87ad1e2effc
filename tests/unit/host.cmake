berth_test(unit_host_config SOURCES host_config_test.cc host_yaml_test.cc LIBS berth_host_config)
