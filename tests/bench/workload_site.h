// A gateway with its SQLite store, and devices in the same process that take every pod, run it and report that it is
// ready. Only the gateway's own work is measured: CPU between the messages that it is given and the end of the turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/gateway/gateway.h"
#include "core/timers.h"
#include "storage/sqlite_store.h"
#include "tests/bench/counted_io.h"
#include "tests/bench/ready_device.h"
#include "tests/bench/seams.h"

namespace berth::bench {

// Runs as the machine's clock does, and may be set forward.
class SkippingClock final : public Clock {
 public:
  Millis now() const override { return now_us() / 1000; }
  std::int64_t now_us() const override;
  Millis wall() const override { return kBooted + now(); }
  Millis skipped_ms = 0;

 private:
  static constexpr Millis kBooted = 1'750'000'000'000;
};

// Since start_phase().
struct PhaseCost {
  double cpu_s = 0;
  double longest_turn_ms = 0;
  std::uint64_t turns = 0;
  DiskUse disk;
};

class WorkloadSite {
 public:
  // Opens the store, starts the gateway and connects devices of so many nodes.
  WorkloadSite(const std::string& path, int nodes);

  void apply(Kind kind, const std::string& name, const std::string& manifest);
  // Turns until it is so, or nothing more happens: then it fails.
  void run_until(const std::function<bool()>& is_done, const char* what);
  // No message is under way.
  bool is_quiet() const { return arriving_.empty() && transport_.sent.empty(); }
  // What is under way arrives.
  void finish() {
    run_until([this] { return is_quiet(); }, "messages without end");
  }
  // So much time passes; the gateway runs when it asked to.
  void pass(Millis ms);

  void start_phase();
  PhaseCost cost() const;

  // Pods that their devices have told to run, and that nobody has deleted.
  std::size_t running() const { return running_; }
  std::size_t pods() const { return gateway_->objects().pods().all().size(); }
  // A number in the status of a workload; 0: it has none.
  std::int64_t count_of(Kind kind, const std::string& name, std::string_view field) const;

 private:
  // A pod as its device has it.
  struct DevicePod {
    std::string node;
    Text key, uid;
    bool runs;
  };
  static constexpr Millis kPatienceMs = 1'000'000;

  void receive(std::string topic, std::string payload);
  void turn();
  bool answer_all();
  std::vector<SlotReport> slots_of(const std::string& node) const;
  bool answer(const std::string& node, const std::string& payload);
  void connect(int nodes);

  GatewayOptions options_;
  Registry registry_;
  Topics topics_{"default"};
  Vias vias_;
  SkippingClock clock_;
  WarningLog log_;
  RecordingTransport transport_;
  Timers timers_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<Gateway> gateway_;
  std::vector<Message> arriving_;
  std::map<Epoch, DevicePod> taken_;
  std::size_t running_ = 0;
  PhaseCost cost_;
  DiskUse disk_before_;
};

}  // namespace berth::bench
