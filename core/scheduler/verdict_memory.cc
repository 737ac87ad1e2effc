#include "core/scheduler/verdict_memory.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace berth {

namespace {

constexpr std::int64_t kNever = -1;

bool is_same(const Container& a, const Container& b) {
  return std::tie(a.image, a.host_ports, a.own_ports, a.requests, a.limits, a.restart_always) ==
         std::tie(b.image, b.host_ports, b.own_ports, b.requests, b.limits, b.restart_always);
}

bool is_same(const DiskSource& a, const DiskSource& b) {
  return std::tie(a.type, a.id, a.pool, a.monitors, a.read_only) ==
         std::tie(b.type, b.id, b.pool, b.monitors, b.read_only);
}

bool is_same(const PodVolume& a, const PodVolume& b) {
  return std::tie(a.name, a.claim_name, a.ephemeral) == std::tie(b.name, b.claim_name, b.ephemeral) &&
         is_same(a.disk, b.disk);
}

template <class T>
bool all_same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return is_same(x, y); });
}

template <class T>
void move_column(std::vector<T>& column, const std::vector<std::size_t>& from, const T& unknown) {
  std::vector<T> moved;
  moved.reserve(from.size());
  for (const std::size_t place : from) moved.push_back(place < column.size() ? std::move(column[place]) : unknown);
  column = std::move(moved);
}

}  // namespace

bool is_same_class(const Pod& a, const Pod& b) {
  const auto asks = [](const Pod& pod) {
    return std::tie(pod.metadata.namespace_, pod.metadata.labels, pod.metadata.controller_uid, pod.scheduler_name,
                    pod.priority, pod.preemption_policy, pod.node_name, pod.node_selector, pod.requests, pod.limits,
                    pod.overhead, pod.host_network);
  };
  const auto wants = [](const Pod& pod) {
    return std::tie(pod.required_node_affinity, pod.preferred_node_affinity, pod.pod_affinity, pod.pod_anti_affinity,
                    pod.topology_spread_constraints, pod.tolerations);
  };
  return asks(a) == asks(b) && wants(a) == wants(b) && all_same(a.containers, b.containers) &&
         all_same(a.init_containers, b.init_containers) && all_same(a.volumes, b.volumes);
}

ClassVerdicts::ClassVerdicts(const Framework& framework, const Pod& pod) : framework_(framework), pod_(pod) {
  pod_.manifest = {};
  raw_.resize(framework.score_count());
}

bool ClassVerdicts::is_of(const Framework& framework, const Pod& pod) const {
  return &framework == &framework_ && is_same_class(pod, pod_);
}

// Columns follow their nodes when nodes came, went or moved; a verdict is recognised by its generation.
void ClassVerdicts::remap(const Snapshot& snapshot) {
  const auto places_of = [&snapshot](const std::vector<std::int64_t>& generations) {
    std::vector<std::pair<std::int64_t, std::size_t>> places;
    for (std::size_t i = 0; i < generations.size(); ++i) places.emplace_back(generations[i], i);
    std::sort(places.begin(), places.end());
    std::vector<std::size_t> from;
    for (const std::int64_t generation : snapshot.generations()) {
      const auto found =
          std::lower_bound(places.begin(), places.end(), std::pair<std::int64_t, std::size_t>(generation, 0));
      from.push_back(found != places.end() && found->first == generation ? found->second : generations.size());
    }
    return from;
  };
  const std::vector<std::size_t> verdicts = places_of(filtered_);
  const std::vector<std::size_t> scores = places_of(scored_);
  move_column(filtered_, verdicts, kNever);
  move_column(rejected_, verdicts, std::shared_ptr<const Status>());
  move_column(scored_, scores, kNever);
  for (auto& column : raw_) move_column(column, scores, std::int64_t{0});
  late_.assign(verdicts.size(), nullptr);
  order_.clear();
}

void ClassVerdicts::follow(const Snapshot& snapshot) {
  const bool moved = std::exchange(structure_, snapshot.structure()) != snapshot.structure();
  const bool repainted = std::exchange(images_changed_, snapshot.images_changed()) != snapshot.images_changed();
  if (moved) remap(snapshot);
  if (repainted || (moved && !snapshot.images().empty())) std::fill(scored_.begin(), scored_.end(), kNever);
  current_ = snapshot.generations();
}

Status ClassVerdicts::filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, std::size_t start) {
  follow(snapshot);
  if (state.skip_filter != skip_filter_) {
    skip_filter_ = state.skip_filter;
    std::fill(filtered_.begin(), filtered_.end(), kNever);
  }
  const auto& nodes = snapshot.nodes();
  const std::size_t declared = framework_.filters_by_node();
  const bool only_declared = framework_.skips_filters_from(state, declared);
  std::fill(late_.begin(), late_.end(), nullptr);
  for (std::size_t turn = 0; turn < nodes.size(); ++turn) {
    const std::size_t i = start + turn < nodes.size() ? start + turn : start + turn - nodes.size();
    if (filtered_[i] != current_[i]) {
      Status status = framework_.run_filters_between(state, pod, *nodes[i], 0, declared);
      if (status.code() == Code::error) return status;
      rejected_[i] = status.is_success() ? nullptr : std::make_shared<const Status>(std::move(status));
      filtered_[i] = current_[i];
    }
    if (only_declared || rejected_[i] != nullptr) continue;
    Status status = framework_.run_filters_between(state, pod, *nodes[i], declared, framework_.filter_count());
    if (status.code() == Code::error) return status;
    if (!status.is_success()) late_[i] = std::make_shared<const Status>(std::move(status));
  }
  list_feasible(snapshot, start);
  return {};
}

void ClassVerdicts::list_feasible(const Snapshot& snapshot, std::size_t start) {
  const auto& nodes = snapshot.nodes();
  std::size_t found = 0;
  for (std::size_t turn = 0; turn < nodes.size(); ++turn) {
    const std::size_t i = start + turn < nodes.size() ? start + turn : start + turn - nodes.size();
    if (rejected_[i] != nullptr || late_[i] != nullptr) continue;
    if (found == order_.size()) order_.push_back(nodes.size());
    if (found == feasible_.size()) {
      feasible_.emplace_back();
      totals_.emplace_back();
    }
    if (order_[found] != i) totals_[found].node = nodes[i]->name();
    order_[found] = i;
    if (feasible_[found] != nodes[i]) feasible_[found] = nodes[i];
    ++found;
  }
  order_.resize(found);
  feasible_.resize(found);
  totals_.resize(found);
}

Status ClassVerdicts::score_changed(CycleState& state, const Pod& pod) {
  if (state.skip_score != skip_score_) {
    skip_score_ = state.skip_score;
    std::fill(scored_.begin(), scored_.end(), kNever);
  }
  for (auto& column : raw_) column.resize(current_.size());
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const std::size_t i = order_[place];
    if (scored_[i] == current_[i]) continue;
    for (std::size_t plugin = 0; plugin < raw_.size(); ++plugin) {
      if (framework_.score_reads(plugin) == Reads::anything || framework_.skips_score(state, plugin)) continue;
      Status status = framework_.run_one_score(state, pod, *feasible_[place], plugin, raw_[plugin][i]);
      if (!status.is_success()) return Status::error(status.message());
    }
    scored_[i] = current_[i];
  }
  return {};
}

Status ClassVerdicts::add_up(CycleState& state, const Pod& pod, std::size_t plugin) {
  const bool declared = framework_.score_reads(plugin) != Reads::anything;
  scratch_.resize(order_.size());
  for (std::size_t place = 0; place < order_.size(); ++place) {
    NodeScore& each = scratch_[place];
    if (declared) {
      each.score = raw_[plugin][order_[place]];
      continue;
    }
    each.node = totals_[place].node;
    each.score = 0;
    Status status = framework_.run_one_score(state, pod, *feasible_[place], plugin, each.score);
    if (!status.is_success()) return Status::error(status.message());
  }
  Status status = framework_.run_one_normalize(state, pod, plugin, scratch_);
  if (!status.is_success()) return Status::error(status.message());
  const std::int64_t weight = framework_.score_weight(plugin);
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const std::int64_t score = scratch_[place].score;
    if (score < 0 || score > ScorePlugin::kMaxScore) return Status::error("a score is out of range");
    totals_[place].score += score * weight;
  }
  return {};
}

Status ClassVerdicts::score(CycleState& state, const Pod& pod) {
  if (Status status = score_changed(state, pod); !status.is_success()) return status;
  for (NodeScore& total : totals_) total.score = 0;
  for (std::size_t plugin = 0; plugin < raw_.size(); ++plugin) {
    if (framework_.skips_score(state, plugin)) continue;
    if (Status status = add_up(state, pod, plugin); !status.is_success()) return status;
  }
  return {};
}

ClassVerdicts& VerdictMemory::of(const Framework& framework, const Pod& pod) {
  auto found =
      std::find_if(classes_.begin(), classes_.end(), [&](const auto& each) { return each->is_of(framework, pod); });
  if (found == classes_.end()) {
    if (classes_.size() == kClasses) classes_.pop_back();
    found = classes_.insert(classes_.end(), std::make_unique<ClassVerdicts>(framework, pod));
  }
  std::rotate(classes_.begin(), found, found + 1);
  return *classes_.front();
}

void VerdictMemory::forget(const ClassVerdicts& verdicts) {
  std::erase_if(classes_, [&verdicts](const auto& each) { return each.get() == &verdicts; });
}

}  // namespace berth
