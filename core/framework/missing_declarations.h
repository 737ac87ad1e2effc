// Which plugins of a profile do not declare what their results depend on (declarations.h), and what that costs, in
// words for the operator.
#pragma once

#include <string>
#include <vector>

namespace berth {

class Framework;

struct MissingDeclaration {
  std::string plugin;
  std::string points;  // "Filter, Score"
  std::string cost;    // what is called again for every pod, a sentence for each point
};

// For an ordinary pod, one without volumes: many plugins read objects for the others. By plugin name.
std::vector<MissingDeclaration> missing_declarations(const Framework& framework);

}  // namespace berth
