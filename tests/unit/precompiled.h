// Headers that most unit tests include, precompiled for builds from scratch (CMakeLists.txt). The tests include them
// too.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/agent/agent.h"
#include "core/gateway/gateway.h"
#include "core/random.h"
#include "core/scheduler/scheduling_cycle.h"
#include "plugins/registry.h"
#include "storage/memory_store.h"
