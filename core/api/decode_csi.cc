// CSINode, CSIDriver and CSIStorageCapacity (storage/v1).
#include "core/api/decode_parts.h"
#include "core/api/read_quantity.h"
#include "core/api/volume.h"

namespace berth {

Result<CsiNode> decode_csi_node(const Json& json, Warnings* warnings, Rules rules) {
  constexpr std::string_view kDriverForm = "the name of a CSI driver such as disk.csi.example.com";
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  CsiNode node;
  decode::read_head(reader, Kind::csi_node, node.metadata);
  reader.read_object("spec", [&](FieldReader& spec) {
    spec.read_each("drivers", [&](FieldReader& item) {
      CsiNode::Driver driver;
      if (item.require("name", kDriverForm)) item.read_string("name", driver.name);
      item.read_object("allocatable", [&](FieldReader& allocatable) {
        std::int32_t count = 0;
        if (allocatable.read_int32("count", count, 0)) driver.attach_limit = count;
      });
      for (const CsiNode::Driver& other : node.drivers) {
        if (other.name == driver.name) item.rule("name", "another driver of the node has this name; keep one");
      }
      node.drivers.push_back(std::move(driver));
    });
  });
  reader.finish();
  return decode::conclude(Kind::csi_node, std::move(node), json, findings, warnings);
}

Result<CsiDriver> decode_csi_driver(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  CsiDriver driver;
  decode::read_head(reader, Kind::csi_driver, driver.metadata);
  reader.read_object("spec", [&](FieldReader& spec) { spec.read_bool("storageCapacity", driver.storage_capacity); });
  reader.finish();
  return decode::conclude(Kind::csi_driver, std::move(driver), json, findings, warnings);
}

Result<CsiStorageCapacity> decode_csi_storage_capacity(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  CsiStorageCapacity capacity;
  decode::read_head(reader, Kind::csi_storage_capacity, capacity.metadata);
  if (reader.require("storageClassName", decode::kNameForm)) {
    reader.read_checked("storageClassName", capacity.storage_class_name, is_valid_name, decode::kNameForm);
  }
  reader.read_object("nodeTopology", [&](FieldReader& selector) {
    decode::read_label_selector(selector, capacity.node_topology.emplace());
  });
  Quantity amount;
  if (read_quantity(reader, "capacity", amount)) capacity.capacity = amount;
  if (read_quantity(reader, "maximumVolumeSize", amount)) capacity.maximum_volume_size = amount;
  for (const auto& [key, value] :
       {std::pair("capacity", capacity.capacity), std::pair("maximumVolumeSize", capacity.maximum_volume_size)}) {
    if (value && *value < Quantity()) reader.rule(key, "must not be negative");
  }
  reader.finish();
  return decode::conclude(Kind::csi_storage_capacity, std::move(capacity), json, findings, warnings);
}

}  // namespace berth
