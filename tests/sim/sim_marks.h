// SimMarks: the mark of a store, kept beside the flash, as a file of its own would be: it survives what happens to the
// store. SimTime: likewise a device's time floor.
#pragma once

#include <optional>
#include <utility>

#include "core/store_mark.h"
#include "core/time_floor.h"
#include "tests/sim/process.h"

namespace berth::sim {

class SimMarks final : public StoreMarks {
 public:
  // A program of the mutant `blind` does not look at it.
  SimMarks(const SimEnvironment& world, Mutant blind) : world_(world), blind_(blind) {}
  std::optional<StoreMark> read() override { return world_.mutant == blind_ ? std::nullopt : mark_; }
  // As it was when the store was copied.
  void put_back(std::optional<StoreMark> mark) { mark_ = std::move(mark); }
  const std::optional<StoreMark>& kept() const { return mark_; }
  bool write(const StoreMark& mark) override {
    mark_ = mark;
    return true;
  }

 private:
  const SimEnvironment& world_;
  const Mutant blind_;
  std::optional<StoreMark> mark_;
};

class SimTime final : public TimeMemory {
 public:
  Millis read() override { return time_; }
  bool write(Millis time) override {
    time_ = time;
    return true;
  }

 private:
  Millis time_ = 0;
};

}  // namespace berth::sim
