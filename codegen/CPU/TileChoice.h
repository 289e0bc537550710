//===- TileChoice.h - tiles, lanes and splits -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every decision about how CPU kernels are tiled is made here, from a kernel's
// shape and the target's vectors, and nowhere else.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_CPU_TILECHOICE_H
#define ATTNC_CODEGEN_CPU_TILECHOICE_H

#include "codegen/CPU/Target.h"
#include "codegen/Plan/KernelSpec.h"

namespace attnc::cpu {

/// How the rows of an attend item, (token, head) pairs, lie in vectors. With few
/// rows, several channels of one row share a vector instead of idle lanes:
/// a lane is row j, channel c of `channels` neighbouring ones.
struct AttendForm {
  int64_t lanes = 0;    ///< of a vector
  int64_t channels = 1; ///< C: channels side by side
  int64_t vectors = 2;  ///< G: vectors of rows that one pass works on
  int64_t keys = 12;    ///< entries per block of the score loop
  int64_t values = 8;   ///< channel vectors per block of the value loop
  int64_t tile = 48;    ///< entries unpacked at a time; a multiple of `keys`

  int64_t rowsPerVector() const { return lanes / channels; }
  int64_t rowsPerPass() const { return rowsPerVector() * vectors; }
  int64_t width() const { return lanes * vectors; } ///< lanes of a pass
};

struct AttendChoice {
  /// By ascending rowsPerPass; an item takes the first that holds its rows, the
  /// last one in several passes.
  std::vector<AttendForm> forms;
  int64_t maxRows = 0;      ///< of an item
  int64_t splitEntries = 0; ///< entries per split when an item has few rows
};

AttendChoice chooseAttend(const AttendSpec &spec, const CpuTarget &target);

/// An item is a panel of outputs. Tokens of a chunk pass over it strip by strip:
/// a block of tokens times a strip is what registers hold.
struct ProjectChoice {
  int64_t panel = 256; ///< outputs side by side; a multiple of strip
  int64_t strip = 64;  ///< outputs of a block
  int64_t tokens = 6;  ///< of a block
  int64_t blocks = 16; ///< of tokens in a chunk
  int64_t depth = 64;  ///< inputs summed before a partial sum is put away
  int64_t sums = 16;   ///< vectors of independent sums of a single token
};

ProjectChoice chooseProject(const ProjectSpec &spec, const CpuTarget &target);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_TILECHOICE_H
