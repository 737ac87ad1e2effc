#include "firmware-host/agent/images/day_budget.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "core/json/json.h"
#include "core/json/members.h"
#include "firmware-host/agent/images/store_files.h"
#include "firmware-host/agent/pod_state.h"

namespace berth {

namespace {

constexpr Millis kDayMs = 86'400'000;
constexpr std::size_t kBudgetBytesMax = 1024;

std::int64_t integer_of(const Json& json, std::string_view key) {
  const Json& value = member(json, key);
  return value.is_integer() ? value.as_int() : 0;
}

using SharedNumber = std::atomic<std::int64_t>;

std::shared_ptr<SharedNumber> shared_number() {
  void* memory = mmap(nullptr, sizeof(SharedNumber), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {new (memory) SharedNumber(0), [](SharedNumber* number) { munmap(number, sizeof *number); }};
}

}  // namespace

DayBudget::DayBudget(std::string directory, std::int64_t limit, const Clock& clock)
    : directory_(std::move(directory)), limit_(limit), clock_(clock) {
  if (limit_ <= 0) return;
  left_ = shared_number();
  *left_ = limit_;
  const Result<std::string> text = StoreFiles::read(directory_ + "/" + kFile, kBudgetBytesMax);
  const Result<Json> json = text ? Json::parse(*text) : Result<Json>(text.error());
  if (!json) return;
  day_ = integer_of(*json, "day");
  bytes_ = integer_of(*json, "bytes");
  *left_ -= bytes_;
}

// Below 0: of this boot. A device whose clock is never set would have the bytes of one day for all of its life.
std::int64_t DayBudget::today() const {
  return is_clock_set(clock_.wall()) ? clock_.wall() / kDayMs : -1 - clock_.now() / kDayMs;
}

// What was promised yesterday, and has not come yet, counts today.
void DayBudget::begin_day() {
  if (day_ == today()) return;
  day_ = today();
  *left_ += std::exchange(bytes_, 0);
}

std::int64_t DayBudget::allowed() {
  if (left_ == nullptr) return -1;
  begin_day();
  return std::max<std::int64_t>(0, *left_);
}

void DayBudget::give_back(std::int64_t bytes) {
  if (left_ != nullptr) *left_ += bytes;
}

void DayBudget::note(std::int64_t bytes) {
  if (left_ == nullptr) return;
  begin_day();
  if (bytes <= 0) return;
  bytes_ += bytes;
  const std::string text = Json::object().set("day", Json(day_)).set("bytes", Json(bytes_)).dump();
  if (replace_file(directory_, kFile, text, false)) return;  // the disk is full: nothing is fetched then either
}

}  // namespace berth
