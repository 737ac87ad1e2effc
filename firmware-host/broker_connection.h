// From an account at the broker, as configured, to what the MQTT transport is given.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "firmware-host/config.h"
#include "transports/mqtt.h"

namespace berth {

// From the kernel; blocks only before its first entropy, in the first seconds of a boot.
std::uint64_t true_random();

// Reads the password file; the error names it. `client_id` should be one per program: a second client of the same name
// would take the session over, again and again. `usual_keepalive_s`: when the settings name none.
Result<MqttOptions> mqtt_options(const BrokerSettings& broker, std::string client_id, int usual_keepalive_s = 10);

}  // namespace berth
