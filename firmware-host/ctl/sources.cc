#include "firmware-host/ctl/sources.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace berth {

namespace {

namespace fs = std::filesystem;

bool is_manifest(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

// Appends the manifests of the directory; directories of symbolic links are not entered, so no tree is endless.
template <class Iterator>
std::error_code append_manifests(const std::string& directory, std::vector<std::string>& to) {
  std::error_code error;
  for (Iterator entry(directory, error); !error && entry != Iterator(); entry.increment(error)) {
    std::error_code unknown;  // a broken link: told when the file is opened
    if (is_manifest(entry->path()) && !entry->is_directory(unknown)) to.push_back(entry->path().string());
  }
  return error;
}

}  // namespace

Outcome<std::vector<std::string>> manifest_files(const std::vector<std::string>& named, bool recursive) {
  std::vector<std::string> files;
  for (const std::string& name : named) {
    std::error_code unknown;
    if (name == "-" || !fs::is_directory(name, unknown)) {
      files.push_back(name);
      continue;
    }
    std::vector<std::string> found;
    const std::error_code error = recursive ? append_manifests<fs::recursive_directory_iterator>(name, found)
                                            : append_manifests<fs::directory_iterator>(name, found);
    if (error) return fail(Exit::usage, name + ": cannot read directory: " + error.message());
    if (found.empty()) {
      return fail(Exit::usage, name + ": the directory has no files *.yaml, *.yml or *.json" +
                                   (recursive ? "" : "; -R also takes those of the directories below"));
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace berth
