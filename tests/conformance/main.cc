// berth_conformance [DIR [FAMILY...]]: replays recorded decisions of kube-scheduler. DIR holds one JSON file per
// family (or a folder kube-scheduler-1.35 of them); without it BERTH_CONFORMANCE names it. Prints per family how many
// records are the same, differ, and need plugins that are not here; exit code 77 when there are no vectors.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "tests/conformance/replay.h"

namespace {

constexpr int kSkipped = 77;
constexpr std::size_t kMaxFileBytes = 64u << 20;

const std::vector<std::string> kFamilies{"noderesources-fit",
                                         "taints",
                                         "schedulinggates",
                                         "volumebinding",
                                         "nodename-unschedulable-ports",
                                         "nodeaffinity",
                                         "balanced-allocation",
                                         "imagelocality",
                                         "topologyspread",
                                         "interpodaffinity",
                                         "volumezone",
                                         "volumerestrictions",
                                         "nodevolumelimits",
                                         "preemption",
                                         "mixed",
                                         "edge-sequences",
                                         "noderesources-scoring"};

struct Count {
  int passed = 0;
  int failed = 0;
  std::map<std::string, int> left_out;
};

// False when the file cannot be read.
bool play_family(const std::filesystem::path& file, const std::string& family, Count& total) {
  std::ifstream in(file);
  std::stringstream content;
  content << in.rdbuf();
  const berth::Result<berth::Json> cases = berth::Json::parse(content.str(), {.bytes = kMaxFileBytes, .depth = 64});
  if (!in || !cases || !cases->is_array()) {
    std::cerr << "berth_conformance: cannot read " << file << (cases ? "" : ": " + cases.error().message()) << "\n";
    return false;
  }
  Count count;
  for (const berth::Json& each : cases->as_array()) {
    const berth::Verdict verdict = berth::replay(each);
    count.passed += verdict.same;
    for (const auto& [why, number] : verdict.left_out) count.left_out[why] += number;
    if (verdict.difference.empty()) continue;
    ++count.failed;
    std::cout << "FAILED " << (each.find("name") ? each.find("name")->as_string() : "?") << ": " << verdict.difference
              << "\n";
  }
  std::cout << family << ": " << count.passed << " the same, " << count.failed << " not";
  for (const auto& [why, number] : count.left_out) std::cout << "; " << number << " left out (" << why << ")";
  std::cout << "\n";
  total.passed += count.passed;
  total.failed += count.failed;
  return true;
}

std::filesystem::path find_vectors(int argc, char** argv) {
  const char* named = argc > 1 ? argv[1] : std::getenv("BERTH_CONFORMANCE");
  if (named == nullptr) return {};
  const std::filesystem::path folder(named);
  return std::filesystem::exists(folder / "kube-scheduler-1.35") ? folder / "kube-scheduler-1.35" : folder;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder = find_vectors(argc, argv);
  if (folder.empty() || !std::filesystem::exists(folder / "taints.json")) {
    std::cout << "no conformance vectors; name their folder: berth_conformance DIR, or BERTH_CONFORMANCE\n";
    return kSkipped;
  }
  std::vector<std::string> families(argv + std::min(argc, 2), argv + argc);
  if (families.empty()) families = kFamilies;
  Count total;
  for (const std::string& family : families) {
    if (!play_family(folder / (family + ".json"), family, total)) return 1;
  }
  std::cout << total.passed << " passed, " << total.failed << " failed\n";
  return total.failed == 0 ? 0 : 1;
}
