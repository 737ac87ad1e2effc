berth_test(unit_core SOURCES core_key_index_test.cc core_places_test.cc core_metrics_test.cc core_recycled_test.cc LIBS berth_core)
