berth_test(unit_handshake SOURCES handshake_epoch_test.cc handshake_messages_test.cc handshake_row_test.cc
           LIBS berth_core)
