// top: what nodes and pods use now, asked of the devices themselves, several at a time. The gateway tells which there
// are. Each has the patience of --timeout for itself, so that silent ones take no answer of another.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/api/quantity.h"
#include "core/streams/stream_client.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/table.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

constexpr std::size_t kAskedAtOnce = 16;
constexpr std::size_t kAnswerBytes = 4 * 1024 * 1024;  // of a device with 512 pods of many containers
constexpr std::int64_t kMiB = 1024 * 1024;

// One device's answer. One that comes after its time still counts, if others are being waited for.
class UsageRequest final : public StreamClient::Handler {
 public:
  UsageRequest(const ApiClient::Engine& engine, const ApiClient::Address& address, const std::string& node, int number,
               std::function<void()> done)
      : done_(std::move(done)),
        timers_(engine.timers),
        stream_(Topics(address.fleet), {node, address.identity, address.session + "-" + std::to_string(number)},
                engine.clock, engine.transport, engine.timers, *this) {
    stream_.open(UsageQuery{});
    deadline_ = timers_.at(engine.clock.now() + address.timeout_ms, [this] { finish(); });
  }
  ~UsageRequest() override { timers_.cancel(deadline_); }
  UsageRequest(const UsageRequest&) = delete;
  UsageRequest& operator=(const UsageRequest&) = delete;
  bool on_message(const Message& message) { return stream_.on_message(message); }

  void on_opened(const std::string&, const std::vector<std::string>&) override {}
  void on_data(const std::string& bytes, const std::string&) override {
    if (text_.size() + bytes.size() <= kAnswerBytes) text_ += bytes;
  }
  void on_end(StreamEnd why, const std::string& reason) override {
    const Result<Json> read = why == StreamEnd::done ? Json::parse(text_) : Status::error(reason);
    if (read && read->is_object()) {
      answer_ = *read;
    } else {
      failure_ = why == StreamEnd::done ? "its answer cannot be read" : reason;
    }
    finish();
  }

  bool is_over() const { return is_over_; }
  const std::optional<Json>& answer() const { return answer_; }
  std::string failure() const { return failure_.empty() ? "it did not answer in time" : failure_; }

 private:
  void finish() {
    timers_.cancel(deadline_);
    if (!std::exchange(is_over_, true)) done_();
  }

  const std::function<void()> done_;
  Timers& timers_;
  Timers::Id deadline_ = 0;
  std::string text_;
  bool is_over_ = false;
  std::optional<Json> answer_;
  std::string failure_;
  StreamClient stream_;
};

// Asks all of them.
class TopRequests final : public Transport::Handler {
 public:
  TopRequests(const ApiClient::Engine& engine, const ApiClient::Address& address, const std::set<std::string>& nodes)
      : engine_(engine), address_(address), waiting_(nodes.begin(), nodes.end()) {
    engine_.transport.set_handler(this);
  }
  ~TopRequests() override {
    requests_.clear();
    engine_.transport.set_handler(nullptr);
  }
  TopRequests(const TopRequests&) = delete;
  TopRequests& operator=(const TopRequests&) = delete;

  // By node.
  const std::map<std::string, std::unique_ptr<UsageRequest>>& run() {
    if (!waiting_.empty() && engine_.transport.is_up()) {
      ask_more();
      engine_.run();
    }
    return requests_;
  }
  void on_link(bool up) override {
    if (!up) engine_.stop();
  }
  void on_message(const Message& message) override {
    for (const auto& [node, request] : requests_) {
      if (request->on_message(message)) return;
    }
  }

 private:
  void ask_more() {
    const auto open =
        std::count_if(requests_.begin(), requests_.end(), [](const auto& each) { return !each.second->is_over(); });
    if (waiting_.empty() && open == 0) return engine_.stop();
    for (auto left = kAskedAtOnce - std::min(static_cast<std::size_t>(open), kAskedAtOnce);
         left > 0 && !waiting_.empty(); --left) {
      const std::string node = waiting_.back();
      waiting_.pop_back();
      requests_[node] = std::make_unique<UsageRequest>(engine_, address_, node, ++asked_, [this] { ask_more(); });
    }
  }

  const ApiClient::Engine& engine_;
  const ApiClient::Address& address_;
  std::vector<std::string> waiting_;
  std::map<std::string, std::unique_ptr<UsageRequest>> requests_;
  int asked_ = 0;
};

struct Used {
  std::optional<std::int64_t> cpu;  // millicores; none: it began within the second
  std::int64_t memory = 0;          // bytes
};

std::int64_t number_field(const Json& object, std::string_view name) {
  const Json* value = field(object, {name});
  return value != nullptr && value->is_integer() ? std::max<std::int64_t>(value->as_int(), 0) : 0;
}

Used used_of(const Json& object) {
  Used used;
  if (field(object, {"cpuMillicores"}) != nullptr) used.cpu = number_field(object, "cpuMillicores");
  used.memory = number_field(object, "memoryBytes");
  return used;
}

std::string cpu_text(const Used& used) { return used.cpu ? std::to_string(*used.cpu) + "m" : "<unknown>"; }
std::string memory_text(const Used& used) { return std::to_string(used.memory / kMiB) + "Mi"; }

// Of what the node has for pods, as kubectl shows it.
std::string percent(std::int64_t used, std::int64_t all) {
  return all > 0 ? std::to_string(used * 100 / all) + "%" : "<unknown>";
}

std::int64_t allocatable(const Json& node, std::string_view name, bool milli) {
  const Result<Quantity> quantity = Quantity::parse(text_field(node, {"status", "allocatable", name}));
  if (!quantity) return 0;
  return milli ? quantity->milli_value() : quantity->value();
}

void print_used(const std::vector<Cells>& rows, const Screen& screen) {
  TableWriter table;
  for (const Cells& row : rows) table.measure(row);
  for (const Cells& row : rows) screen.out << table.line(row);
  screen.out.flush();
}

struct Selection {
  std::vector<Json> nodes;      // of `top node`
  std::vector<Json> pods;       // of `top pod`
  std::set<std::string> asked;  // nodes
};

// What there is, from the gateway.
Outcome<Selection> select_for_top(ApiClient& client, const CtlOptions& options) {
  const bool of_nodes = options.top.of_nodes;
  const Outcome<const KindName*> kind = kind_named(of_nodes ? "node" : "pod");
  const std::string name_space = of_nodes || options.all_namespaces ? std::string() : namespace_of(options);
  std::vector<Json> found;
  if (options.name.empty()) {
    Outcome<std::vector<Json>> all = client.list(**kind, name_space);
    if (!all) return std::unexpected(all.error());
    found = std::move(*all);
  } else {
    Outcome<Json> one = client.get(**kind, name_space, options.name);
    if (!one) return std::unexpected(one.error());
    found.push_back(std::move(*one));
  }
  Selection selection;
  for (const Json& each : found) {
    const std::string node = text_field(each, {of_nodes ? "metadata" : "status", of_nodes ? "name" : "nodeName"});
    // Of a node that is not there, it is known already.
    if (!node.empty() && (!of_nodes || has_condition(each, "Ready"))) selection.asked.insert(node);
  }
  (of_nodes ? selection.nodes : selection.pods) = std::move(found);
  return selection;
}

using UsageAnswers = std::map<std::string, std::unique_ptr<UsageRequest>>;

const Json* answer_of(const UsageAnswers& answers, const std::string& node) {
  const auto found = answers.find(node);
  return found == answers.end() || !found->second->answer() ? nullptr : &*found->second->answer();
}

void show_nodes(const Selection& selection, const UsageAnswers& answers, const Screen& screen) {
  std::vector<Cells> rows = {{"NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"}};
  for (const Json& node : selection.nodes) {
    const std::string name = text_field(node, {"metadata", "name"});
    const Json* answer = answer_of(answers, name);
    const Json* used_there = answer != nullptr ? field(*answer, {"node"}) : nullptr;
    if (used_there == nullptr) {
      rows.push_back({name, "<unknown>", "<unknown>", "<unknown>", "<unknown>"});
      continue;
    }
    const Used used = used_of(*used_there);
    rows.push_back({name, cpu_text(used), percent(used.cpu.value_or(0), allocatable(node, "cpu", true)),
                    memory_text(used), percent(used.memory, allocatable(node, "memory", false))});
  }
  print_used(rows, screen);
}

// Of a pod that its device does not run, or not any more, nothing is shown.
void show_pods(const Selection& selection, const UsageAnswers& answers, const CtlOptions& options,
               const Screen& screen) {
  std::set<std::pair<std::string, std::string>> wanted;
  for (const Json& pod : selection.pods) {
    wanted.insert({text_field(pod, {"metadata", "namespace"}), text_field(pod, {"metadata", "name"})});
  }
  std::vector<Cells> rows(1);
  if (options.all_namespaces) rows[0].push_back("NAMESPACE");
  rows[0].push_back(options.top.containers ? "POD" : "NAME");
  if (options.top.containers) rows[0].push_back("NAME");
  rows[0].insert(rows[0].end(), {"CPU(cores)", "MEMORY(bytes)"});
  for (const auto& [node, request] : answers) {
    if (!request->answer()) continue;
    for (const Json& pod : list_field(*request->answer(), {"pods"})) {
      const std::string name_space = text_field(pod, {"namespace"}), name = text_field(pod, {"name"});
      if (!wanted.contains({name_space, name})) continue;
      Used all;
      Cells begin;
      if (options.all_namespaces) begin.push_back(name_space);
      begin.push_back(name);
      for (const Json& container : list_field(pod, {"containers"})) {
        const Used used = used_of(container);
        all.memory += used.memory;
        if (used.cpu) all.cpu = all.cpu.value_or(0) + *used.cpu;
        if (!options.top.containers) continue;
        Cells row = begin;
        row.insert(row.end(), {text_field(container, {"name"}), cpu_text(used), memory_text(used)});
        rows.push_back(std::move(row));
      }
      if (options.top.containers) continue;
      begin.insert(begin.end(), {cpu_text(all), memory_text(all)});
      rows.push_back(std::move(begin));
    }
  }
  std::sort(rows.begin() + 1, rows.end());
  print_used(rows, screen);
}

}  // namespace

Outcome<void> run_top(const ApiClient::Engine& engine, const ApiClient::Address& address, const CtlOptions& options,
                      const Screen& screen) {
  Selection selection;
  {
    ApiClient client(engine, address);
    Outcome<Selection> selected = select_for_top(client, options);
    if (!selected) return std::unexpected(selected.error());
    selection = std::move(*selected);
  }
  TopRequests requests(engine, address, selection.asked);
  const UsageAnswers& answers = requests.run();
  if (options.top.of_nodes) {
    show_nodes(selection, answers, screen);
  } else {
    show_pods(selection, answers, options, screen);
  }
  std::vector<std::string> silent;
  for (const std::string& node : selection.asked) {
    if (answer_of(answers, node) != nullptr) continue;
    const auto asked = answers.find(node);
    silent.push_back("node " + node + ": " +
                     (asked == answers.end() ? "not asked" : printable(asked->second->failure())));
  }
  return refused(silent, Exit::no_answer);
}

}  // namespace berth
