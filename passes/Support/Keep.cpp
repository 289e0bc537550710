//===- Keep.cpp - where a kept stream lives --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Keep.h"

#include "passes/Support/Streams.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::attn;

DictionaryAttr Keep::toAttr(MLIRContext *context) const {
  Builder b(context);
  return b.getDictionaryAttr({
      b.getNamedAttr("cache", b.getStringAttr(cache)),
      b.getNamedAttr("every", b.getI64IntegerAttr(every)),
      b.getNamedAttr("format", FormatAttr::get(context, format)),
      b.getNamedAttr("kind", b.getStringAttr(::attnc::stringify(kind))),
      b.getNamedAttr("layer", b.getI64IntegerAttr(layer)),
      b.getNamedAttr("name", b.getStringAttr(name)),
      b.getNamedAttr("readers", b.getDenseI64ArrayAttr(readers)),
      b.getNamedAttr("rows", b.getI64IntegerAttr(rows)),
      b.getNamedAttr("segment", b.getI64IntegerAttr(segment)),
  });
}

bool Keep::sameCache(const Keep &other) const {
  return cache == other.cache && kind == other.kind && rows == other.rows &&
         every == other.every && layer == other.layer && readers == other.readers;
}

bool attn::isKept(Value stream) { return bool(getStreamAttr(stream, kKeepAttr)); }

namespace {

/// Reads entries of the dictionary; the first bad one is remembered.
class KeepReader {
public:
  explicit KeepReader(DictionaryAttr dict) : dict(dict) {}

  void read(StringRef name, std::string &to) {
    if (auto text = get<StringAttr>(name, "a string"))
      to = text.str();
  }
  void read(StringRef name, int64_t &to, int64_t atLeast) {
    auto number = get<IntegerAttr>(name, "an integer");
    if (!number)
      return;
    to = number.getValue().getSExtValue();
    if (to < atLeast)
      fail(name, "at least " + std::to_string(atLeast));
  }
  void read(StringRef name, std::vector<int64_t> &to) {
    if (auto list = get<DenseI64ArrayAttr>(name, "an array of i64"))
      to.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  }
  void read(StringRef name, ::attnc::Format &to) {
    if (auto format = get<FormatAttr>(name, "a format"))
      to = format.getFormat();
  }
  void read(StringRef name, ::attnc::CacheKind &to) {
    auto text = get<StringAttr>(name, "a string");
    if (!text)
      return;
    for (auto kind : {::attnc::CacheKind::Paged, ::attnc::CacheKind::Ring,
                      ::attnc::CacheKind::State})
      if (text.getValue() == StringRef(::attnc::stringify(kind)))
        return void(to = kind);
    fail(name, "paged, ring or state");
  }
  const std::string &error() const { return message; }

private:
  template <typename AttrT>
  AttrT get(StringRef name, StringRef expected) {
    auto value = dyn_cast_or_null<AttrT>(dict.get(name));
    if (!value)
      fail(name, expected);
    return value;
  }
  void fail(StringRef name, const Twine &expected) {
    if (message.empty())
      message = ("'" + name + "' is to be " + expected).str();
  }

  DictionaryAttr dict;
  std::string message;
};

} // namespace

FailureOr<Keep> attn::parseKeep(Attribute value, StringRef name, Location loc) {
  auto dict = dyn_cast_or_null<DictionaryAttr>(value);
  if (!dict)
    return emitError(loc, "expected '") << name << "', a dictionary";
  Keep keep;
  KeepReader reader(dict);
  reader.read("cache", keep.cache);
  reader.read("every", keep.every, 1);
  reader.read("format", keep.format);
  reader.read("kind", keep.kind);
  reader.read("layer", keep.layer, 0);
  reader.read("name", keep.name);
  reader.read("readers", keep.readers);
  reader.read("rows", keep.rows, keep.kind == ::attnc::CacheKind::Paged ? 0 : 1);
  reader.read("segment", keep.segment, 0);
  if (!reader.error().empty())
    return emitError(loc, "in '") << name << "', " << reader.error() << "; found " << dict;
  return keep;
}

FailureOr<Keep> attn::getKeep(Value stream) {
  return parseKeep(getStreamAttr(stream, kKeepAttr), kKeepAttr, stream.getLoc());
}
