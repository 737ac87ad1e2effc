berth_test(unit_api
  SOURCES
    api_decode_affinity_test.cc
    api_decode_kinds_test.cc
    api_decode_other_test.cc
    api_decode_pod_test.cc
    api_defaults_test.cc
    api_field_reader_test.cc
    api_json_test.cc
    api_mutation_test.cc
    api_quantity_test.cc
    api_selector_test.cc
    api_timestamp_test.cc
  LIBS berth_core
)
berth_test(unit_api_packed SOURCES api_packed_test.cc api_shared_test.cc LIBS berth_core)
