#include "core/timers.h"

#include <utility>

namespace berth {

Timers::Id Timers::at(Millis deadline, std::function<void()> run) {
  const Id id = ++last_id_;
  due_.emplace(std::make_pair(deadline, id), std::move(run));
  deadline_of_.emplace(id, deadline);
  return id;
}

void Timers::cancel(Id& id) {
  if (auto found = deadline_of_.find(id); found != deadline_of_.end()) {
    due_.erase({found->second, id});
    deadline_of_.erase(found);
  }
  id = 0;
}

std::optional<Millis> Timers::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.first;
}

int Timers::run_due(Millis now, const std::function<bool()>& enough) {
  int ran = 0;
  while (!due_.empty() && due_.begin()->first.first <= now) {
    auto first = due_.begin();
    std::function<void()> run = std::move(first->second);
    deadline_of_.erase(first->first.second);
    due_.erase(first);
    run();
    ++ran;
    if (enough && enough()) break;
  }
  return ran;
}

}  // namespace berth
