// BERTH_VECTORIZED: for functions that are loops over all nodes, written without branches so that the compiler takes
// several nodes at once. On x86-64 GCC compiles them three times, for the baseline (two doubles at once), for AVX2
// (four) and for AVX-512 (eight); the loader chooses by the processor, once (GCC manual, "Function Multiversioning").
// The results are the same, as every operation is rounded as on the baseline: -ffp-contract=off keeps multiplication
// and addition apart, which AVX-512 could fuse. On ARM the baseline is all there is; clang, which builds for checks
// only, does the same everywhere. What such a function calls is inlined, as it would otherwise stay compiled for the
// baseline: it calls only what is in headers or in its own file.
#pragma once

// With a sanitizer the loader would choose before the sanitizer has been set up.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define BERTH_VECTORIZED [[gnu::flatten, gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define BERTH_VECTORIZED [[gnu::flatten]]
#endif
