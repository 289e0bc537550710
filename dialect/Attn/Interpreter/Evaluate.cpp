//===- Evaluate.cpp - the meaning of the per-token ops in f64 --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/Interpreter/Evaluation.h"
#include "dialect/Attn/Interpreter/Kernels.h"
#include "dialect/Attn/Interpreter/ScalarProgram.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// linear
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::evaluate(Evaluation &e) {
  const float *weight = e.weight(getWeightAttr());
  if (!weight)
    return failure();
  Geometry g = getGeometry(lookupWeight(*this, getWeightAttr()));
  const StreamValue &x = e.operand(0);
  StreamValue &y = e.result();
  for (int64_t group = 0; group < g.groups; ++group) {
    MatrixView m{weight + (group * g.groupRows + g.rowBegin) * g.cols, g.out, g.in, g.cols, 1};
    if (getTranspose())
      std::swap(m.outStride, m.inStride);
    matmul(m, x.data.data() + (g.sharedInput ? 0 : group * g.in), x.features,
           y.data.data() + group * g.out, y.features, x.elements());
  }
  if (!getBias())
    return success();
  const float *bias = e.weight(getBiasAttr());
  if (!bias)
    return failure();
  for (int64_t t = 0; t < y.elements(); ++t)
    for (int64_t group = 0; group < g.groups; ++group)
      for (int64_t o = 0; o < g.out; ++o)
        y.row(t)[group * g.out + o] += bias[group * g.groupRows + g.rowBegin + o];
  return success();
}

//===----------------------------------------------------------------------===//
// rms_norm, layer_norm, hadamard, rope, round
//===----------------------------------------------------------------------===//

LogicalResult RMSNormOp::evaluate(Evaluation &e) {
  const float *weight = nullptr;
  if (getWeight() && !(weight = e.weight(getWeightAttr())))
    return failure();
  double eps = getEps().convertToDouble(), offset = getWeightOffset().convertToDouble();
  int64_t n = getPerHead() ? getType().getChannels() : getType().getNumFeatures();
  const std::vector<double> &x = e.operand(0).data;
  std::vector<double> &y = e.result().data;
  for (size_t base = 0; base < x.size(); base += n) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i)
      squares += x[base + i] * x[base + i];
    double factor = 1 / std::sqrt(squares / double(n) + eps);
    for (int64_t i = 0; i < n; ++i)
      y[base + i] = x[base + i] * factor * (weight ? weight[i] + offset : 1.0);
  }
  return success();
}

LogicalResult LayerNormOp::evaluate(Evaluation &e) {
  const float *weight = nullptr, *bias = nullptr;
  if ((getWeight() && !(weight = e.weight(getWeightAttr()))) ||
      (getBias() && !(bias = e.weight(getBiasAttr()))))
    return failure();
  double eps = getEps().convertToDouble();
  int64_t n = getPerHead() ? getType().getChannels() : getType().getNumFeatures();
  const std::vector<double> &x = e.operand(0).data;
  std::vector<double> &y = e.result().data;
  for (size_t base = 0; base < x.size(); base += n) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += x[base + i];
    double mean = sum / double(n);
    for (int64_t i = 0; i < n; ++i)
      squares += (x[base + i] - mean) * (x[base + i] - mean);
    double factor = 1 / std::sqrt(squares / double(n) + eps);
    for (int64_t i = 0; i < n; ++i)
      y[base + i] = (x[base + i] - mean) * factor * (weight ? weight[i] : 1.0) +
                    (bias ? bias[i] : 0.0);
  }
  return success();
}

LogicalResult HadamardOp::evaluate(Evaluation &e) {
  std::vector<double> &y = e.result().data;
  y = e.operand(0).data;
  int64_t n = getType().getChannels();
  double scale = 1 / std::sqrt(double(n));
  for (double *x = y.data(), *end = x + y.size(); x != end; x += n) {
    for (int64_t half = 1; half < n; half *= 2)
      for (int64_t i = 0; i < n; ++i)
        if (!(i & half)) {
          double a = x[i], b = x[i + half];
          x[i] = a + b;
          x[i + half] = a - b;
        }
    for (int64_t i = 0; i < n; ++i)
      x[i] *= scale;
  }
  return success();
}

LogicalResult RopeOp::evaluate(Evaluation &e) {
  const StreamValue &x = e.operand(0);
  StreamValue &y = e.result();
  ::attnc::Rotary rotary = getRotary().getRotary();
  std::vector<double> frequencies = rotary.frequencies();
  int64_t channels = getType().getChannels(), pairs = rotary.dims / 2;
  int64_t begin = getEnd() == RotatedEnd::First ? 0 : channels - rotary.dims;
  bool interleaved = getPairing() == Pairing::Interleaved;
  y.data = x.data;
  for (int64_t t = 0; t < x.elements(); ++t)
    for (int64_t i = 0; i < pairs; ++i) {
      auto [c, s] = ::attnc::rotation(e.positions()[t], frequencies[i], rotary.amplitude);
      if (getInverse())
        s = -s;
      int64_t first = begin + (interleaved ? 2 * i : i);
      int64_t second = interleaved ? first + 1 : first + pairs;
      for (int64_t head = 0; head < x.features; head += channels) {
        double a = x.row(t)[head + first], b = x.row(t)[head + second];
        y.row(t)[head + first] = a * c - b * s;
        y.row(t)[head + second] = a * s + b * c;
      }
    }
  return success();
}

LogicalResult RoundOp::evaluate(Evaluation &e) {
  StreamValue &y = e.result();
  y.data = e.operand(0).data;
  int64_t channels = getType().getChannels();
  ::attnc::Format format = getFormat().getFormat();
  for (size_t base = 0; base < y.data.size(); base += channels)
    ::attnc::roundTrip(format, y.data.data() + base, channels);
  return success();
}

//===----------------------------------------------------------------------===//
// slice, concat
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::evaluate(Evaluation &e) {
  StreamType input = getInput().getType();
  int64_t size = getSize();
  for (int64_t t = 0; t < e.operand(0).elements(); ++t)
    for (int64_t head = 0; head < input.getHeads(); ++head)
      std::copy_n(e.operand(0).row(t) + head * input.getChannels() + getOffset(), size,
                  e.result().row(t) + head * size);
  return success();
}

LogicalResult ConcatOp::evaluate(Evaluation &e) {
  StreamValue &y = e.result();
  int64_t channels = getType().getChannels(), heads = getType().getHeads(), offset = 0;
  for (auto [i, value] : llvm::enumerate(getInputs())) {
    auto input = cast<StreamType>(value.getType());
    int64_t size = input.getChannels(), headStride = input.getHeads() == 1 ? 0 : size;
    for (int64_t t = 0; t < y.elements(); ++t)
      for (int64_t head = 0; head < heads; ++head)
        std::copy_n(e.operand(i).row(t) + head * headStride, size,
                    y.row(t) + head * channels + offset);
    offset += size;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// map, extern
//===----------------------------------------------------------------------===//

/// Writes `features` numbers as the `result` reads them: as they are, one per
/// head, one per channel of the last axis, or one for all. The first that fits.
template <typename T>
static void spread(const T *from, int64_t features, StreamType result, double *to) {
  int64_t all = result.getNumFeatures(), last = result.getChannels();
  for (int64_t i = 0; i < all; ++i) {
    if (features == all)
      to[i] = from[i];
    else if (features == result.getHeads())
      to[i] = from[i / last];
    else
      to[i] = from[features == last ? i % last : 0];
  }
}

LogicalResult MapOp::evaluate(Evaluation &e) {
  FailureOr<ScalarProgram> program = ScalarProgram::compile(getBody());
  if (failed(program))
    return failure();
  StreamType result = getType();
  int64_t all = result.getNumFeatures();
  size_t inputs = getInputs().size();
  std::vector<std::vector<double>> values(getBody().getNumArguments(), std::vector<double>(all));
  if (getConsts())
    for (auto [i, symbol] : llvm::enumerate(getConsts()->getAsRange<FlatSymbolRefAttr>())) {
      const float *weight = e.weight(symbol);
      if (!weight)
        return failure();
      spread(weight, lookupWeight(*this, symbol).getShape()[0], result, values[inputs + i].data());
    }
  SmallVector<const double *> args;
  for (const std::vector<double> &value : values)
    args.push_back(value.data());
  for (int64_t t = 0; t < e.result().elements(); ++t) {
    for (size_t i = 0; i < inputs; ++i) {
      const StreamValue &input = e.operand(i);
      if (input.features == all)
        args[i] = input.row(t);
      else
        spread(input.row(t), input.features, result, values[i].data());
    }
    program->run(args, e.result().row(t), all);
  }
  return success();
}

LogicalResult ExternOp::evaluate(Evaluation &e) {
  if (!getOptional())
    return emitOpError("function ") << getCalleeAttr()
                                    << " is not supplied; expected an optional one";
  std::fill(e.result().data.begin(), e.result().data.end(), 0.0);
  return success();
}
