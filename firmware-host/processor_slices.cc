#include "firmware-host/processor_slices.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace berth {

namespace {

// sched_setattr(2), for which the C library has no names.
struct Attributes {
  std::uint32_t size = 0;
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
  std::uint32_t utilization_min = 0;
  std::uint32_t utilization_max = 0;
};

void take(std::uint64_t slice_us) {
  Attributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // elsewhere it means something else
  attributes.runtime_ns = slice_us * 1000;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

void take_short_slices() { take(kShortSliceUs); }

void take_usual_slices() { take(0); }

}  // namespace berth
