// Any bytes as a configuration file; the first byte selects the parser.
#include "firmware-host/config.h"
#include "firmware-host/gateway/scheduler_config.h"
#include "firmware-host/yaml.h"
#include "plugins/registry.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Registry registry = in_tree_registry();
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  switch (bytes[0] % 5) {
    case 0: static_cast<void>(parse_gateway_config("berthd.yaml", text)); break;
    case 1: static_cast<void>(parse_agent_config("agent.yaml", text)); break;
    case 2: static_cast<void>(parse_ctl_config("ctl.yaml", text)); break;
    case 3: static_cast<void>(parse_scheduler_config("scheduler.yaml", text, registry)); break;
    default: static_cast<void>(parse_yaml("objects.yaml", text)); break;
  }
  return 0;
}
