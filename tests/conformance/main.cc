// berth_conformance DIR...: replays what kube-scheduler was recorded to do. Every JSON file below a DIR is a family;
// its first case tells which kind. Prints per family and last in total "N passed, N failed" in records; what is left
// out for want of something, and what deviates on purpose, is counted apart. Exit code 1 on a failure, 77 when there is
// nothing to replay. Without DIR, BERTH_CONFORMANCE names it.
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

using Replay = berth::Verdict (*)(const berth::Json&);

// Null when no family has cases of this shape.
Replay replay_for(const berth::Json& first) {
  const berth::Json& input = berth::at(first, "input");
  if (!berth::at(first, "kind").is_null() || !berth::at(input, "kind").is_null()) return berth::replay_hint;
  if (!berth::at(input, "ops").is_null()) return berth::replay_queue;
  if (!berth::at(input, "profile").is_null()) return berth::replay_extension_points;
  if (!berth::at(input, "pending").is_null()) return berth::replay_decisions;
  return nullptr;
}

void print_apart(const std::map<std::string, int>& counts, const char* word) {
  for (const auto& [what, number] : counts) std::cout << "; " << number << " " << word << " (" << what << ")";
}

void add(berth::Verdict& total, const berth::Verdict& verdict) {
  total.same += verdict.same;
  for (const auto& [what, number] : verdict.left_out) total.left_out[what] += number;
  for (const auto& [what, number] : verdict.wanted) total.wanted[what] += number;
  total.differences.insert(total.differences.end(), verdict.differences.begin(), verdict.differences.end());
}

void print_counts(const std::string& name, const berth::Verdict& verdict) {
  std::cout << name << verdict.same << " passed, " << verdict.differences.size() << " failed";
  print_apart(verdict.left_out, "left out");
  print_apart(verdict.wanted, "deviate on purpose");
  std::cout << "\n";
}

// False when the file is no family.
bool play_family(const fs::path& file, berth::Verdict& total) {
  std::ifstream in(file);
  std::stringstream content;
  content << in.rdbuf();
  const berth::Result<berth::Json> cases = berth::Json::parse(content.str(), {.bytes = kMaxFileBytes, .depth = 64});
  if (!in || !cases || berth::list(*cases).empty()) {
    std::cerr << "berth_conformance: cannot read " << file << (cases ? "" : ": " + cases.error().message()) << "\n";
    return false;
  }
  const Replay replay = replay_for(cases->as_array().front());
  if (replay == nullptr) {
    std::cerr << "berth_conformance: " << file << " holds no cases of a known family\n";
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
    std::cout << "no recorded cases; name their folder: berth_conformance DIR, or BERTH_CONFORMANCE\n";
    return kSkipped;
  }
  berth::Verdict total;
  bool readable = true;
  for (const fs::path& family : families) readable = play_family(family, total) && readable;
  if (!total.left_out.empty() || !total.wanted.empty()) print_counts("apart, of all: ", total);
  std::cout << total.same << " passed, " << total.differences.size() << " failed\n";
  return readable && total.differences.empty() ? 0 : 1;
}
