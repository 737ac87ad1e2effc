# HOST: keepers are told apart by what /proc says of them, and under emulation it speaks of the emulator.
berth_test(unit_host_runtime SOURCES host_process_tree_test.cc host_runtime_test.cc LIBS berth_agent_runtime HOST)
berth_test(unit_host_workload SOURCES host_workload_test.cc LIBS berth_agent_runtime)
berth_test(unit_host_settings SOURCES host_settings_test.cc host_state_directory_test.cc LIBS berth_agent_settings)
