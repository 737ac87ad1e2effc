// The natural logarithm with identical bits on every machine: scores depend on it, and C libraries differ.
// Source of the rule: Go's math.Log on amd64 (src/math/log_amd64.s), which is FreeBSD's e_log.c; error below 1 ulp.
#pragma once

namespace berth {

// `x`: finite, at least 2^-1022 (CHECK).
double natural_log(double x);

}  // namespace berth
