//===- ConfigReader.h - typed access to the objects of a config
//------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Absent, null, zero and present are four states of a key, and a family means
// something different by each. Accessors keep them apart, check types and
// ranges, and remember which keys were read.
//
// The readers throw ConfigError, which readModelConfig catches: no exception
// leaves this library.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FRONTEND_CONFIGREADER_H
#define ATTNC_FRONTEND_CONFIGREADER_H

#include "frontend/Json.h"
#include "frontend/ModelConfig.h"

#include <limits>
#include <set>
#include <string>
#include <vector>

namespace attnc {

/// A refusal, in the form "FILE at /json/pointer: found; expected".
struct ConfigError {
  std::string message;
};

/// A key's value, or why there is none.
template <typename T>
struct Field {
  enum class State : uint8_t { Absent, Null, Present };
  State state = State::Absent;
  T value{};

  bool absent() const { return state == State::Absent; }
  bool null() const { return state == State::Null; }
  bool present() const { return state == State::Present; }
};

/// The numbers that a key accepts.
template <typename T>
struct Range {
  T min, max;
};

inline constexpr Range<int64_t> channelRange{1, int64_t(1) << 20};
inline constexpr Range<double> positiveRange{
    std::numeric_limits<double>::min(), std::numeric_limits<double>::max()};

/// One object of a config. Copies share nothing: pass it by reference, so that
/// what was read is known at the end.
class ConfigObject {
public:
  /// Fails unless `node` is an object. `config` collects defaults and notes.
  ConfigObject(const JsonNode &node, std::string file, std::string pointer,
               ModelConfig &config);

  const std::string &file() const { return fileName; }
  const std::string &pointer() const { return where; }
  ModelConfig &config() const { return *model; }

  /// Marks `key` as read and returns its value, null when absent.
  const JsonNode *get(const std::string &key);
  bool has(const std::string &key) const { return node->find(key); }
  bool hasValue(const std::string &key) const;

  Field<int64_t> integer(const std::string &key, Range<int64_t> range);
  Field<double> number(const std::string &key, Range<double> range);
  Field<bool> boolean(const std::string &key);
  Field<std::string> text(const std::string &key);

  /// The elements of a list of integers.
  Field<std::vector<int64_t>> integers(const std::string &key,
                                       Range<int64_t> range);

  /// The key must be there, and not null.
  int64_t require(const std::string &key, Range<int64_t> range);
  double requireNumber(const std::string &key, Range<double> range);
  std::vector<int64_t> requireIntegers(const std::string &key,
                                       Range<int64_t> range);
  /// Absent: `fallback`, noted as defaulted. Null is refused.
  int64_t integerOr(const std::string &key, int64_t fallback,
                    Range<int64_t> range);
  double numberOr(const std::string &key, double fallback, Range<double> range);
  /// Absent or null: `fallback`, without a note (a switch that is off).
  bool booleanOr(const std::string &key, bool fallback);

  /// Records "/key = value" as the family's default.
  void noteDefault(const std::string &key, const std::string &value);
  void noteDefault(const std::string &key, double value);

  [[noreturn]] void fail(const std::string &key, const std::string &found,
                         const std::string &expected) const;
  /// As above, about the value of `key`.
  [[noreturn]] void refuse(const std::string &key,
                           const std::string &expected) const;

  /// The keys that nobody read, in file order.
  std::vector<std::string> unread() const;

private:
  const JsonNode *node;
  std::string fileName, where;
  ModelConfig *model;
  std::set<std::string> consumed;
};

/// "40", "1e-06", "0.707": a number as messages show it.
std::string showNumber(double value);

/// Fails when an unread key of `root` belongs to the rope, index, compress or
/// attention group; the other unread keys become unknownKeys.
void checkUnread(const ConfigObject &root);

} // namespace attnc

#endif // ATTNC_FRONTEND_CONFIGREADER_H
