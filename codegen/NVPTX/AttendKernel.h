//===- AttendKernel.h - the parts of an attend kernel ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A block folds the entries [e0, e1) of one item into the states of its rows.
// Queries lie in shared memory as bf16, one row per (token, head). A tile of
// entries at a time is copied to shared memory as bf16; then each group of warps
// computes scores (matrix instruction), the online softmax in base 2, and adds
// weights times values (matrix instruction) to its accumulators in registers.
//
// AttendLoad.cpp brings rows into shared memory, AttendMath.cpp computes, and
// EmitAttend.cpp puts them in order.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_NVPTX_ATTENDKERNEL_H
#define ATTNC_CODEGEN_NVPTX_ATTENDKERNEL_H

#include "codegen/NVPTX/AttendTile.h"
#include "codegen/NVPTX/Emitters.h"
#include "codegen/NVPTX/RowAccess.h"

#include <optional>

namespace attnc::nvptx {

class AttendKernel {
public:
  AttendKernel(const AttendSpec &spec, const AttendTile &tile, const EmitTarget &target);

  /// Writes the whole kernel.
  EmittedKernel emit();

private:
  /// One of the two rows that a thread holds scores and accumulators of.
  struct Row {
    Val valid;           ///< i1
    Val token, head;     ///< i32
    Val lo, hi;          ///< i32: the entries of this item that the row sees
    Val position;        ///< f32: of the token
    Val state;           ///< i64: index of its state
    Vals consts;         ///< of the score map, for its head
  };
  /// What a thread carries from tile to tile.
  struct State {
    Val max[2], sum[2]; ///< per row; sums are of this thread's entries only
    Vals acc;           ///< [channel block][8 channels]: 2 rows x 2 channels

    Vals pack() const;
    static State unpack(llvm::ArrayRef<Val> values);
  };

  // Beginning and end (EmitAttend.cpp).
  void takeArguments();
  void readItem();
  void divideThreads();
  Row readRow(int64_t half);
  State firstState();
  State pipelined(Val tiles, State state);
  State unpipelined(Val tiles, State state);
  State foldTile(Val tileIndex, Val stage, State state);
  void writeState(const State &state);
  /// Calls `use` for every accumulator element that exists: its number, the row,
  /// the lane of its vector and its channel (i32); under a condition if need be.
  void forEachAccumulator(llvm::function_ref<void(size_t, int64_t, int64_t, Val)> use);

  // AttendLoad.cpp.
  void loadQueries();
  void loadQueryPart(size_t part, int64_t column, Val row, Val token, Val head, Val valid);
  void loadTile(Val tileIndex, Val stage);
  void loadRows(const RowSource::Bound &rows, Val firstEntry, Val to, int64_t pitch);
  void copyRow(const RowSource &source, Val offset, Val to, Val valid);
  void convertRow(const RowSource &source, Val offset, Val to, Val valid);
  Val pairOfElements(const RowSource &source, Val row, Val pair, Val valid, bool partial);

  // AttendMath.cpp.
  Vals scoreTile(Val stage);
  Val mapScore(const Row &row, Val score, Val entry);
  /// Where a warp of the group leaves a number about one of this thread's rows.
  Val reducePlace(Val warpOfGroup, int64_t half);
  Val entryOf(Val tileIndex, int64_t block, int64_t which);
  void softmax(Val tileIndex, const Vals &scores, State &state);
  void accumulate(Val stage, State &state);
  Val exp2(Val x) { return k.device("attn_dev_ex2", {x}); }

  /// The channel (i32) of this thread's first accumulator of a channel block,
  /// and whether the block exists.
  struct Channels {
    Val first, exists; ///< `exists` is null where every warp has the block
  };
  Channels channelsOf(int64_t block);
  int64_t scoreBlocks() const { return tile.entries / tile.columnWarps / 8; }
  Val stageKeys(Val stage) { return stage * tile.keyBytes + keysAt; }
  /// Where the value's rows of a stage begin.
  Val stageValues(Val stage);

  const AttendSpec &spec;
  AttendTile tile;
  Kernel k;

  // Arguments.
  llvm::SmallVector<ViewArg> queries;
  llvm::SmallVector<RowSource> sources; ///< keys, then the value if it is none
  Val items, rowToken, rowHead, rowLo, rowHi, rowPos;
  Val accs, maxs, sums, tokens;
  Vals constArrays;

  // The item.
  Val rowBegin, rowCount, sequence, kvHead, e0, e1, split, init;
  llvm::SmallVector<RowSource::Bound> bound;

  // This thread: its lane, warp, group of rows, warp in the group; lane 4g + t.
  Val lane, warp, group, column, g, t;
  Row rows[2]; ///< g and g + 8 of the group

  int64_t queriesAt = 0, keysAt = 0, valuesAt = 0, weightsAt = 0, reduceAt = 0;
};

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_ATTENDKERNEL_H
