#include "firmware-host/broker_connection.h"

#include <utility>

#include "firmware-host/loopback_address.h"
#include "firmware-host/state_directory.h"
#include "firmware-host/true_random.h"

namespace berth {

void warn_of_plaintext(const BrokerSettings& broker, Log& log) {
  if (is_loopback(broker.host) || !broker.ca_file.empty()) return;
  log.write(Level::warn, "connection to the broker without encryption: passwords and pods can be read and changed",
            {{"broker", broker.host + ":" + std::to_string(broker.port)},
             {"fix", "set broker.tls.ca_file; `berthctl enroll` on the gateway writes such a configuration"}});
}

Result<MqttOptions> mqtt_options(const BrokerSettings& broker, std::string client_id, int default_keepalive_s) {
  MqttOptions options;
  options.host = broker.host;
  options.port = broker.port;
  options.client_id = std::move(client_id);
  options.username = broker.username;
  options.tls = {broker.ca_file, broker.cert_file, broker.key_file};
  options.keepalive_s = broker.keepalive_s.value_or(default_keepalive_s);
  options.seed = true_random();
  if (broker.password_file.empty()) return options;
  Result<std::string> password = read_first_line(broker.password_file);
  if (!password) return password.error();
  options.password = std::move(*password);
  return options;
}

}  // namespace berth
