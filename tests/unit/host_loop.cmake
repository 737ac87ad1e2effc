berth_test(unit_host_loop SOURCES host_loop_test.cc host_service_manager_test.cc LIBS berth_host)
