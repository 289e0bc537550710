//===- frontend_json.cpp - the config reader's JSON
//------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/Json.h"

#include <gtest/gtest.h>

using namespace attnc;

/// The complaint about `text`, empty when it is accepted.
static std::string refusal(const std::string &text) {
  Result<JsonNode> result = parseConfigJson(text, "c.json");
  return result ? "" : result.error();
}

static JsonNode parse(const std::string &text) {
  Result<JsonNode> result = parseConfigJson(text, "c.json");
  EXPECT_TRUE(bool(result)) << (result ? "" : result.error());
  return result ? *result : JsonNode();
}

TEST(Json, KeepsKindsAndOrder) {
  JsonNode root = parse(R"({"z":1,"a":[null,true,-2,1.5e1,"x"],"m":{}})");
  EXPECT_EQ(root.keys, (std::vector<std::string>{"z", "a", "m"}));
  const JsonNode &list = *root.find("a");
  ASSERT_EQ(list.elements.size(), 5u);
  EXPECT_EQ(list.elements[0].kind, JsonNode::Kind::Null);
  EXPECT_TRUE(list.elements[1].boolean);
  EXPECT_EQ(list.elements[2].integer, -2);
  EXPECT_EQ(list.elements[3].kind, JsonNode::Kind::Float);
  EXPECT_EQ(list.elements[3].number, 15);
  EXPECT_EQ(list.elements[4].text, "x");
}

TEST(Json, KeepsPositions) {
  JsonNode root =
      parse("{\"a\" : 1,\n  \"s\\\"k\": \"v,:{\",\n\t\"b\":[ 2,\n3]}");
  auto at = [&](const JsonNode &node) {
    return std::to_string(node.position.line) + ":" +
           std::to_string(node.position.column);
  };
  EXPECT_EQ(at(root), "1:1");
  EXPECT_EQ(at(*root.find("a")), "1:8");
  EXPECT_EQ(at(*root.find("s\"k")), "2:11");
  EXPECT_EQ(at(*root.find("b")), "3:6");
  EXPECT_EQ(at(root.find("b")->elements[0]), "3:8");
  EXPECT_EQ(at(root.find("b")->elements[1]), "4:1");
}

TEST(Json, SkipsByteOrderMark) {
  EXPECT_EQ(parse("\xEF\xBB\xBF{\"a\":7}").find("a")->integer, 7);
}

TEST(Json, ToleratesBareNonFiniteNumbers) {
  JsonNode root = parse(
      R"({"a":[0.0,Infinity],"b":-Infinity,"c":NaN,"d":"see Infinity, NaN","e":3})");
  EXPECT_EQ(root.find("a")->elements[1].kind, JsonNode::Kind::NonFinite);
  EXPECT_EQ(root.find("b")->text, "-Infinity");
  EXPECT_EQ(root.find("c")->text, "NaN");
  EXPECT_EQ(root.find("d")->text, "see Infinity, NaN");
  EXPECT_EQ(root.find("e")->integer, 3);
}

TEST(Json, ComparesValues) {
  EXPECT_TRUE(parse(R"({"a":1,"b":[2]})") == parse(R"({"b":[2.0],"a":1})"));
  EXPECT_FALSE(parse(R"({"a":1})") == parse(R"({"a":2})"));
  EXPECT_FALSE(parse(R"({"a":1})") == parse(R"({"a":1,"b":1})"));
  EXPECT_FALSE(parse(R"({"a":0})") == parse(R"({"a":null})"));
}

TEST(Json, EscapesPointers) {
  EXPECT_EQ(joinPointer("/a", "b/c~d"), "/a/b~1c~0d");
}

struct BadJson {
  const char *name;
  std::string text;
  const char *message; ///< the start of it
};

class Refuses : public ::testing::TestWithParam<BadJson> {};

TEST_P(Refuses, WithPlaceAndReason) {
  std::string message = refusal(GetParam().text);
  EXPECT_EQ(message.substr(0, std::string(GetParam().message).size()),
            GetParam().message);
}

static std::string repeat(const char *text, int count) {
  std::string result;
  while (count--)
    result += text;
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Json, Refuses,
    ::testing::Values(
        BadJson{"Empty", "", "c.json:1:1: found an empty file; expected"},
        BadJson{"Blank", " \n ", "c.json:1:1: found an empty file; expected"},
        BadJson{"Utf16", std::string("\xFF\xFE{\0}\0", 6),
                "c.json:1:1: found UTF-16 or UTF-32 text; expected UTF-8"},
        BadJson{"Utf16WithoutMark", std::string("{\0}\0", 4),
                "c.json:1:1: found UTF-16 or UTF-32 text; expected UTF-8"},
        BadJson{"BadUtf8", "{\"a\":\"\xC3(\"}", "c.json:1:"},
        BadJson{"TrailingComma", "{\"a\":1,\n}", "c.json:2:1: syntax error"},
        BadJson{"Unclosed", "{\"a\":{\n\"b\":1},", "c.json:2:"},
        BadJson{"SecondDocument", "{}\n{}", "c.json:2:1: syntax error"},
        BadJson{"GluedInfinity", "{\"a\":xInfinity}", "c.json:1:6: syntax"},
        BadJson{"InfinityAsKey", "{Infinity:1}", "c.json:1:2: syntax error"},
        BadJson{"ManyBrackets", repeat("[", 10000),
                "c.json:1:65: found nesting deeper than 64 levels; expected"},
        BadJson{"ManyObjects", repeat("{\"a\":", 10000),
                "c.json:1:321: found nesting deeper than 64 levels; expected"},
        BadJson{"Overflow", "{\"a\":0,\n\"num_hidden_layers\": 1e400}",
                "c.json:2:22: found the number 1e400; expected one that a "
                "double holds"},
        BadJson{"LongInteger", "{\n \"vocab_size\": 99999999999999999999}",
                "c.json:2:16: found the integer 99999999999999999999; "
                "expected one of 64 bits"},
        BadJson{"UnsignedInteger", "[18446744073709551615]",
                "c.json:1:2: found the integer 18446744073709551615; "
                "expected one of 64 bits"},
        BadJson{"LongNegative", "[-99999999999999999999]",
                "c.json:1:2: found the integer -99999999999999999999; "
                "expected one of 64 bits"},
        BadJson{"RepeatedKey",
                "{\"num_hidden_layers\":2,\"num_hidden_layers\":61}",
                "c.json at /num_hidden_layers: found the key twice, with 2 "
                "and 61; expected it once"},
        BadJson{"RepeatedInnerKey", R"({"a":[0,{"b":{"c":1},"x":2,"b":[]}]})",
                "c.json at /a/1/b: found the key twice, with an object of 1 "
                "and a list of 0; expected it once"}),
    [](const auto &info) { return std::string(info.param.name); });
