//===- Attend.h - the attend kernel of CPU code -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Folds entries [e0, e1) of one source into the softmax states of an item's
// rows. Rows lie in vector lanes, so that one loaded channel of a key meets many
// queries at once:
//
//   pack    the queries, times the scale, into panels [pass][channel][lane]
//   for each tile of entries
//     unpack  their rows to f32, once for all rows of the item
//     for each pass (as many rows as registers hold)
//       score   tile x queries -> [entry][lane]
//       soften  map, mask, running maximum, powers of two, running sum
//       gather  scores x tile -> accumulators [channel][lane]
//   store   the state back to [token][head]
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_CPU_ATTEND_H
#define ATTNC_CODEGEN_CPU_ATTEND_H

#include "codegen/CPU/Kernel.h"
#include "codegen/CPU/Pieces/Rows.h"
#include "codegen/CPU/TileChoice.h"

#include <functional>

namespace attnc::cpu {

/// The arguments of an attend kernel (formats/KernelAbi.h).
struct AttendArgs {
  llvm::SmallVector<ViewArg> queries;
  llvm::SmallVector<RowSource> rowSources; ///< keys, then a value of its own
  Val rows;
  Mem rowToken, rowHead, low, high, rowPosition;
  Val kvHead, begin, end, init;
  Mem acc, max, sum;
  Mem scratch;
  llvm::SmallVector<Mem> consts;

  static AttendArgs declare(KernelScope &kernel, const AttendSpec &spec);
};

/// Where things lie in scratch, in f32 from its start, for one form.
struct AttendLayout {
  AttendLayout(const AttendSpec &spec, const AttendForm &form, int64_t maxRows);

  int64_t keyVectors = 0;   ///< channel vectors of a query: dk / C, rounded up
  int64_t valueVectors = 0; ///< dv / C, rounded up
  int64_t valueOffset = 0;  ///< of the value in a row of the tile
  int64_t tileStride = 0;   ///< of a row of the tile

  int64_t tile = 0, queries = 0, scores = 0, acc = 0, max = 0, sum = 0;
  int64_t low = 0, high = 0, bounds = 0;           ///< i32
  int64_t position = 0, head = 0, consts = 0;      ///< for a score map
  int64_t size = 0;

private:
  int64_t place(int64_t count);
};

/// Writes the code of one form into the function of `kernel`.
class AttendWriter {
public:
  AttendWriter(KernelScope &kernel, const AttendSpec &spec, const AttendForm &form,
               const AttendChoice &choice);
  void write();

private:
  // AttendRows.cpp: rows of the item to lanes and back.
  void forLiveRows(llvm::function_ref<void(Val row, Val token, Val head, Val pass, Val lane)> body);
  /// Channels of rows outside, [token][head], and the place of the same in
  /// scratch, where rows lie in lanes.
  struct LaneBlock {
    int64_t place = 0;          ///< in scratch
    int64_t channelVectors = 0; ///< per pass
    int64_t offset = 0;         ///< of channel 0 among those of a lane
    int64_t channels = 0;
    std::function<Mem(Val token, Val head)> row;
    Val factor; ///< on the way to the lanes; may be null
  };
  void move(const LaneBlock &block, bool toLanes);
  void moveRows(const LaneBlock &block, Val from, Val to, bool toLanes);
  void moveSquares(const LaneBlock &block, Val first, bool toLanes);
  void moveAcc(bool toLanes);
  void packQueries();
  void fillRowInfo();
  void fillBounds();
  void initState();
  void loadState();
  void storeState();
  Val stateRow(Val token, Val head) { return token * spec.heads + head; }
  void fill(int64_t offset, Val count, Val value);

  // AttendTile.cpp: one tile of entries.
  void unpack(Val entry, Val count);
  void visit(Val pass, Val entry, Val count);
  void score(Val pass, Val keyEnd);
  Vals plainMaximum(Val pass, Val keyEnd, Vals max);
  Vals mappedMaximum(Val pass, Val entry, Val keyEnd, Vals max, bool masked);
  Val mapScore(Val pass, Val entry, int64_t vector, Val score);
  void soften(Val pass, Val entry, Val keyEnd, Val full, Vals &rescale);
  void gather(Val pass, Val keyEnd, llvm::ArrayRef<Val> rescale, bool masked);
  void gatherBlock(Val pass, Val keyEnd, llvm::ArrayRef<Val> rescale, bool masked,
                   Val channel, int64_t channels);
  Val tileVector(Val index);
  Vals load(int64_t offset, Val index);
  void store(int64_t offset, Val index, llvm::ArrayRef<Val> values);

  Emit &e;
  const AttendSpec &spec;
  const AttendForm form;
  const AttendLayout layout;
  AttendArgs a;
  Val passes;
};

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_ATTEND_H
