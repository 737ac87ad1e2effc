// Options of the MQTT transport from the configured broker account.
#pragma once

#include <string>

#include "core/status.h"
#include "firmware-host/config.h"
#include "transports/mqtt.h"

namespace berth {

// Logs a warning if the connection leaves this machine without TLS.
void warn_of_plaintext(const BrokerSettings& broker, Log& log);

// Reads the password file; the error names it. `client_id` must be unique: two clients with the same id would take over
// the session from each other again and again. `default_keepalive_s` applies if the settings have none.
Result<MqttOptions> mqtt_options(const BrokerSettings& broker, std::string client_id, int default_keepalive_s = 10);

}  // namespace berth
