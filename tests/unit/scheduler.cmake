berth_test(unit_scheduler
  SOURCES
    scheduler_binding_test.cc
    scheduler_disruption_test.cc
    scheduler_explain_test.cc
    scheduler_full_store_test.cc
    scheduler_forget_test.cc
    scheduler_gateway_shows_test.cc
    scheduler_gateway_test.cc
    scheduler_mirror_test.cc
    scheduler_overtaken_test.cc
    scheduler_objects_test.cc
    scheduler_permit_test.cc
    scheduler_places_test.cc
    scheduler_preemption_test.cc
    scheduler_provisioning_test.cc
    scheduler_report_test.cc
    scheduler_robustness_test.cc
    scheduler_room_test.cc
    scheduler_simulator_test.cc
    scheduler_stored_nodes_test.cc
    scheduler_turns_test.cc
    scheduler_candidates_test.cc
    scheduler_class_view_test.cc
  LIBS berth_core berth_plugins berth_storage)

berth_test(unit_crowd SOURCES scheduler_crowd_test.cc LIBS berth_core berth_plugins berth_storage)
target_compile_definitions(unit_crowd PRIVATE BERTH_CROWD=$<IF:$<OR:$<BOOL:${CMAKE_CROSSCOMPILING}>,$<BOOL:${BERTH_SANITIZE}>>,300,5000>)

# A program of its own: it counts every allocation.
berth_test(unit_allocation SOURCES scheduler_allocation_test.cc LIBS berth_core berth_plugins)
