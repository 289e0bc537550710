//===- RunOptions.cpp - the options that attnc and attn-run share -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/RunOptions.h"

#include <algorithm>
#include <charconv>

namespace attnc {

namespace {
/// Reads a whole text as a number of at least `least`.
std::optional<int64_t> wholeNumber(const std::string &text, int64_t least) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  auto [at, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || at != end || value < least)
    return std::nullopt;
  return value;
}

std::string badValue(const std::string &option, const std::string &value,
                     const std::string &expected) {
  return option + ": found '" + value + "'; expected " + expected;
}

/// Options with a value. Each handler returns an error text, empty if none.
using Handler = std::string (*)(RunOptions &, const std::string &option,
                                const std::string &value);

std::string oneOf(RunOptions &options, const std::string &option,
                  const std::string &value,
                  std::initializer_list<const char *> allowed) {
  std::string list;
  for (const char *one : allowed) {
    if (value == one) {
      options.plan[option.substr(2)] = value;
      return "";
    }
    list += (list.empty() ? "" : ", ") + std::string(one);
  }
  return badValue(option, value, "one of " + list);
}

std::string planNumber(RunOptions &options, const std::string &option,
                       const std::string &value) {
  std::optional<int64_t> number = wholeNumber(value, 1);
  if (!number || *number > (int64_t(1) << 30))
    return badValue(option, value, "an integer from 1 to 2^30");
  options.plan[option.substr(2)] = std::to_string(*number);
  return "";
}

std::string planText(RunOptions &options, const std::string &option,
                     const std::string &value) {
  if (value.empty())
    return badValue(option, value, "a name");
  options.plan[option.substr(2)] = value;
  return "";
}

std::string setLayers(RunOptions &options, const std::string &option,
                      const std::string &value) {
  size_t colon = value.find(':');
  std::optional<int64_t> first, last;
  if (colon != value.npos) {
    first = wholeNumber(value.substr(0, colon), 0);
    last = wholeNumber(value.substr(colon + 1), 1);
  }
  if (!first || !last || *first >= *last)
    return badValue(option, value, "A:B with A below B (layers A to B - 1)");
  options.layers = {*first, *last};
  return "";
}

std::string setCount(std::optional<int64_t> &to, const std::string &option,
                     const std::string &value) {
  to = wholeNumber(value, 1);
  return to ? "" : badValue(option, value, "an integer of at least 1");
}

const std::map<std::string, Handler> &handlers() {
  using O = RunOptions &;
  using S = const std::string &;
  static const std::map<std::string, Handler> table = {
      {"--storage", planText},
      {"--absorb",
       [](O o, S n, S v) { return oneOf(o, n, v, {"cost", "always", "never"}); }},
      {"--cut",
       [](O o, S n, S v) { return oneOf(o, n, v, {"cost", "bytes", "flops"}); }},
      {"--balance", planNumber},
      {"--want", [](O o, S n, S v) { return oneOf(o, n, v, {"all", "last"}); }},
      {"--replay",
       [](O o, S n, S v) { return oneOf(o, n, v, {"exact", "bounded"}); }},
      {"--page-size", planNumber},
      {"--layout", planText},
      {"--weights", [](O o, S, S v) { return o.weights = v, std::string(); }},
      {"--input", [](O o, S, S v) { return o.input = v, std::string(); }},
      {"--output", [](O o, S, S v) { return o.output = v, std::string(); }},
      {"--selection",
       [](O o, S, S v) { return o.selection = v, std::string(); }},
      {"--target",
       [](O o, S, S v) { return o.targets.push_back(v), std::string(); }},
      {"--backend",
       [](O o, S n, S v) -> std::string {
         for (const char *one :
              {"cpu", "interpreter", "reference", "emulator", "cuda"})
           if (v == one)
             return o.backend = v, std::string();
         return badValue(n, v, "one of cpu, interpreter, reference, emulator, "
                               "cuda");
       }},
      {"--schedule",
       [](O o, S n, S v) -> std::string {
         Result<Schedule> schedule = parseSchedule(v);
         if (!schedule)
           return n + ": " + schedule.error();
         o.schedule = *schedule;
         return "";
       }},
      {"--threads",
       [](O o, S n, S v) -> std::string {
         std::optional<int64_t> number = wholeNumber(v, 1);
         if (!number || *number > 1024)
           return badValue(n, v, "an integer from 1 to 1024");
         o.threads = int(*number);
         return "";
       }},
      {"--layers", setLayers},
      {"--tokens", [](O o, S n, S v) { return setCount(o.tokens, n, v); }},
      {"--context", [](O o, S n, S v) { return setCount(o.context, n, v); }},
      {"--color",
       [](O o, S n, S v) -> std::string {
         if (v != "auto" && v != "always" && v != "never")
           return badValue(n, v, "one of auto, always, never");
         return o.color = v, std::string();
       }},
  };
  return table;
}

/// Options without a value.
bool RunOptions::*flagOf(const std::string &name) {
  static const std::map<std::string, bool RunOptions::*> flags = {
      {"--trace", &RunOptions::trace},     {"--stats", &RunOptions::stats},
      {"--help", &RunOptions::help},       {"-h", &RunOptions::help},
      {"--version", &RunOptions::version}, {"-q", &RunOptions::quiet},
      {"-v", &RunOptions::verbose}};
  auto it = flags.find(name);
  return it == flags.end() ? nullptr : it->second;
}

class Parser {
public:
  Parser(const std::vector<std::string> &arguments, const ExtraOptions &extra)
      : arguments(arguments), extra(extra) {}

  std::string run() {
    bool onlyInputs = false;
    for (at = 0; at < arguments.size(); ++at) {
      const std::string &word = arguments[at];
      if (onlyInputs || word.size() < 2 || word[0] != '-') {
        options.inputs.push_back(word);
        continue;
      }
      if (word == "--") {
        onlyInputs = true;
        continue;
      }
      if (std::string error = option(word); !error.empty())
        return error;
    }
    return "";
  }
  RunOptions options;

private:
  std::string option(const std::string &word) {
    size_t equals = word.compare(0, 2, "--") == 0 ? word.find('=') : word.npos;
    std::string name = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != word.npos)
      value = word.substr(equals + 1);
    auto mine = extra.find(name);
    auto handler = handlers().find(name);
    bool RunOptions::*flag = flagOf(name);
    bool takesValue = mine != extra.end() ? mine->second
                                          : handler != handlers().end();
    if (mine == extra.end() && handler == handlers().end() && !flag)
      return "found the unknown option '" + name + "'; --help lists the known";
    if (!takesValue) {
      if (value)
        return name + ": found the value '" + *value + "'; expected none";
      if (mine != extra.end())
        options.extra.emplace_back(name, "");
      else
        options.*flag = true;
      return "";
    }
    if (!value) {
      if (at + 1 >= arguments.size())
        return name + ": found no value; expected one";
      value = arguments[++at];
    }
    if (mine != extra.end()) {
      options.extra.emplace_back(name, *value);
      return "";
    }
    return handler->second(options, name, *value);
  }

  const std::vector<std::string> &arguments;
  const ExtraOptions &extra;
  size_t at = 0;
};
} // namespace

Result<RunOptions> parseRunOptions(const std::vector<std::string> &arguments,
                                   const ExtraOptions &extra) {
  Parser parser(arguments, extra);
  if (std::string error = parser.run(); !error.empty())
    return Error{error};
  return std::move(parser.options);
}

std::string checkAgainstManifest(const RunOptions &options,
                                 const Manifest &manifest) {
  auto planned = manifest.plan;
  auto given = options.plan;
  if (options.layers)
    given["layers"] = std::to_string(options.layers->first) + ":" +
                      std::to_string(options.layers->second);
  for (const auto &[name, value] : given) {
    auto it = planned.find(name);
    if (it == planned.end())
      return "--" + name + ": found '" + value +
             "', but the artifact was compiled without it; expected no --" +
             name;
    if (it->second != value)
      return "--" + name + ": found '" + value + "'; expected '" + it->second +
             "', as the artifact was compiled";
  }
  for (const std::string &target : options.targets) {
    std::string found;
    for (const ManifestFile &file : manifest.files) {
      // "cpu" stands for whatever processor the artifact was compiled for.
      if (file.target == target ||
          (target == "cpu" && file.target.compare(0, 3, "cpu") == 0)) {
        found.clear();
        break;
      }
      found += (found.empty() ? "'" : ", '") + file.target + "'";
    }
    if (!found.empty() || manifest.files.empty())
      return "--target: found '" + target + "'; expected one of " +
             (found.empty() ? "none" : found);
  }
  return "";
}

std::string runOptionsHelp() {
  return "Plan options (with an artifact, the plan is the manifest's):\n"
         "  --storage exact|bf16|published|POLICY.json\n"
         "                        formats of the cache rows\n"
         "  --absorb cost|always|never\n"
         "                        whether up-projections move into the query\n"
         "  --cut cost|bytes|flops\n"
         "                        what to minimise when choosing what to keep\n"
         "  --balance N           FLOP per stored byte (default 200)\n"
         "  --want all|last       which tokens' outputs are wanted\n"
         "  --replay exact|bounded\n"
         "  --page-size N         entries per page (default 64)\n"
         "  --layout L            arrangement of rows in a page\n"
         "Run options:\n"
         "  --weights W           a .safetensors file, a folder with shards and "
         "an index,\n"
         "                        or random:SEED\n"
         "  --input X             safetensors with `hidden` (and `lengths`), or\n"
         "                        random:SEED:TOKENS\n"
         "  --output Y            safetensors to write\n"
         "  --tokens N            only the first N tokens\n"
         "  --backend cpu|interpreter|reference|emulator|cuda\n"
         "  --target T            cpu (default), cpu:NAME, sm_80, sm_90a, ...\n"
         "  --schedule S          prefill (default), decode, chunk:K, mixed:SEED,"
         "\n"
         "                        batch:SEED\n"
         "  --threads N           default: one per core\n"
         "  --layers A:B          layers A to B - 1\n"
         "  --selection FILE      take selections from FILE\n"
         "  --trace               also write each layer's attention output\n"
         "  --stats               one line of counts per kernel on stderr\n"
         "Global options:\n"
         "  --help  --version  -q  -v  --color=auto|always|never\n";
}

} // namespace attnc
