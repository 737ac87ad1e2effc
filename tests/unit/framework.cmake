berth_test(unit_cache SOURCES cache_cache_test.cc cache_node_info_test.cc cache_order_test.cc LIBS berth_core)
berth_test(unit_framework SOURCES framework_domains_test.cc framework_events_test.cc framework_make_test.cc framework_profile_test.cc framework_runner_test.cc framework_status_table_test.cc LIBS berth_core)
berth_test(unit_queue SOURCES queue_due_test.cc queue_property_test.cc queue_queue_test.cc LIBS berth_core)
berth_test(unit_scheduling_cycle SOURCES scheduler_attempt_test.cc scheduler_explanation_test.cc scheduler_reservation_test.cc scheduler_scheduling_cycle_test.cc LIBS berth_core)
berth_test(unit_plugins SOURCES plugins_filters_test.cc plugins_imagelocality_test.cc plugins_interpodaffinity_test.cc
           plugins_nodeaffinity_test.cc plugins_nodeports_test.cc plugins_noderesources_columns_test.cc
           plugins_noderesources_fit_test.cc
           plugins_noderesources_scoring_test.cc plugins_nodevolumelimits_test.cc
           plugins_podtopologyspread_test.cc plugins_volume_index_test.cc
           plugins_volumebinding_provision_test.cc plugins_volumebinding_test.cc
           plugins_volumerestrictions_test.cc plugins_volumezone_test.cc
           LIBS berth_plugins)
berth_test(unit_preemption SOURCES plugins_defaultpreemption_property_test.cc plugins_defaultpreemption_test.cc
           LIBS berth_plugins)
