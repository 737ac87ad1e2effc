berth_test(unit_agent SOURCES agent_rules_test.cc agent_admission_test.cc agent_records_test.cc agent_handshake_test.cc
           agent_start_test.cc agent_reports_test.cc LIBS berth_core berth_storage)
