#include "tests/sim/sabotage.h"

namespace berth::sim {

const std::vector<SabotageName>& sabotages() {
  static const std::vector<SabotageName> kNames{
      {Sabotage::s1, "S1"},           {Sabotage::s2, "S2"},        {Sabotage::s3, "S3"},
      {Sabotage::s4, "S4"},           {Sabotage::s5, "S5"},        {Sabotage::s6, "S6"},
      {Sabotage::s7, "S7"},           {Sabotage::s8, "S8"},        {Sabotage::s9, "S9"},
      {Sabotage::s10, "S10"},         {Sabotage::s11, "S11"},      {Sabotage::s12, "S12"},
      {Sabotage::held, "HELD"},       {Sabotage::ports, "PORTS"},  {Sabotage::devices, "DEVICES"},
      {Sabotage::volumes, "VOLUMES"}, {Sabotage::final_, "FINAL"}, {Sabotage::l1, "L1"},
      {Sabotage::l2, "L2"},           {Sabotage::l3, "L3"},        {Sabotage::l4, "L4"},
      {Sabotage::l5, "L5"},           {Sabotage::m, "M"},          {Sabotage::order, "ORDER"},
      {Sabotage::rollout, "ROLLOUT"}};
  return kNames;
}

std::optional<Sabotage> find_sabotage(std::string_view name) {
  for (const SabotageName& known : sabotages()) {
    if (known.name == name) return known.sabotage;
  }
  return std::nullopt;
}

std::string_view to_string(Sabotage sabotage) {
  for (const SabotageName& known : sabotages()) {
    if (known.sabotage == sabotage) return known.name;
  }
  return "none";
}

}  // namespace berth::sim
