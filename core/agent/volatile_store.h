// VolatileStore interface: what may outlive the agent, but is never in clear text on flash: Secrets.
#pragma once

#include <map>
#include <string>

namespace berth {

class VolatileStore {
 public:
  virtual ~VolatileStore() = default;
  // All that is there, by key.
  virtual std::map<std::string, std::string> load() = 0;
  // What cannot be written is logged: it is in memory as well.
  virtual void put(const std::string& key, const std::string& value) = 0;
  virtual void erase(const std::string& key) = 0;
  // Erases all that is there.
  virtual void clear() = 0;
};

}  // namespace berth
