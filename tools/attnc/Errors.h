//===- Errors.h - how far two sets of rows lie apart -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_ATTNC_ERRORS_H
#define ATTNC_TOOLS_ATTNC_ERRORS_H

#include <cstdint>

namespace attnc {

/// Largest difference and relative L2 error of `found` against `expected`. A
/// NaN on either side makes both NaN, so that no comparison can pass.
struct Deviation {
  double maxAbs = 0, relL2 = 0;
  int64_t nans = 0; ///< NaNs in `found` or `expected`
};

template <typename Found, typename Expected>
Deviation deviation(const Found *found, const Expected *expected, int64_t count);

/// `bound` on the relative error; false when a NaN was met.
inline bool within(const Deviation &d, double bound) { return d.nans == 0 && d.relL2 <= bound; }

} // namespace attnc

#include <algorithm>
#include <cmath>
#include <limits>

template <typename Found, typename Expected>
attnc::Deviation attnc::deviation(const Found *found, const Expected *expected, int64_t count) {
  Deviation result;
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < count; ++i) {
    double f = double(found[i]), e = double(expected[i]);
    if (std::isnan(f) || std::isnan(e)) {
      ++result.nans;
      continue;
    }
    result.maxAbs = std::max(result.maxAbs, std::abs(f - e));
    difference += (f - e) * (f - e);
    norm += e * e;
  }
  if (result.nans)
    result.maxAbs = result.relL2 = std::numeric_limits<double>::quiet_NaN();
  else
    result.relL2 = norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
  return result;
}

#endif // ATTNC_TOOLS_ATTNC_ERRORS_H
