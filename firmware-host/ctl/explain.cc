// explain and plan: why a pod is or is not on a node, and where one would be placed.
#include "firmware-host/ctl/explain.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/json/findings.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/table.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/yaml.h"

namespace berth {

namespace {

constexpr std::size_t kNamesShown = 8;

std::int64_t number(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* found = field(object, path);
  return found != nullptr && found->is_integer() ? found->as_int() : 0;
}

// 4812 -> "4,812".
std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    if (text[at - 1] != '-') text.insert(at, ",");
  }
  return text;
}

std::string counted(std::int64_t count, const std::string& thing) {
  return grouped(count) + " " + thing + (count == 1 ? "" : "s");
}

// A duration for people, rounded up to seconds.
std::string duration_text(std::int64_t ms) {
  const std::int64_t seconds = (std::max<std::int64_t>(ms, 0) + 999) / 1000;
  if (seconds < 120) return std::to_string(seconds) + " s";
  return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
}

std::string table(const std::vector<Cells>& rows) {
  TableWriter writer;
  std::string text;
  for (const Cells& row : rows) writer.measure(row);
  for (const Cells& row : rows) text += writer.line(row);
  return text;
}

std::string names_of(const Json& group) {
  const Json::Array& names = list_field(group, {"names"});
  const std::size_t shown = std::min(names.size(), kNamesShown);
  const Json::Array first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown));
  const std::int64_t more = number(group, {"count"}) - static_cast<std::int64_t>(shown);
  return join_texts(first, ", ") + (more > 0 ? " and " + grouped(more) + " more" : "");
}

std::string choice_text(const Json& trial) {
  const std::string why = text_field(trial, {"chosen", "why"});
  if (why == "highest total") return "highest total, " + text_field(trial, {"chosen", "total"});
  if (why == "drawn among equals") {
    return "chosen at random among " + text_field(trial, {"chosen", "ties"}) + " equal totals of " +
           text_field(trial, {"chosen", "total"}) + ", seed " + text_field(trial, {"chosen", "seed"});
  }
  return "the " + why;
}

std::string outcome_text(const Json& trial) {
  if (!true_field(trial, {"fits"})) return text_field(trial, {"message"});
  return "fits on node " + text_field(trial, {"node"}) + ": " + choice_text(trial);
}

// The first lines: the current state, and the result of the trial if it differs.
std::string headline(const Json& answer) {
  const Json* trial = answer.find("trial");
  const std::string now = trial == nullptr ? "" : outcome_text(*trial);
  if (true_field(answer, {"placed"})) {
    const std::string phase = text_field(answer, {"placement", "phase"});
    const std::string epoch = text_field(answer, {"placement", "epoch"});
    const std::string node = text_field(answer, {"placement", "node"});
    return (phase == "finished" ? "finished" : "placed") + (node.empty() ? "" : " on node " + node) +
           (epoch.empty() ? "" : ", " + phase + ", epoch " + epoch) +
           "\nif scheduled now, without counting itself: " + now + "\n";
  }
  const std::string why = text_field(answer, {"why"});
  const std::string gate = text_field(answer, {"gate"});
  if (!gate.empty())
    return "would be gated by " + text_field(answer, {"gatedBy"}) + ": " + gate + "\nthen: " + now + "\n";
  if (why.empty()) return now + "\n";
  return why + "\n" + (now.empty() || now == why ? "" : "if scheduled now: " + now + "\n");
}

std::string groups_text(const Json& trial) {
  const Json::Array& groups = list_field(trial, {"groups"});
  if (groups.empty()) return {};
  std::vector<Cells> rows = {{"NODES", "VERDICT", "PLUGIN", "REASON", "WHICH"}};
  for (const Json& group : groups) {
    const std::string plugin = text_field(group, {"plugin"});
    const std::string reasons = join_texts(list_field(group, {"reasons"}), ", ");
    rows.push_back({grouped(number(group, {"count"})), text_field(group, {"verdict"}), plugin.empty() ? "-" : plugin,
                    reasons.empty() ? "-" : reasons, names_of(group)});
  }
  std::string text = "\n" + table(rows);
  if (const std::int64_t more = number(trial, {"moreGroups"}); more > 0) {
    text += "and " + counted(number(trial, {"moreGroupNodes"}), "more node") + " for " + counted(more, "other reason") +
            "\n";
  }
  return text;
}

std::string filters_text(const Json& trial) {
  std::string text;
  for (const Json& group : list_field(trial, {"groups"})) {
    std::vector<Cells> rows;
    for (const Json& filter : list_field(group, {"filters"})) {
      const std::string reasons = join_texts(list_field(filter, {"reasons"}), ", ");
      rows.push_back(
          {"  " + text_field(filter, {"plugin"}), text_field(filter, {"code"}), reasons.empty() ? "-" : reasons});
    }
    if (!rows.empty()) text += "\nall filters for " + printable(names_of(group)) + ":\n" + table(rows);
  }
  return text;
}

std::string score_cell(const Json& row, std::size_t at) {
  const Json::Array& normalized = list_field(row, {"normalized"});
  const Json::Array& raw = list_field(row, {"raw"});
  if (at >= normalized.size()) return "-";
  std::string text = normalized[at].dump();
  if (at < raw.size() && !raw[at].is_null() && raw[at] != normalized[at]) text += " (" + raw[at].dump() + ")";
  return text;
}

std::string scores_text(const Json& trial) {
  const Json::Array& plugins = list_field(trial, {"scores", "plugins"});
  if (list_field(trial, {"scores", "rows"}).empty()) return {};
  std::vector<Cells> rows = {{"  NODE", "TOTAL"}};
  for (const Json& plugin : plugins) {
    rows[0].push_back(text_field(plugin, {"name"}) + " x" + text_field(plugin, {"weight"}));
  }
  const std::string winner = text_field(trial, {"node"});
  for (const Json& row : list_field(trial, {"scores", "rows"})) {
    const std::string node = text_field(row, {"node"});
    Cells cells = {(node == winner ? "* " : "  ") + node, text_field(row, {"total"})};
    for (std::size_t i = 0; i < plugins.size(); ++i) cells.push_back(score_cell(row, i));
    rows.push_back(std::move(cells));
  }
  std::string text = "\nscores, times weight (in parentheses: before normalization, if different):\n" + table(rows);
  const std::int64_t more = number(trial, {"scores", "more"});
  return more > 0 ? text + "  and " + counted(more, "more node") + " with no higher total\n" : text;
}

std::string preemption_text(const Json& trial) {
  constexpr std::string_view kHead = "preemption: ";  // prefix of upstream's message
  const Json* preemption = trial.find("preemption");
  if (preemption == nullptr) return {};
  const std::string node = text_field(*preemption, {"nominatedNode"});
  if (node.empty()) {
    std::string message = text_field(*preemption, {"message"});
    if (message.starts_with(kHead)) message.erase(0, kHead.size());
    return "\n" + std::string(kHead) + printable(message) + "\n";
  }
  std::string victims;
  for (const Json& victim : list_field(*preemption, {"victims"})) {
    victims += (victims.empty() ? "" : ", ") + text_field(victim, {"pod"}) + " (priority " +
               text_field(victim, {"priority"}) + ")";
  }
  const std::int64_t more = number(*preemption, {"more"});
  if (more > 0) victims += " and " + grouped(more) + " more";
  if (victims.empty()) victims = "no further pods";
  return "\npreemption: would fit on node " + printable(node) + " after evicting: " + printable(victims) + "\n";
}

// What the gateway does not believe of what devices say, or holds against them.
std::string notes_text(const Json& answer) {
  std::string text;
  for (const Json& note : list_field(answer, {"notes"})) {
    text += "  " + printable(text_field(note, {"node"}) + ": " + text_field(note, {"message"})) + "\n";
  }
  return text.empty() ? text : "\nnodes:\n" + text;
}

std::string queue_text(const Json& answer) {
  const std::string queue = text_field(answer, {"queue", "place"});
  if (queue.empty() || queue == "none") return {};
  std::string text = "\nqueue: " + queue;
  if (const std::string gate = text_field(answer, {"queue", "gatedBy"}); !gate.empty()) text += " by " + gate;
  if (field(answer, {"queue", "dueInMs"}) != nullptr) {
    const std::int64_t due = number(answer, {"queue", "dueInMs"});
    const bool by_event = queue == "unschedulable";
    text +=
        due == 0 ? ", due now" : ", next attempt in " + std::string(by_event ? "at most " : "") + duration_text(due);
  }
  if (field(answer, {"queue", "attempts"}) != nullptr) {
    text += ", " + counted(number(answer, {"queue", "attempts"}), "attempt");
  }
  return text + "\n";
}

// "Node Add, UpdateNodeLabel (NodeAffinity)": one line per event, with the plugins registered for it.
std::string wakers_text(const Json::Array& wakers) {
  std::vector<std::string> events;
  std::map<std::string, std::string> plugins_of;
  for (const Json& waker : wakers) {
    const std::string resource = text_field(waker, {"resource"});
    const std::string event =
        resource == "*" ? "every event" : resource + " " + join_texts(list_field(waker, {"actions"}), ", ");
    std::string& plugins = plugins_of[event];
    if (plugins.empty()) events.push_back(event);
    plugins += (plugins.empty() ? "" : ", ") + text_field(waker, {"plugin"});
  }
  std::string text;
  for (const std::string& event : events) text += "  " + printable(event + " (" + plugins_of[event] + ")") + "\n";
  return text.empty() ? "" : "\nwould be requeued by:\n" + text;
}

// Why a planned pod would not run; empty if it would. Scheduling gates are meant to be removed.
std::string plan_fault(const Json& answer) {
  if (!true_field(answer, {"trial", "fits"})) return "currently fits nowhere";
  const std::string gated_by = text_field(answer, {"gatedBy"});
  return gated_by.empty() || gated_by == "SchedulingGates" ? "" : "would be gated by " + gated_by;
}

Json without_envelope(Json answer) {
  answer.erase("ok");
  answer.erase("id");
  return answer;
}

void set_trial_options(Json& request, const CtlOptions& options) {
  if (options.all_filters) request.set("all_filters", true);
  if (!options.node.empty()) request.set("node", options.node);
}

}  // namespace

std::string explanation_page(const Json& answer) {
  std::string text;
  if (const std::string why = text_field(answer, {"notReady"}); !why.empty()) {
    text += printable("the gateway is not ready and shows its last known state: " + why) + "\n";
  }
  const std::string head = headline(answer);
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = head.find('\n', at);
    text += printable(head.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  if (const Json* trial = answer.find("trial")) {
    text += groups_text(*trial) + filters_text(*trial) + scores_text(*trial) + preemption_text(*trial);
  }
  text += notes_text(answer) + queue_text(answer);
  const Json::Array& queued = list_field(answer, {"queue", "wokenBy"});
  return text + wakers_text(queued.empty() ? list_field(answer, {"wokenBy"}) : queued);
}

Outcome<void> run_explain(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  Json request = Json::object();
  request.set("op", "explain").set("namespace", namespace_of(options)).set("name", options.name);
  set_trial_options(request, options);
  Outcome<Json> answer = client.ask(std::move(request), true);
  if (!answer) return std::unexpected(std::move(answer.error()));
  const Json result = without_envelope(std::move(*answer));
  screen.out << (options.form == OutputForm::table ? explanation_page(result) : document(options.form, result));
  return {};
}

Outcome<void> run_plan(ApiClient& client, const CtlOptions& options, const Manifests& manifests, const Screen& screen) {
  Json items = Json::array();
  std::vector<std::string> wrong = manifests.errors;
  for (const ManifestDocument& manifest : manifests.valid) {
    if (manifest.kind->kind != Kind::pod) {
      screen.err << "warning: " << manifest.title() << ": not a pod; skipped\n";
      continue;
    }
    Json request = Json::object();
    request.set("op", "plan").set("manifest", manifest.object);
    set_trial_options(request, options);
    Outcome<Json> answer = client.ask(std::move(request), true);
    if (!answer && answer.error().exit != Exit::refused) return std::unexpected(std::move(answer.error()));
    if (!answer) {
      wrong.push_back(manifest.title() + ": " + answer.error().text);
      continue;
    }
    for (const Json& warning : list_field(*answer, {"warnings"})) {
      const std::string text = warning.is_string() ? warning.as_string() : warning.dump();
      if (!is_about_unknown_field(text)) {
        screen.err << "warning: " << manifest.title() << ": " << printable(text) << "\n";
      }
    }
    if (const std::string fault = plan_fault(*answer); !fault.empty()) {
      wrong.push_back(manifest.title() + ": " + fault);
    }
    if (options.form == OutputForm::table) {
      screen.out << (manifests.valid.size() > 1 ? "== " + manifest.title() + "\n" : "") << explanation_page(*answer);
    }
    items.push_back(without_envelope(std::move(*answer)));
  }
  if (items.as_array().empty() && wrong.empty()) return fail(Exit::usage, "the manifests contain no pods");
  if (options.form != OutputForm::table && !items.as_array().empty()) {
    Json list = Json::object();
    const bool one = items.as_array().size() == 1;
    if (!one) list.set("apiVersion", "v1").set("kind", "List").set("items", items);
    screen.out << document(options.form, one ? items.as_array().front() : list);
  }
  return refused(wrong);
}

}  // namespace berth
