#include "core/fastpath/object_answers.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"

namespace berth {

namespace {

void set(ObjectAnswer& answer, std::size_t index, std::int32_t value) {
  if (answer.uniform && answer.same == value) return;
  if (answer.uniform && answer.nodes > 1) answer.values.assign(answer.nodes, answer.same);
  if (answer.nodes > 1) answer.uniform = false;
  if (answer.uniform) {
    answer.same = value;
  } else {
    answer.values[index] = value;
  }
}

void resize(ObjectAnswer& answer, std::size_t nodes) {
  answer.nodes = nodes;
  if (!answer.uniform) answer.values.resize(nodes);
}

// All at once; `answer.values` has them.
void note_all(ObjectAnswer& answer) {
  const auto& values = answer.values;
  answer.nodes = values.size();
  answer.uniform = values.empty() || std::equal(values.begin() + 1, values.end(), values.begin());
  if (!answer.uniform) return;
  answer.same = values.empty() ? 0 : values.front();
  answer.values = {};
}

// Updates the answers by `ask_one` for objects that changed, or by `ask_all`. False: the plugin failed.
template <class AskOne, class AskAll>
bool follow(ObjectAnswer& answer, const Snapshot& snapshot, AskOne ask_one, AskAll ask_all) {
  const auto& changes = snapshot.object_changes();
  if (changes.made() == answer.object_changes_made) return true;
  bool holds = answer.object_changes_made >= 0 && changes.reaches(answer.object_changes_made);
  const auto missed = holds ? changes.since(answer.object_changes_made) : changes.last(0);
  for (auto change = missed.begin(); holds && change != missed.end(); ++change) {
    using Kind = Snapshot::ObjectChange::Kind;
    if (change->kind == Kind::went) resize(answer, change->index);
    if (change->kind == Kind::came) resize(answer, change->index + 1);
    if (change->kind == Kind::went || change->index >= snapshot.nodes().size()) continue;
    std::int32_t value = 0;
    holds = ask_one(change->index, value);
    if (holds) set(answer, change->index, value);
  }
  if (!holds) {
    answer.values.assign(snapshot.nodes().size(), 0);
    if (!ask_all(answer.values)) {
      answer.object_changes_made = -1;
      return false;
    }
    note_all(answer);
  }
  answer.object_changes_made = changes.made();
  return true;
}

template <class AskOne>
bool ask_each(std::vector<std::int32_t>& values, AskOne ask_one) {
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (!ask_one(index, values[index])) return false;
  }
  return true;
}

}  // namespace

ObjectAnswers::ObjectAnswers(const Framework& framework)
    : framework_(framework), of_filters_(framework.filters().size()), of_scores_(framework.scores().size()) {}

std::shared_ptr<ObjectAnswer> ObjectAnswers::find(Answers& answers, const Plugin& plugin, const PodPtr& kept_pod) {
  auto found = std::find_if(answers.begin(), answers.end(),
                            [&](const auto& each) { return !plugin.tells_apart(*each->pod, *kept_pod); });
  if (found == answers.end()) {
    if (answers.size() == kKept) answers.pop_back();
    answers.push_back(std::make_shared<ObjectAnswer>());
    found = answers.end() - 1;
    (*found)->pod = kept_pod;
  }
  std::rotate(answers.begin(), found, found + 1);
  return answers.front();
}

std::shared_ptr<ObjectAnswer> ObjectAnswers::of_filter(std::size_t place, const PodPtr& kept_pod) {
  return find(of_filters_[place], *framework_.filters()[place].plugin, kept_pod);
}

std::shared_ptr<ObjectAnswer> ObjectAnswers::of_score(std::size_t place, const PodPtr& kept_pod) {
  return find(of_scores_[place], *framework_.scores()[place].plugin, kept_pod);
}

bool ObjectAnswers::follow_filter(std::size_t place, ObjectAnswer& answer, CycleState& state, const Pod& pod,
                                  const Snapshot& snapshot) {
  const auto& entry = framework_.filters()[place];
  const auto ask_one = [&](std::size_t index, std::int32_t& rejects) {
    entry.count();
    const Status status = entry.plugin->filter(state, pod, *snapshot.nodes()[index]);
    rejects = status.is_success() ? 0 : 1;
    return status.is_success() || status.is_rejected();
  };
  const auto ask_all = [&](std::vector<std::int32_t>& values) {
    rejects_.assign(values.size(), 0);
    if (entry.batch_filter == nullptr ||
        !entry.batch_filter->filter_rows(state, pod, snapshot, Rows::all(snapshot), rejects_.data())) {
      return ask_each(values, ask_one);
    }
    entry.count(values.size());
    std::copy(rejects_.begin(), rejects_.end(), values.begin());
    return true;
  };
  return follow(answer, snapshot, ask_one, ask_all);
}

bool ObjectAnswers::follow_score(std::size_t place, ObjectAnswer& answer, CycleState& state, const Pod& pod,
                                 const Snapshot& snapshot) {
  const auto& entry = framework_.scores()[place];
  const auto ask_one = [&](std::size_t index, std::int32_t& score) {
    entry.count();
    std::int64_t whole = 0;
    const Status status = entry.plugin->score(state, pod, *snapshot.nodes()[index], whole);
    score = static_cast<std::int32_t>(whole);
    return status.is_success() && std::in_range<std::int32_t>(whole);
  };
  const auto ask_all = [&](std::vector<std::int32_t>& values) {
    if (entry.batch_score == nullptr ||
        !entry.batch_score->score_rows(state, pod, snapshot, Rows::all(snapshot), values.data())) {
      return ask_each(values, ask_one);
    }
    entry.count(values.size());
    return true;
  };
  return follow(answer, snapshot, ask_one, ask_all);
}

}  // namespace berth
