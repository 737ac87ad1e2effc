#include "tests/unit/precompiled.h"
