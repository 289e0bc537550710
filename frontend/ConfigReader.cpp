//===- ConfigReader.cpp - typed access to the objects of a config
//----------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/ConfigReader.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace attnc {

std::string showNumber(double value) {
  char buffer[40];
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    std::snprintf(buffer, sizeof buffer, "%.0f", value);
    return buffer;
  }
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    if (std::strtod(buffer, nullptr) == value)
      break;
  }
  return buffer;
}

ConfigObject::ConfigObject(const JsonNode &node, std::string file,
                           std::string pointer, ModelConfig &config)
    : node(&node), fileName(std::move(file)), where(std::move(pointer)),
      model(&config) {
  if (node.kind != JsonNode::Kind::Object)
    throw ConfigError{fileName + " at " + (where.empty() ? "/" : where) +
                      ": found " + node.str() + "; expected an object"};
}

const JsonNode *ConfigObject::get(const std::string &key) {
  consumed.insert(key);
  return node->find(key);
}

bool ConfigObject::hasValue(const std::string &key) const {
  const JsonNode *value = node->find(key);
  return value && value->kind != JsonNode::Kind::Null;
}

void ConfigObject::fail(const std::string &key, const std::string &found,
                        const std::string &expected) const {
  throw ConfigError{fileName + " at " + joinPointer(where, key) + ": " + found +
                    "; expected " + expected};
}

void ConfigObject::refuse(const std::string &key,
                          const std::string &expected) const {
  const JsonNode *value = node->find(key);
  fail(key, value ? "found " + value->str() : "the key is missing", expected);
}

static std::string describe(Range<int64_t> range) {
  return "an integer from " + std::to_string(range.min) + " to " +
         std::to_string(range.max);
}

static std::string describe(Range<double> range) {
  if (range.min == positiveRange.min)
    return "a finite positive number";
  if (range.max == positiveRange.max)
    return "a finite number of at least " + showNumber(range.min);
  return "a number from " + showNumber(range.min) + " to " +
         showNumber(range.max);
}

Field<int64_t> ConfigObject::integer(const std::string &key,
                                     Range<int64_t> range) {
  using State = Field<int64_t>::State;
  const JsonNode *value = get(key);
  if (!value)
    return {State::Absent};
  if (value->kind == JsonNode::Kind::Null)
    return {State::Null};
  if (value->kind != JsonNode::Kind::Integer || value->integer < range.min ||
      value->integer > range.max)
    refuse(key, describe(range));
  return {State::Present, value->integer};
}

Field<double> ConfigObject::number(const std::string &key,
                                   Range<double> range) {
  using State = Field<double>::State;
  const JsonNode *value = get(key);
  if (!value)
    return {State::Absent};
  if (value->kind == JsonNode::Kind::Null)
    return {State::Null};
  bool isNumber = value->kind == JsonNode::Kind::Integer ||
                  value->kind == JsonNode::Kind::Float;
  if (!isNumber || !(value->number >= range.min && value->number <= range.max))
    refuse(key, describe(range));
  return {State::Present, value->number};
}

Field<bool> ConfigObject::boolean(const std::string &key) {
  using State = Field<bool>::State;
  const JsonNode *value = get(key);
  if (!value)
    return {State::Absent};
  if (value->kind == JsonNode::Kind::Null)
    return {State::Null};
  if (value->kind != JsonNode::Kind::Bool)
    refuse(key, "true or false");
  return {State::Present, value->boolean};
}

Field<std::string> ConfigObject::text(const std::string &key) {
  using State = Field<std::string>::State;
  const JsonNode *value = get(key);
  if (!value)
    return {State::Absent, {}};
  if (value->kind == JsonNode::Kind::Null)
    return {State::Null, {}};
  if (value->kind != JsonNode::Kind::String)
    refuse(key, "a string");
  return {State::Present, value->text};
}

Field<std::vector<int64_t>> ConfigObject::integers(const std::string &key,
                                                   Range<int64_t> range) {
  using List = Field<std::vector<int64_t>>;
  const JsonNode *value = get(key);
  if (!value)
    return {List::State::Absent, {}};
  if (value->kind == JsonNode::Kind::Null)
    return {List::State::Null, {}};
  if (value->kind != JsonNode::Kind::Array)
    refuse(key, "a list of integers");
  List result{List::State::Present, {}};
  for (size_t i = 0; i < value->elements.size(); ++i) {
    const JsonNode &element = value->elements[i];
    if (element.kind != JsonNode::Kind::Integer ||
        element.integer < range.min || element.integer > range.max)
      throw ConfigError{fileName + " at " + joinPointer(where, key) + "/" +
                        std::to_string(i) + ": found " + element.str() +
                        "; expected " + describe(range)};
    result.value.push_back(element.integer);
  }
  return result;
}

int64_t ConfigObject::require(const std::string &key, Range<int64_t> range) {
  Field<int64_t> field = integer(key, range);
  if (!field.present())
    refuse(key, describe(range));
  return field.value;
}

double ConfigObject::requireNumber(const std::string &key,
                                   Range<double> range) {
  Field<double> field = number(key, range);
  if (!field.present())
    refuse(key, describe(range));
  return field.value;
}

std::vector<int64_t> ConfigObject::requireIntegers(const std::string &key,
                                                   Range<int64_t> range) {
  Field<std::vector<int64_t>> field = integers(key, range);
  if (!field.present())
    refuse(key, "a list of integers");
  return std::move(field.value);
}

int64_t ConfigObject::integerOr(const std::string &key, int64_t fallback,
                                Range<int64_t> range) {
  Field<int64_t> field = integer(key, range);
  if (field.null())
    refuse(key, describe(range));
  if (field.present())
    return field.value;
  noteDefault(key, double(fallback));
  return fallback;
}

double ConfigObject::numberOr(const std::string &key, double fallback,
                              Range<double> range) {
  Field<double> field = number(key, range);
  if (field.null())
    refuse(key, describe(range));
  if (field.present())
    return field.value;
  noteDefault(key, fallback);
  return fallback;
}

bool ConfigObject::booleanOr(const std::string &key, bool fallback) {
  Field<bool> field = boolean(key);
  return field.present() ? field.value : fallback;
}

void ConfigObject::noteDefault(const std::string &key,
                               const std::string &value) {
  model->defaulted.push_back(joinPointer(where, key) + " = " + value);
}

void ConfigObject::noteDefault(const std::string &key, double value) {
  noteDefault(key, showNumber(value));
}

std::vector<std::string> ConfigObject::unread() const {
  std::vector<std::string> result;
  for (const std::string &key : node->keys)
    if (!consumed.count(key))
      result.push_back(key);
  return result;
}

} // namespace attnc
