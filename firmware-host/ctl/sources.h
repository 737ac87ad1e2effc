// The files that -f names: a directory stands for the manifests in it.
#pragma once

#include <string>
#include <vector>

#include "firmware-host/ctl/outcome.h"

namespace berth {

// Replaces each directory by its files *.yaml, *.yml and *.json, sorted by path; `recursive`: also those of the
// directories below. "-" and names of files are kept as they are. Exit::usage if a directory cannot be read or has
// none.
Outcome<std::vector<std::string>> manifest_files(const std::vector<std::string>& named, bool recursive);

}  // namespace berth
