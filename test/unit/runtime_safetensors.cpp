//===- runtime_safetensors.cpp - tensor files, good and hostile -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Safetensors.h"
#include "runtime_files.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace attnc;
using namespace attnc::test;

namespace {

/// The bytes of a file: header length, header, `data` zero bytes.
std::string bytes(const std::string &header, size_t data) {
  uint64_t length = header.size();
  std::string text(reinterpret_cast<const char *>(&length), 8);
  return text + header + std::string(data, '\0');
}

class Safetensors : public ::testing::Test {
protected:
  std::string refusal(const std::string &content) {
    std::string path = folder.write("x.safetensors", content);
    auto file = SafetensorsFile::open(path);
    if (file)
      return "";
    // Every message begins with the file.
    EXPECT_EQ(file.error().substr(0, path.size()), path);
    return file.error().substr(path.size() + 2);
  }
  std::string refusalOf(const std::string &header, size_t data) {
    return refusal(bytes(header, data));
  }
  Folder folder;
};

#define EXPECT_SAYS(found, part)                                               \
  EXPECT_NE((found).find(part), std::string::npos) << (found)

TEST_F(Safetensors, WritesAndReadsBack) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> b = {1, 0, 1};
  std::vector<int32_t> c = {-7};
  std::string path = folder.path("out.safetensors");
  EXPECT_EQ(writeSafetensors(path, {{"z", DType::F32, {2, 3}, a.data()},
                                    {"b", DType::U8, {3}, b.data()},
                                    {"c", DType::I32, {1}, c.data()}}),
            "");
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(bool(file)) << file.error();
  EXPECT_EQ(*(*file)->readF32("z"), a);
  EXPECT_EQ((*file)->find("z")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(*(*file)->readI32("b"), (std::vector<int32_t>{1, 0, 1}));
  EXPECT_EQ(*(*file)->readI32("c"), c);
  EXPECT_EQ((*file)->find("nope"), nullptr);
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"out.safetensors"}));
}

TEST_F(Safetensors, FailedWriteLeavesNothing) {
  float x = 1;
  std::string error = writeSafetensors(folder.path("no/such/y.safetensors"),
                                       {{"x", DType::F32, {1}, &x}});
  EXPECT_SAYS(error, "expected a writable place");
  EXPECT_TRUE(folder.list().empty());
}

TEST_F(Safetensors, ConvertsHalfTypes) {
  std::string content = bytes(
      R"({"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
      R"("h":{"dtype":"F16","shape":[1],"data_offsets":[4,6]}})",
      0);
  content += std::string("\x80\x3F\xC0\xBF\x00\x3C", 6);
  auto file = SafetensorsFile::open(folder.write("x.safetensors", content));
  ASSERT_TRUE(bool(file)) << file.error();
  EXPECT_EQ(*(*file)->readF32("b"), (std::vector<float>{1, -1.5f}));
  EXPECT_EQ(*(*file)->readF32("h"), (std::vector<float>{1}));
}

TEST_F(Safetensors, EmptyHeaderIsAnEmptyFile) {
  EXPECT_EQ(refusalOf("{}", 0), "");
  EXPECT_EQ(refusalOf(R"({"__metadata__":{"format":"pt"}})", 0), "");
  EXPECT_EQ(refusalOf(R"({"a":{"dtype":"F32","shape":[0,4],)"
                      R"("data_offsets":[0,0]}})", 0),
            "");
}

std::string oneTensor(const std::string &offsets,
                      const std::string &shape = "[2]",
                      const std::string &type = "\"F32\"") {
  return R"({"w":{"dtype":)" + type + R"(,"shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}}";
}

TEST_F(Safetensors, OffsetsAreChecked) {
  EXPECT_EQ(refusalOf(oneTensor("[0,8]"), 8), "");
  for (const char *offsets : {"[-8,8]", "[0,8,8]", "[\"0\",\"8\"]", "[0,1e3]",
                              "[0,8.0]", "8", "[0]", "null"})
    EXPECT_SAYS(refusalOf(oneTensor(offsets), 8),
                "tensor w has data_offsets " + std::string(offsets).substr(0, 2));
  EXPECT_SAYS(refusalOf(oneTensor("[16,8]"), 16), "the first not above");
  EXPECT_SAYS(refusalOf(oneTensor("[0,4]", "[1024,1024]"), 4),
              "tensor w has 4 bytes; expected 4194304 for F32 [1024, 1024]");
  EXPECT_SAYS(refusalOf(oneTensor("[0,18446744073709551615]"), 8),
              "ends at byte 18446744073709551615");
  EXPECT_SAYS(refusalOf(oneTensor("[0,8]", "[4294967296,4294967296]"), 8),
              "product fits 64 bits");
  EXPECT_SAYS(refusalOf(oneTensor("[0,8]", "[-2]"), 8), "non-negative");
  EXPECT_SAYS(refusalOf(oneTensor("[0,8]", "[2]", "\"F99\""), 8),
              "has dtype \"F99\"");
  EXPECT_SAYS(refusalOf(R"({"w":{"dtype":"F32"}})", 0), "expected all three");
  EXPECT_SAYS(refusalOf(R"({"w":3})", 0), "expected all three");
}

TEST_F(Safetensors, HeaderLengthIsChecked) {
  auto withLength = [](uint64_t length) {
    return std::string(reinterpret_cast<const char *>(&length), 8) + "{}";
  };
  EXPECT_SAYS(refusal(withLength(~uint64_t(0))), "expected at most 100000000");
  EXPECT_SAYS(refusal(withLength(uint64_t(1) << 40)), "at most 100000000");
  EXPECT_SAYS(refusal(withLength(3)), "expected the header to fit");
  EXPECT_SAYS(refusal(withLength(0)), "does not begin with '{'");
  EXPECT_SAYS(refusal("1234567"), "found a file of 7 bytes");
  EXPECT_SAYS(refusal(""), "found a file of 0 bytes");
}

TEST_F(Safetensors, EveryByteHasOneOwner) {
  auto two = [](const char *first, const char *second) {
    return std::string(R"({"k":{"dtype":"U8","shape":[8],"data_offsets":)") +
           first + R"(},"v":{"dtype":"U8","shape":[8],"data_offsets":)" +
           second + "}}";
  };
  EXPECT_EQ(refusalOf(two("[0,8]", "[8,16]"), 16), "");
  EXPECT_SAYS(refusalOf(two("[0,8]", "[0,8]"), 8), "k and v overlap by 8 bytes");
  EXPECT_SAYS(refusalOf(two("[0,8]", "[7,15]"), 15), "overlap by 1 bytes");
  EXPECT_SAYS(refusalOf(two("[0,8]", "[16,24]"), 24),
              "a hole of 8 bytes lies before tensor v");
  EXPECT_SAYS(refusalOf(R"({"k":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                        R"("k":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                        1),
              "the key 'k' occurs twice");
}

TEST_F(Safetensors, CutAndExtendedFilesAreRefused) {
  std::string good = bytes(oneTensor("[0,8]"), 8);
  EXPECT_SAYS(refusal(good.substr(0, good.size() - 1)),
              "of which the file has 7");
  EXPECT_SAYS(refusal(good.substr(0, good.size() - 8)),
              "of which the file has 0");
  EXPECT_SAYS(refusal(good.substr(0, 20)), "expected the header to fit");
  EXPECT_SAYS(refusal(good + "x"), "expected no bytes after the last tensor");
}

TEST_F(Safetensors, ImpostorsAreNamed) {
  EXPECT_SAYS(refusal("<!DOCTYPE html><html></html>"), "an HTML page");
  EXPECT_SAYS(refusal("version https://git-lfs.github.com/spec/v1\noid x\n"),
              "a git-lfs pointer");
  EXPECT_SAYS(refusal(std::string("PK\x03\x04") + "0123456789"), "a zip archive");
  EXPECT_SAYS(SafetensorsFile::open(folder.path("")).error(),
              "not a regular file");
  EXPECT_SAYS(SafetensorsFile::open(folder.path("none")).error(),
              "No such file");
}

TEST_F(Safetensors, SmallTypesHaveTheirSizes) {
  EXPECT_EQ(refusalOf(oneTensor("[0,8]", "[2,8]", "\"F4\""), 8), "");
  EXPECT_SAYS(refusalOf(oneTensor("[0,7]", "[2,7]", "\"F4\""), 7),
              "expected an even last dimension");
  for (const char *type : {"F8_E4M3", "F8_E8M0", "F8_E5M2", "U8", "I8", "BOOL"})
    EXPECT_EQ(refusalOf(oneTensor("[0,4]", "[4]",
                                  "\"" + std::string(type) + "\""), 4),
              "");
  auto file = SafetensorsFile::open(folder.write(
      "x.safetensors", bytes(oneTensor("[0,4]", "[4]", "\"F8_E4M3\""), 4)));
  EXPECT_SAYS((*file)->readF32("w").error(),
              "tensor w has type F8_E4M3; expected F32, BF16 or F16");
}

TEST_F(Safetensors, RandomHeadersNeverCrash) {
  std::string good = bytes(oneTensor("[0,8]"), 8);
  uint64_t state = 1;
  for (int i = 0; i < 400; ++i) {
    std::string bad = good;
    for (int flips = 0; flips < 3; ++flips) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bad[size_t(state >> 33) % bad.size()] = char(state >> 24);
    }
    SafetensorsFile::open(folder.write("x.safetensors", bad));
  }
}

} // namespace
