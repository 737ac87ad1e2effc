#include "core/objects/identity.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/json/json.h"

namespace berth {

namespace {

// The sets of an identity, by their name in its record.
std::map<std::string, std::set<std::string>*> named_sets(Identity& identity) {
  return {{"orphans", &identity.orphans},     {"kept", &identity.kept},       {"late", &identity.late},
          {"ending", &identity.ending},       {"deleted", &identity.deleted}, {"retired", &identity.retired},
          {"withdrawn", &identity.withdrawn}, {"twins", &identity.twins}};
}

}  // namespace

void Identity::note_former(const std::string& store_id) {
  if (std::find(former.begin(), former.end(), store_id) != former.end()) return;
  former.push_back(store_id);
  if (former.size() > kFormerMax) former.erase(former.begin());
}

Status IdentityRecord::load(const RecordView& record) {
  Result<Json> json = Json::parse(record.value, {.bytes = record.value.size(), .depth = 8});
  const Json* term = json ? json->find("term") : nullptr;
  const Json* store_id = json ? json->find("storeId") : nullptr;
  const Json* adopt = json ? json->find("adopt") : nullptr;
  if (term == nullptr || !term->is_string() || store_id == nullptr || !store_id->is_string()) {
    return Status::error("stored meta \"gateway\": term and storeId must be strings");
  }
  Result<Epoch> epoch = parse_epoch(term->as_string());
  if (!epoch) return Status::error("stored meta \"gateway\": term: " + epoch.error().message());
  identity_.id = {epoch->term, store_id->as_string()};
  if (const Json* terms = json->find("terms"); terms != nullptr) {
    Result<TermHistory> history = TermHistory::parse(*terms);
    if (!history) return Status::error("stored meta \"gateway\": terms: " + history.error().message());
    identity_.terms = std::move(*history);
  }
  identity_.rolled_back = json->find("rolledBack") != nullptr;
  identity_.followed = json->find("followed") != nullptr;
  identity_.led = json->find("led") != nullptr;
  identity_.is_new = json->find("new") != nullptr;
  identity_.awaits_operator = json->find("awaitsOperator") != nullptr;
  identity_.statuses_unread = json->find("statusesUnread") != nullptr;
  if (adopt != nullptr && adopt->is_array()) {
    identity_.adopting = true;
    for (const Json& node : adopt->as_array()) {
      if (node.is_string()) identity_.adopt_nodes.insert(node.as_string());
    }
  }
  if (const Json* former = json->find("former"); former != nullptr && former->is_array()) {
    for (const Json& id : former->as_array()) {
      if (id.is_string()) identity_.note_former(id.as_string());
    }
  }
  for (const auto& [key, names] : named_sets(identity_)) {
    const Json* list = json->find(key);
    if (list == nullptr || !list->is_array()) continue;
    for (const Json& name : list->as_array()) {
      if (name.is_string()) names->insert(name.as_string());
    }
  }
  return Status::ok();
}

void IdentityRecord::save() {
  if (!std::exchange(changed_, false)) return;
  Json value = Json::object();
  value.set("term", to_text(Epoch{identity_.id.term, 0}));
  value.set("storeId", identity_.id.store_id);
  value.set("terms", identity_.terms.to_json());
  if (identity_.rolled_back) value.set("rolledBack", true);
  if (identity_.followed) value.set("followed", true);
  if (identity_.led) value.set("led", true);
  if (identity_.is_new) value.set("new", true);
  if (identity_.awaits_operator) value.set("awaitsOperator", true);
  if (identity_.adopting) {
    Json nodes = Json::array();
    for (const std::string& node : identity_.adopt_nodes) nodes.push_back(node);
    value.set("adopt", std::move(nodes));
  }
  if (identity_.statuses_unread) value.set("statusesUnread", true);
  if (!identity_.former.empty()) {
    Json list = Json::array();
    for (const std::string& id : identity_.former) list.push_back(id);
    value.set("former", std::move(list));
  }
  for (const auto& [key, names] : named_sets(identity_)) {
    if (names->empty()) continue;
    Json list = Json::array();
    for (const std::string& name : *names) list.push_back(name);
    value.set(key, std::move(list));
  }
  store_.put(Table::meta, std::string(kRecord), value.dump());
}

}  // namespace berth
