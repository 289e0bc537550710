//===- AttnAttrs.cpp - attributes of the attn dialect ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"
#include "dialect/Attn/IR/AttnText.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/IR/AttnAttrs.cpp.inc"

void AttnDialect::registerAttrs() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Attn/IR/AttnAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// format
//===----------------------------------------------------------------------===//

FormatAttr FormatAttr::get(MLIRContext *context, const ::attnc::Format &f) {
  return get(context, f.elem, f.block, f.scale);
}

Attribute FormatAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef elemName, scaleName;
  int64_t block = 0;
  auto scale = ::attnc::Scale::None;
  if (parser.parseLess() || parser.parseKeyword(&elemName))
    return {};
  auto elem = ::attnc::parseElem(std::string_view(elemName.data(), elemName.size()));
  if (!elem)
    return parser.emitError(loc, "unknown element format '")
               << elemName << "'; expected f32, bf16, f16, e4m3, e5m2 or e2m1",
           Attribute();
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("block") || parser.parseEqual())
      return {};
    if (succeeded(parser.parseOptionalKeyword("row")))
      block = -1;
    else if (parser.parseInteger(block))
      return {};
    SMLoc scaleLoc;
    if (parser.parseComma() || parser.parseKeyword("scale") || parser.parseEqual() ||
        parser.getCurrentLocation(&scaleLoc) || parser.parseKeyword(&scaleName))
      return {};
    auto parsed = ::attnc::parseScale(std::string_view(scaleName.data(), scaleName.size()));
    if (!parsed)
      return parser.emitError(scaleLoc, "unknown scale format '")
                 << scaleName << "'; expected f32, e8m0 or e4m3",
             Attribute();
    scale = *parsed;
  }
  if (parser.parseGreater())
    return {};
  return FormatAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), *elem,
                                block, scale);
}

void FormatAttr::print(AsmPrinter &printer) const {
  auto ref = [](std::string_view s) { return StringRef(s.data(), s.size()); };
  printer << '<' << ref(::attnc::stringify(getElem()));
  if (getScale() != ::attnc::Scale::None) {
    printer << ", block = ";
    if (getBlock() == -1)
      printer << "row";
    else
      printer << getBlock();
    printer << ", scale = " << ref(::attnc::stringify(getScale()));
  }
  printer << '>';
}

LogicalResult FormatAttr::verify(function_ref<InFlightDiagnostic()> emitError, ::attnc::Elem elem,
                                 int64_t block, ::attnc::Scale scale) {
  bool hasScale = scale != ::attnc::Scale::None;
  if (hasScale != (block != 0))
    return emitError() << "expected a block and a scale together, found block " << block;
  if (block < -1)
    return emitError() << "expected a positive block, found " << block;
  return success();
}

//===----------------------------------------------------------------------===//
// rotary
//===----------------------------------------------------------------------===//

namespace {

using ::attnc::Rotary;

struct RotaryParam {
  StringRef name;
  double Rotary::*member;
  bool required;
};

/// The parameters of each scaling, in printed order.
ArrayRef<RotaryParam> paramsOf(Rotary::Scaling scaling) {
  static const RotaryParam linear[] = {{"factor", &Rotary::factor, true}};
  static const RotaryParam llama3[] = {{"factor", &Rotary::factor, true},
                                       {"high_freq_factor", &Rotary::highFreq, true},
                                       {"low_freq_factor", &Rotary::lowFreq, true},
                                       {"original", &Rotary::original, true}};
  static const RotaryParam yarn[] = {{"beta_fast", &Rotary::betaFast, true},
                                     {"beta_slow", &Rotary::betaSlow, true},
                                     {"factor", &Rotary::factor, true},
                                     {"original", &Rotary::original, true}};
  switch (scaling) {
  case Rotary::Scaling::None:
    return {};
  case Rotary::Scaling::Linear:
    return linear;
  case Rotary::Scaling::Llama3:
    return llama3;
  case Rotary::Scaling::Yarn:
    return yarn;
  }
  llvm_unreachable("unknown scaling");
}

std::optional<Rotary::Scaling> parseScaling(StringRef name) {
  return llvm::StringSwitch<std::optional<Rotary::Scaling>>(name)
      .Case("", Rotary::Scaling::None)
      .Case("linear", Rotary::Scaling::Linear)
      .Case("llama3", Rotary::Scaling::Llama3)
      .Case("yarn", Rotary::Scaling::Yarn)
      .Default(std::nullopt);
}

StringRef scalingName(Rotary::Scaling scaling) {
  switch (scaling) {
  case Rotary::Scaling::None:
    return "";
  case Rotary::Scaling::Linear:
    return "linear";
  case Rotary::Scaling::Llama3:
    return "llama3";
  case Rotary::Scaling::Yarn:
    return "yarn";
  }
  llvm_unreachable("unknown scaling");
}

} // namespace

Rotary RotaryAttr::getRotary() const {
  Rotary r;
  r.theta = getTheta().getValueAsDouble();
  r.dims = getDims();
  r.scaling = *parseScaling(getScaling().getValue());
  for (const RotaryParam &p : paramsOf(r.scaling))
    r.*p.member = llvm::cast<FloatAttr>(getParams().get(p.name)).getValueAsDouble();
  if (auto truncate = getParams().getAs<BoolAttr>("truncate"))
    r.truncate = truncate.getValue();
  r.amplitude = getAmplitude().getValueAsDouble();
  return r;
}

RotaryAttr RotaryAttr::get(MLIRContext *context, const Rotary &r) {
  Builder b(context);
  SmallVector<NamedAttribute> params;
  for (const RotaryParam &p : paramsOf(r.scaling))
    params.push_back(b.getNamedAttr(p.name, b.getF64FloatAttr(r.*p.member)));
  if (r.scaling == Rotary::Scaling::Yarn && !r.truncate)
    params.push_back(b.getNamedAttr("truncate", b.getBoolAttr(false)));
  return get(context, b.getF64FloatAttr(r.theta), r.dims, b.getStringAttr(scalingName(r.scaling)),
             b.getDictionaryAttr(params), b.getF64FloatAttr(r.amplitude));
}

Attribute RotaryAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Builder &b = parser.getBuilder();
  FloatAttr theta, amplitude = b.getF64FloatAttr(1.0);
  int64_t dims;
  if (parser.parseLess() || parser.parseKeyword("theta") || parser.parseEqual() ||
      parseF64(parser, theta) || parser.parseComma() || parser.parseKeyword("dims") ||
      parser.parseEqual() || parser.parseInteger(dims))
    return {};
  StringRef scaling;
  SmallVector<NamedAttribute> params;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("amplitude"))) {
      if (parser.parseEqual() || parseF64(parser, amplitude))
        return {};
      break;
    }
    auto parseParam = [&]() -> ParseResult {
      StringRef name;
      SMLoc at = parser.getCurrentLocation();
      if (parser.parseKeyword(&name) || parser.parseEqual())
        return failure();
      if (llvm::any_of(params, [&](NamedAttribute p) { return p.getName() == name; }))
        return parser.emitError(at, "'") << name << "' is given twice";
      if (name == "truncate") {
        StringRef value;
        if (parser.parseKeyword(&value))
          return failure();
        if (value != "true" && value != "false")
          return parser.emitError(at, "expected true or false");
        params.push_back(b.getNamedAttr(name, b.getBoolAttr(value == "true")));
        return success();
      }
      FloatAttr value;
      if (parseF64(parser, value))
        return failure();
      params.push_back(b.getNamedAttr(name, value));
      return success();
    };
    if (!scaling.empty() || parser.parseKeyword(&scaling) ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseParam))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return RotaryAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), theta,
                                dims, b.getStringAttr(scaling), b.getDictionaryAttr(params),
                                amplitude);
}

void RotaryAttr::print(AsmPrinter &printer) const {
  printer << "<theta = ";
  printF64(printer, getTheta().getValueAsDouble());
  printer << ", dims = " << getDims();
  if (!getScaling().empty()) {
    printer << ", " << getScaling().getValue() << " {";
    llvm::interleaveComma(getParams(), printer, [&](NamedAttribute p) {
      printer << p.getName().getValue() << " = ";
      if (auto flag = llvm::dyn_cast<BoolAttr>(p.getValue()))
        printer << (flag.getValue() ? "true" : "false");
      else
        printF64(printer, llvm::cast<FloatAttr>(p.getValue()).getValueAsDouble());
    });
    printer << '}';
  }
  if (getAmplitude().getValueAsDouble() != 1.0) {
    printer << ", amplitude = ";
    printF64(printer, getAmplitude().getValueAsDouble());
  }
  printer << '>';
}

LogicalResult RotaryAttr::verify(function_ref<InFlightDiagnostic()> emitError, FloatAttr theta,
                                 int64_t dims, StringAttr scaling, DictionaryAttr params,
                                 FloatAttr amplitude) {
  if (dims <= 0 || dims % 2)
    return emitError() << "expected a positive even number of rotated channels, found " << dims;
  double base = theta.getValueAsDouble();
  if (!std::isfinite(base) || base <= 0)
    return emitError() << "expected a finite positive theta, found " << base;
  if (!std::isfinite(amplitude.getValueAsDouble()))
    return emitError() << "expected a finite amplitude";
  auto kind = parseScaling(scaling.getValue());
  if (!kind)
    return emitError() << "unknown scaling '" << scaling.getValue()
                       << "'; expected linear, llama3 or yarn";
  ArrayRef<RotaryParam> known = paramsOf(*kind);
  for (const RotaryParam &p : known) {
    auto value = params.getAs<FloatAttr>(p.name);
    if (!value)
      return emitError() << scaling.getValue() << " needs '" << p.name << "'";
    if (!std::isfinite(value.getValueAsDouble()) || value.getValueAsDouble() <= 0)
      return emitError() << "expected a finite positive '" << p.name << "', found "
                         << value.getValueAsDouble();
  }
  for (NamedAttribute p : params) {
    bool isTruncate = *kind == Rotary::Scaling::Yarn && p.getName() == "truncate";
    if (!isTruncate && llvm::none_of(known, [&](auto &k) { return k.name == p.getName(); }))
      return emitError() << "'" << p.getName().getValue() << "' is no parameter of "
                         << (scaling.empty() ? "plain rotation" : scaling.getValue());
  }
  return success();
}
