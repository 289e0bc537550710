//===- Peaks.h - what this machine can do at most ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_BENCH_PEAKS_H
#define ATTNC_BENCH_PEAKS_H

namespace attnc::bench {

/// Floating-point operations per second of `threads` threads that do nothing but
/// f32 multiply-adds in registers. Measured on first use, best of a few.
double fmaPeak(int threads);

/// Bytes per second that `threads` threads read from memory.
double dramPeak(int threads);

} // namespace attnc::bench

#endif // ATTNC_BENCH_PEAKS_H
