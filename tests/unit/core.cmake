berth_test(unit_core SOURCES core_metrics_test.cc LIBS berth_core)
