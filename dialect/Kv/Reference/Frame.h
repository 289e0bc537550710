//===- Frame.h - one body of a step over some sequences -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the reference executor.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_KV_REFERENCE_FRAME_H
#define ATTNC_DIALECT_KV_REFERENCE_FRAME_H

#include "dialect/Attn/Interpreter/Evaluation.h"
#include "dialect/Kv/Reference/ReferenceExecutor.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::kv {

/// Entries [begin, end).
struct EntryRange {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

/// The elements of all sequences that one rate has in this step, one sequence
/// after another: sequence s holds entries [firstEntry[s], firstEntry[s] +
/// count[s]) as elements first[s] and following.
struct Axis {
  std::vector<int64_t> first, firstEntry, count;
  std::vector<int64_t> positions; ///< of each element's first token
};

/// A softmax state for each token and head: acc is not normalised.
struct SoftmaxState {
  int64_t heads, channels;
  std::vector<double> acc, max, sum;

  SoftmaxState(int64_t tokens, int64_t heads, int64_t channels);
};

struct Folding;

class Frame {
public:
  Frame(ArrayRef<::attnc::CacheDesc> caches, const llvm::StringMap<unsigned> &cacheNumbers,
        ::attnc::WeightSource &weights, const ::attnc::StepBatch &batch,
        const ReferenceTrace &trace)
      : caches(caches), cacheNumbers(cacheNumbers), weights(weights), batch(batch), trace(trace) {}

  /// Adds a sequence; before run().
  void add(const ::attnc::SequenceSlice &slice) { slices.push_back(&slice); }

  /// Runs the ops of `body` and writes the batch's output rows.
  LogicalResult run(Block &body);

private:
  const Axis &axis(int64_t every);
  const attn::StreamValue &value(Value v) { return live.find(v)->second; }
  const attn::SelectionValue &selection(Value v) { return selections.find(v)->second; }

  void bindInput(Block &body);
  LogicalResult execute(Operation &op);
  LogicalResult evaluate(Operation &op);
  LogicalResult finish(ReturnOp op);
  void publish(Operation &op);
  void release(Operation &op);

  // Rows (Rows.cpp).
  LogicalResult append(AppendOp op);
  unsigned cacheOf(FlatSymbolRefAttr symbol) const { return cacheNumbers.lookup(symbol.getValue()); }
  uint8_t *rowBytes(unsigned cache, unsigned sequence, int64_t entry, int64_t offset,
                    int64_t stride) const;
  /// The elements of `rows` for some of one sequence's entries. What was rebuilt
  /// stays in `rebuilt`: to be cleared before other entries are loaded.
  FailureOr<attn::StreamValue> load(Value rows, unsigned sequence, ArrayRef<int64_t> entries);
  attn::StreamValue loadSegment(ReadOp read, unsigned sequence, ArrayRef<int64_t> entries);
  LogicalResult rebuild(RebuildOp op, unsigned sequence, ArrayRef<int64_t> entries);

  // Selection (Select.cpp).
  attn::SelectionValue &makeSelection(Value result);
  LogicalResult select(TopKOp op);
  LogicalResult select(TopKOp op, unsigned sequence, attn::SelectionValue &result);
  void publishSelection(StringRef name, Value v);

  // Compression (Compress.cpp).
  LogicalResult compress(CompressOp op);
  void loadStateRow(unsigned cache, unsigned sequence, int64_t row, std::vector<double> &values);
  void storeStateRow(unsigned cache, unsigned sequence, int64_t row,
                     const std::vector<double> &values);

  // Attention (Attend.cpp).
  LogicalResult attend(AttendPartialOp op);
  LogicalResult prepare(AttendPartialOp op, Folding &folding);
  LogicalResult loadTile(AttendPartialOp op, unsigned sequence, ArrayRef<int64_t> tile,
                         Folding &folding, SmallVectorImpl<attn::StreamValue> &loaded);
  LogicalResult foldSequence(AttendPartialOp op, unsigned sequence, Folding &folding,
                             SoftmaxState &state);
  LogicalResult foldSelected(AttendPartialOp op, unsigned sequence, Folding &folding,
                             SoftmaxState &state);
  void finishState(AttendFinishOp op, const float *sink);

  ArrayRef<::attnc::CacheDesc> caches;
  const llvm::StringMap<unsigned> &cacheNumbers;
  ::attnc::WeightSource &weights;
  const ::attnc::StepBatch &batch;
  const ReferenceTrace &trace;

  SmallVector<const ::attnc::SequenceSlice *> slices;
  std::map<int64_t, Axis> axes; ///< by rate
  llvm::DenseMap<Value, attn::StreamValue> live;
  llvm::DenseMap<Value, attn::SelectionValue> selections;
  llvm::DenseMap<Value, unsigned> usesLeft;
  llvm::DenseMap<Value, std::unique_ptr<SoftmaxState>> states;
  /// Results of the rebuilds of the tile at hand.
  llvm::DenseMap<Value, attn::StreamValue> rebuilt;
};

/// The reads that `rows` come from: itself, or those it is rebuilt from.
SmallVector<ReadOp> readsOf(Value rows);

/// Evaluates a per-token op; appends one value per result.
LogicalResult evaluatePerToken(Operation &op, ArrayRef<const attn::StreamValue *> operands,
                               int64_t elements, ArrayRef<int64_t> positions,
                               ::attnc::WeightSource &weights,
                               SmallVectorImpl<attn::StreamValue> &results);

} // namespace mlir::kv

#endif // ATTNC_DIALECT_KV_REFERENCE_FRAME_H
