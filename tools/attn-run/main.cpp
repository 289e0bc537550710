//===- main.cpp - attn-run: run an artifact without the compiler ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Run.h"

int main(int argc, char **argv) {
  return attnc::runArtifactCommand({argv + 1, argv + argc}, "attn-run");
}
