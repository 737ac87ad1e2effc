// Events, as `get events` and `describe` show them.
#pragma once

#include <ostream>
#include <string>

#include "core/clock.h"
#include "firmware-host/ctl/commands.h"

namespace berth {

// "events", "event" or "ev": they are shown like a kind, but nobody applies or deletes them.
bool is_events(const std::string& kind);
// The events of the namespace, oldest first, as kubectl's columns or as List of Events.
Outcome<void> run_get_events(ApiClient& client, const CtlOptions& options, const Screen& screen);
// The events of one object, as an answer to `describe` has them; none: nothing is written.
void write_events(const Json::Array& events, std::ostream& out);
// "5s", "3m20s", "2h": a duration as kubectl shows it.
std::string age_text(Millis age);

}  // namespace berth
