berth_test(unit_ctl
  SOURCES ctl_client_test.cc ctl_connection_test.cc ctl_explain_test.cc ctl_manifest_test.cc ctl_options_test.cc ctl_table_test.cc
          ctl_text_test.cc
  LIBS berth_ctl_app)
