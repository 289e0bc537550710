//===- AttendTile.h - how a block of an attend kernel divides its work -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The one place where sizes of attend kernels are decided. A block has groups of
// 16 rows (the M of the matrix instruction); each group has `columnWarps` warps,
// which share the entries of a tile when scores are computed, and the channels
// of the value when they are applied. All groups read the same tile of entries.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_NVPTX_ATTENDTILE_H
#define ATTNC_CODEGEN_NVPTX_ATTENDTILE_H

#include "codegen/NVPTX/Target.h"
#include "codegen/Plan/KernelSpec.h"

namespace attnc::nvptx {

struct AttendTile {
  int64_t groups = 1;      ///< of 16 rows
  int64_t columnWarps = 4; ///< of each group
  int64_t entries = 64;    ///< of a tile
  int64_t stages = 2;      ///< tiles in flight

  // Derived: all sizes in shared memory are in bytes.
  int64_t keyChannels = 0;   ///< all parts, each rounded up to 16
  int64_t valueChannels = 0; ///< rounded up to 16
  bool ownValue = false;     ///< the value is no key part
  int64_t queryBytes = 0, keyBytes = 0, valueBytes = 0, weightBytes = 0, reduceBytes = 0;

  int64_t rows() const { return groups * 16; }
  int64_t warps() const { return groups * columnWarps; }
  int64_t threads() const { return warps() * 32; }
  /// Of 16 channels each, that one warp accumulates.
  int64_t channelBlocks() const {
    return (valueChannels / 16 + columnWarps - 1) / columnWarps;
  }
  /// A row in shared memory is 16 bytes longer than its channels: then the eight
  /// rows that one matrix load reads lie in different banks.
  static int64_t pitch(int64_t channels) { return channels * 2 + 16; }
  int64_t keyPitch() const { return pitch(keyChannels); }
  int64_t valuePitch() const { return ownValue ? pitch(valueChannels) : keyPitch(); }
  int64_t weightPitch() const { return pitch(entries); }
  int64_t sharedBytes() const {
    return queryBytes + stages * (keyBytes + valueBytes) + weightBytes + reduceBytes;
  }
};

/// The largest tile that the chip has room for; an error with the numbers when
/// there is none.
Result<AttendTile> chooseAttendTile(const AttendSpec &spec, const Chip &chip);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_ATTENDTILE_H
