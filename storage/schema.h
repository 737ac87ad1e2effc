// The text of schema.sql, built into the program.
#pragma once

namespace berth {

extern const char kSchemaSql[];

}  // namespace berth
