#include "tests/bench/trace.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

namespace berth::bench {

namespace {

Result<std::string> text_of(const Json& operation, const char* member) {
  const Json* value = operation.find(member);
  if (value == nullptr || !value->is_string()) return Status::error(std::string(member) + ": a text is missing");
  return value->as_string();
}

}  // namespace

Result<Trace::Operation> Trace::read_operation(const std::string& line) {
  static const std::map<std::string, Kind> kKinds = {
      {"sc", Kind::storage_class},   {"pv", Kind::volume},       {"pvc", Kind::claim},   {"node", Kind::node},
      {"upnode", Kind::node_update}, {"pod", Kind::pod},         {"place", Kind::place}, {"delete", Kind::remove},
      {"drain", Kind::drain},        {"measure", Kind::measure},
  };
  const Result<Json> json = Json::parse(line);
  if (!json) return json.error();
  const Result<std::string> op = text_of(*json, "op");
  if (!op) return op.error();
  const auto kind = kKinds.find(*op);
  if (kind == kKinds.end()) return Status::error("op: unknown operation " + *op);
  Operation operation;
  operation.kind = kind->second;
  if (const char* named = operation.kind == Kind::place ? "node" : operation.kind == Kind::remove ? "pod" : nullptr) {
    Result<std::string> name = text_of(*json, named);
    if (!name) return name.error();
    operation.name = std::move(*name);
  }
  const Json* object = json->find("obj");
  if (object == nullptr) return operation;
  if (operation.kind == Kind::node || operation.kind == Kind::node_update) {
    const auto node = World::make_node(*object);
    if (!node) return node.error();
    operation.node = *node;
  } else if (operation.kind == Kind::pod || operation.kind == Kind::place) {
    const auto pod = World::make_pod(*object);
    if (!pod) return pod.error();
    operation.pod = *pod;
  } else {
    operation.object = *object;
  }
  return operation;
}

Result<Trace> Trace::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::error(path + ": cannot be read");
  Trace trace;
  trace.name_ = std::filesystem::path(path).filename().string();
  trace.name_.resize(trace.name_.find('.') == std::string::npos ? trace.name_.size() : trace.name_.find('.'));
  bool measured = false;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    Result<Operation> operation = read_operation(line);
    if (!operation) {
      return Status::error(path + ": line " + std::to_string(number) + ": " + operation.error().message());
    }
    measured = measured || operation->kind == Kind::measure;
    if (operation->kind == Kind::node) ++trace.nodes_;
    if (operation->kind == Kind::pod && measured) ++trace.measured_pods_;
    trace.operations_.push_back(std::move(*operation));
  }
  if (!measured) return Status::error(path + ": nothing is measured: the operation \"measure\" is missing");
  return trace;
}

Status Trace::apply(const Operation& operation, World& world) {
  switch (operation.kind) {
    case Kind::storage_class: return world.add_storage_class(operation.object);
    case Kind::volume: return world.add_volume(operation.object);
    case Kind::claim: return world.add_claim(operation.object);
    case Kind::node: world.add_node(operation.node); break;
    case Kind::node_update: world.change_node(operation.node); break;
    case Kind::pod: world.queue_pod(operation.pod); break;
    case Kind::place: world.place_pod(operation.pod, operation.name); break;
    case Kind::remove: world.delete_pod(operation.name); break;
    case Kind::drain:
    case Kind::measure: break;
  }
  return {};
}

Status Trace::replay(World& world, Recorder& recorder) const {
  for (const Operation& operation : operations_) {
    if (operation.kind == Kind::measure) {
      recorder.begin(measured_pods_);
    } else if (operation.kind == Kind::drain) {
      while (recorder.step()) {
      }
    } else if (Status status = apply(operation, world); !status.is_success()) {
      return Status::error(name_ + ": " + status.message());
    }
  }
  recorder.end();
  return {};
}

}  // namespace berth::bench
