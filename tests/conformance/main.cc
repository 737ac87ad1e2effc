// berth_conformance DIR...: replays recorded cases of kube-scheduler and of the workload controllers. Every JSON file
// below a DIR is a family of cases; the first case determines its kind. Prints the number of records as "N passed, N
// failed", per family and in total; records that need a missing feature, and those that deviate on purpose, are counted
// separately. Exit code 1 on a failure, 77 if there is nothing to replay. Without DIR, BERTH_CONFORMANCE is used.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/conformance/verdict.h"

namespace {

namespace fs = std::filesystem;

constexpr int kSkipped = 77;
constexpr std::size_t kMaxFileBytes = 256u << 20;

using ReplayFunction = berth::Verdict (*)(const berth::Json&);

// Null if no kind of family has cases of this form.
ReplayFunction replay_for(const berth::Json& first) {
  const berth::Json& input = berth::at(first, "input");
  if (!berth::at(first, "kind").is_null() || !berth::at(input, "kind").is_null()) return berth::replay_hint;
  if (!berth::at(input, "schedule").is_null()) return berth::replay_cron_schedule;
  if (!berth::at(input, "controllers").is_null()) return berth::replay_controllers;
  if (!berth::at(input, "ops").is_null()) return berth::replay_queue;
  if (!berth::at(input, "profile").is_null()) return berth::replay_extension_points;
  if (!berth::at(input, "pending").is_null()) return berth::replay_decisions;
  return nullptr;
}

void print_extra(const std::map<std::string, int>& counts, const char* label) {
  for (const auto& [what, number] : counts) std::cout << "; " << number << " " << label << " (" << what << ")";
}

void add(berth::Verdict& total, const berth::Verdict& verdict) {
  total.same += verdict.same;
  for (const auto& [what, number] : verdict.left_out) total.left_out[what] += number;
  for (const auto& [what, number] : verdict.intended) total.intended[what] += number;
  total.differences.insert(total.differences.end(), verdict.differences.begin(), verdict.differences.end());
}

void print_counts(const std::string& name, const berth::Verdict& verdict) {
  std::cout << name << verdict.same << " passed, " << verdict.differences.size() << " failed";
  print_extra(verdict.left_out, "left out");
  print_extra(verdict.intended, "deviate on purpose");
  std::cout << "\n";
}

// False if the file cannot be read or is not a family of cases.
bool replay_family(const fs::path& file, berth::Verdict& total) {
  std::ifstream in(file);
  std::stringstream content;
  content << in.rdbuf();
  const berth::Result<berth::Json> cases = berth::Json::parse(content.str(), {.bytes = kMaxFileBytes, .depth = 64});
  if (!in || !cases || berth::list(*cases).empty()) {
    std::cerr << "berth_conformance: cannot read " << file << (cases ? "" : ": " + cases.error().message()) << "\n";
    return false;
  }
  const ReplayFunction replay = replay_for(cases->as_array().front());
  if (replay == nullptr) {
    std::cerr << "berth_conformance: " << file << " does not contain cases of a known kind\n";
    return false;
  }
  berth::Verdict family;
  for (const berth::Json& each : cases->as_array()) {
    const berth::Verdict verdict = replay(each);
    const std::string name = berth::text(berth::at(each, "name"));
    for (const std::string& difference : verdict.differences) {
      std::cout << "FAILED " << file.stem().string() << " " << name << ": " << difference << "\n";
    }
    add(family, verdict);
  }
  print_counts(file.stem().string() + ": ", family);
  add(total, family);
  return true;
}

std::vector<fs::path> find_families(const std::vector<std::string>& named) {
  std::vector<fs::path> files;
  for (const std::string& path : named) {
    if (fs::is_regular_file(path)) files.emplace_back(path);
    if (!fs::is_directory(path)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> named(argv + 1, argv + argc);
  if (named.empty() && std::getenv("BERTH_CONFORMANCE") != nullptr)
    named.emplace_back(std::getenv("BERTH_CONFORMANCE"));
  const std::vector<fs::path> families = find_families(named);
  if (families.empty()) {
    std::cout << "no recorded cases found; give their folder: berth_conformance DIR, or set BERTH_CONFORMANCE\n";
    return kSkipped;
  }
  berth::Verdict total;
  bool readable = true;
  for (const fs::path& family : families) readable = replay_family(family, total) && readable;
  if (!total.left_out.empty() || !total.intended.empty()) print_counts("all families: ", total);
  std::cout << total.same << " passed, " << total.differences.size() << " failed\n";
  return readable && total.differences.empty() ? 0 : 1;
}
