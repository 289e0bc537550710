//===- KernelTable.cpp - names and equality of kernel shapes ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/Plan/KernelTable.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

namespace attnc {

std::string printScalarBody(mlir::Region &body) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  auto number = [&](mlir::Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  for (mlir::Value argument : body.getArguments())
    os << '%' << number(argument) << ':' << argument.getType() << ' ';
  for (mlir::Operation &op : body.front()) {
    os << op.getName();
    for (mlir::Value operand : op.getOperands())
      os << " %" << number(operand);
    // Constants, predicates, fast-math flags.
    os << ' ' << op.getAttrDictionary();
    for (mlir::Value result : op.getResults())
      os << " -> %" << number(result) << ':' << result.getType();
    os << "; ";
  }
  return text;
}

namespace {

/// "bf16", "e4m3_b64_e8m0": a format as part of an identifier.
std::string formatName(const Format &format) {
  std::string name(stringify(format.elem));
  if (format.block != 0)
    name += "_b" + (format.block < 0 ? std::string("row") : std::to_string(format.block)) + "_" +
            std::string(stringify(format.scale));
  return name;
}

std::string number(int64_t n) { return std::to_string(n); }

/// "8x64", or "512" without heads.
std::string shapeName(int64_t heads, int64_t inner) {
  return heads == 1 ? number(inner) : number(heads) + "x" + number(inner);
}
std::string shapeName(const ViewShape &shape) { return shapeName(shape.heads, shape.inner); }
std::string rowsName(const RowSpec &rows) {
  return shapeName(rows.heads, rows.dim) + (rows.dense ? "_dense" : "_" + formatName(rows.format));
}

/// What a name does not tell: exact numbers, places, bodies.
std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}
std::string placeKey(const SegmentPlace &place) {
  return "@" + number(place.data) + "+" + number(place.dataStride) + "," + number(place.scale) +
         "+" + number(place.scaleStride);
}
std::string rowsKey(const RowSpec &rows) {
  return rowsName(rows) + (rows.dense ? "" : placeKey(rows.place));
}

/// Name and key of one shape.
struct Label {
  std::string name, key;
};

Label label(const ProjectSpec &op) {
  std::string name = "project_" + number(op.in) + "x" + number(op.out);
  if (op.groups > 1)
    name += "_g" + number(op.groups) + (op.sharedInput ? "_shared" : "");
  return {name + (op.bias ? "_bias" : ""), ""};
}

Label label(const NormSpec &op) {
  return {"norm_" + shapeName(op.shape) + (op.perHead ? "_heads" : "") +
              (op.weight ? "_weight" : ""),
          exact(op.eps)};
}

Label label(const RopeSpec &op) {
  return {"rope_" + shapeName(op.shape) + "_d" + number(op.dims) + "_at" + number(op.first) +
              (op.interleaved ? "_pairs" : "_halves") + (op.inverse ? "_inverse" : ""),
          ""};
}

/// The ops of a body, without dialects, as a name: "add", "mul_tanh_mul".
std::string bodyName(const ScalarBody &body) {
  std::string name;
  int ops = 0;
  for (mlir::Operation &op : body.region->front().without_terminator()) {
    llvm::StringRef stem = op.getName().stripDialect();
    if (stem == "constant")
      continue;
    if (++ops <= 3)
      name += "_" + stem.str();
  }
  if (ops > 3)
    name += "_and" + number(ops - 3);
  return ops ? name : "_id";
}

Label label(const MapSpec &op) {
  Label result{"map" + (op.body.region ? bodyName(op.body) : std::string("_copy")) + "_" +
                   shapeName(op.shape),
               op.body.text};
  for (MapSpec::Operand operand : op.operands)
    result.key += "o" + number(int64_t(operand));
  for (MapSpec::Const constant : op.consts)
    result.key += "c" + number(int64_t(constant));
  return result;
}

Label label(const RoundSpec &op) {
  return {"round_" + shapeName(op.shape) + "_" + formatName(op.format), ""};
}

Label label(const AppendSpec &op) {
  Label result{"append", ""};
  for (const AppendSpec::Part &part : op.parts) {
    result.name += "_" + shapeName(part.shape) + "_" + formatName(part.format);
    result.key += placeKey(part.place);
  }
  return result;
}

Label label(const UnpackSpec &op) { return {"unpack_" + rowsName(op.rows), rowsKey(op.rows)}; }

Label label(const AttendSpec &op) {
  Label result{"attend_h" + number(op.heads) + "_kv" + number(op.kvHeads), ""};
  for (const RowSpec &key : op.keys) {
    result.name += "_k" + rowsName(key);
    result.key += rowsKey(key);
  }
  result.name += op.valueKey >= 0 ? "_vk" + number(op.valueKey) : "_v" + rowsName(op.value);
  if (op.valueKey < 0)
    result.key += rowsKey(op.value);
  if (op.every != 1)
    result.name += "_every" + number(op.every);
  if (op.scoreMap.region)
    result.name += "_map" + bodyName(op.scoreMap);
  result.key += exact(op.scale) + "c" + number(op.consts) + op.scoreMap.text;
  return result;
}

Label label(const CombineSpec &op) {
  return {"combine_" + number(op.heads) + "x" + number(op.dv) + (op.sink ? "_sink" : ""), ""};
}

} // namespace

std::string KernelTable::get(decltype(KernelSpec::op) op) {
  Label shape = std::visit([](const auto &spec) { return label(spec); }, op);
  auto [it, isNew] = names.try_emplace(shape.name + "\n" + shape.key);
  if (!isNew)
    return it->second;
  std::string name = shape.name;
  for (int n = 2; !taken.insert(name).second; ++n)
    name = shape.name + "_n" + number(n);
  it->second = name;
  KernelDesc desc;
  desc.name = name;
  desc.op = name.substr(0, name.find('_'));
  if (const auto *attend = std::get_if<AttendSpec>(&op))
    desc.params = {{"q_heads", attend->heads},
                   {"kv_heads", attend->kvHeads},
                   {"dk", attend->dk()},
                   {"dv", attend->dv()}};
  planned.program.kernels.push_back(desc);
  planned.kernels.push_back({name, std::move(op)});
  return name;
}

} // namespace attnc
