#include "tests/sim/operators.h"

#include <iterator>

#include "core/api/volume.h"
#include "tests/sim/provisioner.h"
#include "tests/sim/sim_pool.h"

namespace berth::sim {

namespace {

constexpr char kConfig[] = "app";  // the name of the ConfigMap and of the Secret
constexpr std::size_t kClaims = 3;
constexpr std::size_t kImmediateClaim = 2;  // of kClaims
constexpr std::size_t kNamesNodeOneIn = 8;
constexpr std::size_t kScratchOneIn = 16;
constexpr int kFirstPort = 8080;
constexpr std::size_t kBallastBytes = 24 * 1024;
constexpr std::uint64_t kPorts = 2;
constexpr std::uint64_t kCreate = 49;  // the last action number that creates a pod
constexpr std::uint64_t kRushReplacesOneIn = 100;

constexpr int kPriorities = 3;  // 100, 200, 300
std::string key_of(const std::string& name) { return "default/" + name; }
std::string name_of(std::size_t number) { return "p" + std::to_string(number); }
std::size_t number_of(const std::string& name) { return std::stoul(name.substr(1)); }

Json claim_spec(const std::string& storage_class) {
  Json requests = Json(Json::Object{{"storage", Json("1Mi")}});
  Json spec = Json::object();
  spec.set("accessModes", Json(Json::Array{Json("ReadWriteOnce")})).set("storageClassName", storage_class);
  spec.set("resources", Json(Json::Object{{"requests", std::move(requests)}}));
  return spec;
}

}  // namespace

Operators::Operators(SimEnvironment& world, std::size_t names, std::size_t nodes, bool rush, std::uint64_t seed)
    : world_(world),
      topics_(kFleet),
      client_(world.broker, "operator"),
      rival_(world.broker, "rival"),
      names_(names),
      rush_(rush),
      cordoned_(nodes, false),
      pooled_random_(seed ^ 0x504f4f4c) {
  client_.set_handler(this);
  for (std::size_t number = 0; number < names_; ++number) free_.insert(number);
  if (!rush_) name_nodes();
  world_.on_ended = [this](const std::string& uid) { note_ended(uid); };
}

// Some pods have spec.nodeName, always the same for one name: an update of a pod that was found may have another one.
void Operators::name_nodes() {
  for (std::size_t number = kNamesNodeOneIn / 2; number < names_; number += kNamesNodeOneIn) {
    world_.witness.set_named(key_of(name_of(number)), "n" + std::to_string(number % cordoned_.size()));
  }
}

void Operators::connect() {
  client_.connect();
  rival_.connect();
}

void Operators::on_link(bool up) {
  if (!up) return;
  client_.subscribe(topics_.client("operator"), 1);
  publish_classes_and_claims();
}

void Operators::publish(const std::string& topic, const Json& payload) {
  Message message;
  message.topic = topic;
  message.payload = payload.dump();
  message.retain = true;
  sender_->send(message);
}

void Operators::ask(Json request) {
  request.set("id", std::to_string(++requests_));
  Message message;
  message.topic = topics_.gateway_api(kGateway);
  message.payload = request.dump();
  message.response_topic = topics_.client(sender_->id());
  sender_->send(message);
}

Operators::PodPlan Operators::make_plan() {
  PodPlan plan;
  plan.uid = "u" + std::to_string(++uids_);
  plan.cpu = 100 + 100 * static_cast<int>(world_.random.below(7));
  plan.memory_mi = 16 << world_.random.below(4);
  if (world_.random.chance(1, 2)) plan.lasts_ms = static_cast<int>(world_.pick(200, 10'000));
  if (world_.random.chance(1, 4)) plan.zone = world_.random.chance(1, 2) ? "a" : "b";
  if (world_.random.chance(1, 4)) plan.claim = pick_claim();
  if (world_.random.chance(1, 4)) plan.priority = 100 * static_cast<int>(1 + world_.random.below(kPriorities));
  if (world_.random.chance(1, 5)) plan.host_port = kFirstPort + static_cast<int>(world_.random.below(kPorts));
  plan.camera = world_.random.chance(1, 6);
  plan.scratch = plan.claim.empty() && world_.random.chance(1, kScratchOneIn);
  plan.probed = uids_ % 6 == 5;
  if (rush_ && world_.random.chance(19, 20)) {
    plan.lasts_ms = static_cast<int>(world_.pick(20, 300));
    plan.zone.clear();
    plan.claim.clear();
    plan.host_port = 0;
    plan.camera = plan.scratch = false;
  }
  plan.tolerates = world_.random.chance(1, 2);
  plan.gated = world_.random.chance(1, rush_ ? 100 : 10);
  plan.bulky = bulky_ && world_.random.chance(1, 2);
  return plan;
}

Json Operators::volumes_of(const PodPlan& plan) {
  Json volumes = Json::array();
  if (!plan.claim.empty()) {
    Json volume(Json::Object{{"name", Json("data")}});
    volume.set("persistentVolumeClaim", Json(Json::Object{{"claimName", Json(plan.claim)}}));
    volumes.push_back(std::move(volume));
  }
  if (plan.scratch) {
    Json claim(Json::Object{{"spec", claim_spec("local")}});
    Json volume(Json::Object{{"name", Json("s")}});
    volume.set("ephemeral", Json(Json::Object{{"volumeClaimTemplate", std::move(claim)}}));
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

Json Operators::manifest(const std::string& name, const PodPlan& plan) const {
  Json metadata = Json::object();
  metadata.set("name", name).set("namespace", "default");
  if (!plan.uid.empty()) metadata.set("uid", plan.uid);
  metadata.set("labels", Json(Json::Object{{"generation", Json(std::to_string(plan.generation))}}));
  Json annotations = Json::object();
  if (plan.lasts_ms > 0) annotations.set("sim/lasts-ms", std::to_string(plan.lasts_ms));
  if (plan.bulky) annotations.set("sim/ballast", std::string(kBallastBytes, 'x'));
  metadata.set("annotations", std::move(annotations));
  Json requests = Json::object();
  requests.set("cpu", std::to_string(plan.cpu) + "m").set("memory", std::to_string(plan.memory_mi) + "Mi");
  Json resources = Json::object();
  if (plan.camera) {  // an extended resource: limits equal requests
    requests.set(kCamera, "1");
    resources.set("limits", Json(Json::Object{{kCamera, Json("1")}}));
  }
  resources.set("requests", std::move(requests));
  Json container = Json::object();
  container.set("name", "main").set("image", "/bin/sim").set("resources", std::move(resources));
  if (config_random_) {
    Json config_map(Json::Object{{"configMapRef", Json(Json::Object{{"name", Json(kConfig)}})}});
    Json secret(Json::Object{{"secretRef", Json(Json::Object{{"name", Json(kConfig)}})}});
    container.set("envFrom", Json(Json::Array{std::move(config_map), std::move(secret)}));
  }
  if (plan.probed) container.set("livenessProbe", Json(Json::Object{{"periodSeconds", Json(5)}}));
  if (plan.host_port > 0) {
    Json port(Json::Object{{"containerPort", Json(80)}, {"hostPort", Json(plan.host_port)}});
    container.set("ports", Json(Json::Array{std::move(port)}));
  }
  Json spec = Json::object();
  spec.set("containers", Json(Json::Array{std::move(container)}));
  spec.set("restartPolicy", plan.lasts_ms > 0 ? "Never" : "Always").set("terminationGracePeriodSeconds", 3);
  if (plan.priority > 0) spec.set("priority", plan.priority);
  if (const std::string node = world_.witness.named(key_of(name)); !node.empty()) spec.set("nodeName", node);
  if (!plan.zone.empty()) spec.set("nodeSelector", Json(Json::Object{{"zone", Json(plan.zone)}}));
  if (plan.tolerates) {
    Json toleration = Json::object();
    toleration.set("key", "edge").set("operator", "Exists");
    spec.set("tolerations", Json(Json::Array{std::move(toleration)}));
  }
  if (plan.gated) {
    spec.set("schedulingGates", Json(Json::Array{Json(Json::Object{{"name", Json("sim/gate")}})}));
  }
  if (const Json volumes = volumes_of(plan); !volumes.as_array().empty()) spec.set("volumes", volumes);
  Json pod = Json::object();
  pod.set("apiVersion", "v1").set("kind", "Pod").set("metadata", std::move(metadata)).set("spec", std::move(spec));
  return pod;
}

void Operators::publish_pod(const std::string& name) {
  publish(topics_.desired(Kind::pod, key_of(name)), manifest(name, plans_.at(name)));
}

void Operators::publish_tombstone(const std::string& name, const std::string& uid) {
  Json tombstone(Json::Object{{"deleted", Json(true)}});
  if (!uid.empty()) tombstone.set("uid", uid);
  publish(topics_.desired(Kind::pod, key_of(name)), tombstone);
}

// The storage class and the claims.
void Operators::publish_classes_and_claims() {
  Json storage_class = Json::object();
  storage_class.set("apiVersion", "storage.k8s.io/v1").set("kind", "StorageClass");
  storage_class.set("metadata", Json(Json::Object{{"name", Json("local")}}));
  storage_class.set("provisioner", "kubernetes.io/no-provisioner").set("volumeBindingMode", "WaitForFirstConsumer");
  publish(topics_.desired(Kind::storage_class, "local"), storage_class);
  Json immediate = storage_class;
  immediate.set("metadata", Json(Json::Object{{"name", Json(kImmediateClass)}})).set("volumeBindingMode", "Immediate");
  publish(topics_.desired(Kind::storage_class, kImmediateClass), immediate);
  Json hosts = Json::object();
  hosts.set("key", "kubernetes.io/hostname").set("values", Json(Json::Array{Json("n0"), Json("n1")}));
  Json term(Json::Object{{"matchLabelExpressions", Json(Json::Array{std::move(hosts)})}});
  storage_class.set("metadata", Json(Json::Object{{"name", Json(kMadeClass)}})).set("provisioner", "sim.berth/maker");
  storage_class.set("allowedTopologies", Json(Json::Array{std::move(term)}));
  publish(topics_.desired(Kind::storage_class, kMadeClass), storage_class);
  Json pooled = immediate;
  pooled.set("metadata", Json(Json::Object{{"name", Json(kPooledClass)}}));
  pooled.set("provisioner", StorageClass::kLocalProvisioner).set("volumeBindingMode", "WaitForFirstConsumer");
  publish(topics_.desired(Kind::storage_class, kPooledClass), pooled);
  for (std::size_t number = 0; number < kClaims + kMadeClaims + kPooledClaims; ++number) publish_claim(number);
}

// First the claims for volumes that nodes offer, then those for provisioned volumes: by the provisioner, by devices.
std::string Operators::name_of_claim(std::size_t number) {
  if (number >= kClaims + kMadeClaims) return "v" + std::to_string(number - kClaims - kMadeClaims);
  return number < kClaims ? "c" + std::to_string(number) : "m" + std::to_string(number - kClaims);
}

std::string Operators::class_of_claim(std::size_t number) {
  if (number == kImmediateClaim) return kImmediateClass;
  if (number >= kClaims + kMadeClaims) return kPooledClass;
  return number < kClaims ? "local" : kMadeClass;
}

void Operators::publish_claim(std::size_t number) {
  const std::string name = name_of_claim(number);
  Json claim = Json::object();
  claim.set("apiVersion", "v1").set("kind", "PersistentVolumeClaim");
  Json metadata(Json::Object{{"name", Json(name)}, {"namespace", Json("default")}});
  // Its data are given up when its node is forgotten.
  if (number == 0) metadata.set("annotations", Json(Json::Object{{"berth/orphan-policy", Json("Release")}}));
  claim.set("metadata", std::move(metadata)).set("spec", claim_spec(class_of_claim(number)));
  publish(topics_.desired(Kind::persistent_volume_claim, "default/" + name), claim);
}

// Deletes a claim, which is applied again with the next republish_all(), or a volume, so that it can be reused.
void Operators::act_on_volumes() {
  Kind kind = Kind::persistent_volume_claim;
  std::string key = "default/" + pick_claim();
  if (world_.random.chance(1, 2)) {
    const std::string node = world_.random.chance(1, 2) ? "n0" : "n1";
    kind = Kind::persistent_volume;
    static constexpr const char* kOffered[] = {"-d0", "-d1", "-i0"};
    key = node + kOffered[world_.random.below(std::size(kOffered))];
  }
  world_.note("operator", "deletes " + std::string(describe(kind).name) + " " + key);
  publish(topics_.desired(kind, key), Json(Json::Object{{"deleted", Json(true)}}));
}

std::string Operators::pick_claim() {
  const std::string picked = name_of_claim(world_.random.below(kClaims + kMadeClaims));
  const bool is_pooled = pooled_random_.chance(1, 3);
  return is_pooled ? name_of_claim(kClaims + kMadeClaims + pooled_random_.below(kPooledClaims)) : picked;
}

void Operators::publish_overlay(std::size_t node) {
  const std::string name = "n" + std::to_string(node);
  Json overlay = Json::object();
  overlay.set("apiVersion", "v1").set("kind", "Node");
  overlay.set("metadata", Json(Json::Object{{"name", Json(name)}}));
  overlay.set("spec", Json(Json::Object{{"unschedulable", Json(static_cast<bool>(cordoned_[node]))}}));
  publish(topics_.desired(Kind::node, name), overlay);
}

// Applies or deletes a budget and a service that select all pods.
void Operators::publish_budget_and_service() {
  const bool applies = world_.random.chance(2, 3);
  world_.note("operator", applies ? "applies the budget and the service" : "deletes the budget and the service");
  for (const Kind kind : {Kind::pod_disruption_budget, Kind::service}) {
    Json object = Json::object();
    if (!applies) {
      publish(topics_.desired(kind, "default/all"), object.set("deleted", true));
      continue;
    }
    Json spec = Json::object();
    if (kind == Kind::pod_disruption_budget) {
      spec.set("minAvailable", static_cast<int>(world_.random.below(4))).set("selector", Json::object());
    } else {
      spec.set("selector", Json(Json::Object{{"generation", Json(std::to_string(world_.random.below(3)))}}));
    }
    object.set("apiVersion", describe(kind).api_version).set("kind", describe(kind).name);
    object.set("metadata", Json(Json::Object{{"name", Json("all")}})).set("spec", std::move(spec));
    publish(topics_.desired(kind, "default/all"), object);
  }
}

// In a rush a name is reused once the last pod of that name has ended, or occasionally before; otherwise most pods
// would be replaced before they are bound. None: no name is free.
std::optional<std::size_t> Operators::next_in_rush() {
  const bool waits = !world_.random.chance(1, kRushReplacesOneIn);
  const std::size_t next = (last_name_ + 1) % names_;
  if (!waits) return last_name_ = next;
  if (free_.empty()) return std::nullopt;
  const auto found = free_.lower_bound(next);
  return last_name_ = found != free_.end() ? *found : *free_.begin();
}

void Operators::note_ended(const std::string& uid) {
  for (const auto& [name, plan] : plans_) {
    if (plan.uid == uid) free_.insert(number_of(name));
  }
}

void Operators::set_plan(const std::string& name, PodPlan plan) {
  std::string& uid = uid_of_[key_of(name)];
  if (uid != plan.uid) free_.erase(number_of(name));
  uid = plan.uid;
  plans_[name] = std::move(plan);
}

void Operators::drop_plan(const std::string& name) {
  plans_.erase(name);
  uid_of_.erase(key_of(name));
  free_.insert(number_of(name));
}

void Operators::forget(const std::string& node) {
  world_.note("operator", "forgets node " + node);
  ++world_.counts.faults["node forgotten"];
  world_.forgotten_nodes.insert(node);
  ask(Json(Json::Object{{"op", Json("forget")}, {"kind", Json("Node")}, {"name", Json(node)}}));
}

// Some are larger than one part.
void Operators::act_on_configs() {
  const Kind kind = config_random_->chance(1, 2) ? Kind::secret : Kind::config_map;
  const std::string what(describe(kind).name);
  if (config_random_->chance(1, 8)) {
    world_.note("operator", "deletes the " + what);
    if (kind == Kind::config_map) {
      return publish(topics_.desired(kind, key_of(kConfig)), Json(Json::Object{{"deleted", Json(true)}}));
    }
    return ask(Json(Json::Object{{"op", Json("delete")}, {"kind", Json(what)}, {"name", Json(kConfig)}}));
  }
  const std::size_t bytes = config_random_->chance(1, 10) ? 40'000 : 10;
  Json object = Json::object();
  object.set("apiVersion", "v1").set("kind", what);
  object.set("metadata", Json(Json::Object{{"name", Json(kConfig)}, {"namespace", Json("default")}}));
  const std::string value = std::to_string(config_random_->next()) + std::string(bytes, 'v');
  object.set(kind == Kind::secret ? "stringData" : "data", Json(Json::Object{{"k", Json(value)}}));
  world_.note("operator", "applies the " + what);
  if (kind == Kind::config_map) return publish(topics_.desired(kind, key_of(kConfig)), object);
  ask(Json(Json::Object{{"op", Json("apply")}, {"object", std::move(object)}}));
}

void Operators::act() {
  if (config_random_ && config_random_->chance(1, 6)) act_on_configs();
  const std::optional<std::size_t> number = rush_ ? next_in_rush() : world_.random.below(names_);
  if (!number) return;
  const std::string name = name_of(*number);
  const std::uint64_t action = rush_ && world_.random.chance(19, 20) ? kCreate : world_.random.below(100);
  const bool by_api = world_.random.chance(1, 3);
  auto known = plans_.find(name);
  if (action < 8) {
    const std::size_t node = world_.random.below(cordoned_.size());
    cordoned_[node] = !cordoned_[node] && world_.random.chance(1, rush_ ? 10 : 2);
    world_.note("operator", std::string(cordoned_[node] ? "cordons n" : "uncordons n") + std::to_string(node));
    return publish_overlay(node);
  }
  if (action < 10) return publish_budget_and_service();
  if (action < 12) {
    return forget("n" + std::to_string(world_.random.below(cordoned_.size())));
  }
  if (action < 15) return act_on_volumes();
  if (action < 21) return contend(name);
  if (action < 23) return contend_for_node();
  if (known == plans_.end() || action <= kCreate) {  // create, or re-create with another uid
    if (known != plans_.end()) note_gone(name, known->second.uid);
    set_plan(name, make_plan());
    world_.note("operator", "applies " + name + " " + plans_[name].uid + (by_api ? " by the api" : ""));
    if (!by_api) return publish_pod(name);
    Json request = Json::object();
    return ask(request.set("op", "apply").set("object", manifest(name, plans_[name])));
  }
  if (action < 65) {  // update
    ++known->second.generation;
    known->second.gated = false;
    world_.note("operator", "updates " + name + " " + known->second.uid);
    return publish_pod(name);
  }
  if (action < 75) return publish_pod(name);
  const std::string uid = known->second.uid;
  world_.note("operator", "deletes " + name + " " + uid + (by_api ? " by the api" : ""));
  note_gone(name, uid);
  drop_plan(name);
  // Without a uid the pod may have been applied by a manifest that the broker retains and the network here has lost on
  // its way to the gateway, which QoS 1 does not.
  if (!by_api || uid.empty()) publish_tombstone(name, uid);
  if (!by_api) return;
  Json request(Json::Object{{"op", Json("delete")}, {"kind", Json("Pod")}, {"name", Json(name)}});
  if (!uid.empty()) request.set("uid", uid);
  ask(std::move(request));
}

void Operators::apply_by_topic_or_api(const std::string& name, const PodPlan& plan) {
  if (world_.random.chance(1, 2)) return publish(topics_.desired(Kind::pod, key_of(name)), manifest(name, plan));
  Json request = Json::object();
  ask(request.set("op", "apply").set("object", manifest(name, plan)));
}

// Two users change one pod at the same time: re-create, update or delete it, in any order of arrival. The first one's
// intention is what is expected in the end.
void Operators::contend(const std::string& name) {
  const auto known = plans_.find(name);
  const PodPlan before = known == plans_.end() ? make_plan() : known->second;
  PodPlan theirs = make_plan();
  const PodPlan ours = world_.random.chance(1, 2) ? before : make_plan();
  for (const std::string& uid : {before.uid, theirs.uid}) {
    if (uid != ours.uid) note_gone(name, uid);
  }
  set_plan(name, ours);
  world_.note("operator", "contends for " + name + ": " + ours.uid + " against " + theirs.uid);
  ++world_.counts.faults["contention"];
  const std::uint64_t action = world_.random.below(4);
  const bool first = world_.random.chance(1, 2);
  if (first) apply_by_topic_or_api(name, ours);
  sender_ = &rival_;
  if (action == 0) {
    publish_tombstone(name, before.uid);
  } else if (action == 1) {
    ask(Json(Json::Object{{"op", Json("delete")}, {"kind", Json("Pod")}, {"name", Json(name)}}));
  } else if (action == 2) {
    theirs = before;
    ++theirs.generation;
    apply_by_topic_or_api(name, theirs);
  } else {
    apply_by_topic_or_api(name, theirs);
  }
  sender_ = &client_;
  if (!first) apply_by_topic_or_api(name, ours);
}

// One user cordons a node, the other labels it, without knowing each other's overlay.
void Operators::contend_for_node() {
  const std::size_t node = world_.random.below(cordoned_.size());
  const std::string name = "n" + std::to_string(node);
  world_.note("operator", "contends for node " + name);
  publish_overlay(node);
  Json labels(Json::Object{{"rival", Json("yes")}});
  Json overlay = Json::object();
  overlay.set("apiVersion", "v1").set("kind", "Node");
  overlay.set("metadata", Json(Json::Object{{"name", Json(name)}, {"labels", std::move(labels)}}));
  overlay.set("spec", Json(Json::Object{{"unschedulable", Json(world_.random.chance(1, 2))}}));
  sender_ = &rival_;
  if (world_.random.chance(1, 4)) overlay = Json(Json::Object{{"deleted", Json(true)}});
  publish(topics_.desired(Kind::node, name), overlay);
  sender_ = &client_;
}

void Operators::republish_all(const Seen& seen, const Seen& orphans) {
  world_.note("operator", "says everything again");
  publish_classes_and_claims();
  for (std::size_t node = 0; node < cordoned_.size(); ++node) publish_overlay(node);
  for (const Seen* pods : {&seen, &orphans}) {
    for (const auto& [key, uid] : *pods) {
      const std::string name = key.substr(key.find('/') + 1);
      // Of a deleted name all uids go, whatever the gateway gave.
      if (gone_[key].contains(uid) || (pods == &seen && !plans_.contains(name))) publish_tombstone(name, uid);
    }
  }
  for (const auto& [name, plan] : plans_) publish_pod(name);
}

std::set<std::string> Operators::preemptible() const {
  std::set<std::string> keys;
  for (const auto& [name, plan] : plans_) {
    // Without a uid it may be an update of an earlier pod of its name, which had another priority.
    if (plan.priority < 100 * kPriorities || plan.uid.empty()) keys.insert(key_of(name));
  }
  return keys;
}

void Operators::end_adopt_mode() {
  world_.note("operator", "ends the waiting for nodes");
  ask(Json(Json::Object{{"op", Json("adopt")}, {"done", Json(true)}}));
}

void Operators::note_gone(const std::string& name, const std::string& uid) {
  if (!uid.empty()) gone_[key_of(name)].insert(uid);
}

void Operators::apply_anew(Random& random, Millis spread) {
  world_.note("operator", "applies everything again, without uids");
  std::vector<std::string> names;
  for (const auto& [name, plan] : plans_) names.push_back(name);
  for (const std::string& name : names) {
    PodPlan plan = plans_.at(name);
    if (random.chance(1, 8)) {
      note_gone(name, plan.uid);
      drop_plan(name);
      continue;
    }
    if (random.chance(1, 8)) plan = make_plan();  // immutable parts have changed
    if (random.chance(1, 4)) ++plan.generation;
    plan.uid.clear();
    set_plan(name, plan);
    const auto at = world_.clock.now() + static_cast<Millis>(random.below(static_cast<std::uint64_t>(spread)));
    world_.timers.at(at, [this, name] {
      const auto known = plans_.find(name);
      if (known != plans_.end()) apply_by_topic_or_api(name, known->second);
    });
  }
}

void Operators::decide(const std::string& key, const std::string& uid, const std::string& node) {
  const std::string name = key.substr(key.find('/') + 1);
  const auto plan = plans_.find(name);
  if (plan != plans_.end() && plan->second.uid == uid) return;  // he applies it
  // Of a pod that he applied with another uid since, he does not want the old one back.
  const bool may_keep = !gone_[key].contains(uid) && plan != plans_.end() && plan->second.uid.empty();
  const bool keeps = world_.random.chance(1, 2) && may_keep;
  world_.note("operator", std::string(keeps ? "keeps " : "ends ") + uid + " of " + key + " on " + node);
  Json request(Json::Object{{"op", Json(keeps ? "adopt" : "delete")}, {"kind", Json("Pod")}, {"name", Json(name)}});
  ask(keeps ? request.set("node", node) : request.set("uid", uid));
}

void Operators::decide_on_volume(const std::string& volume, const std::string& node, bool keeps) {
  world_.note("operator", std::string(keeps ? "keeps " : "removes ") + volume + " of " + node);
  Json request(Json::Object{
      {"op", Json(keeps ? "adopt" : "delete")}, {"kind", Json("PersistentVolume")}, {"name", Json(volume)}});
  if (keeps) request.set("node", node);
  ask(std::move(request));
}

void Operators::settle() {
  for (auto cordoned : cordoned_) cordoned = false;
  for (auto& [name, plan] : plans_) plan.gated = false;
}

}  // namespace berth::sim
