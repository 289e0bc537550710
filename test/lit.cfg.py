# lit configuration: which files are tests, which programs they may call.
#
# Environment:
#   ATTNC_CHECK_ROUNDTRIP=1  every attn-opt call also checks that its input
#                            survives printing and parsing, as text and bytecode
#   ATTNC_TEST_ALL=1         the long matrix too (feature "long")

import os

import lit.formats

config.name = "attnc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "oracles", "unit", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)

roundtrip = os.environ.get("ATTNC_CHECK_ROUNDTRIP") == "1"
config.test_exec_root = os.path.join(
    config.attnc_build, "test", "roundtrip" if roundtrip else "lit")

# Ours first, then FileCheck, not, split-file and friends, unsuffixed.
config.environment["PATH"] = os.pathsep.join(
    [config.attnc_tools, config.llvm_tools, os.environ["PATH"]])
config.environment["LC_ALL"] = "C"

config.substitutions.append(("%source", config.attnc_source))
config.substitutions.append(("%configs", os.path.join(config.attnc_source, "configs")))
config.substitutions.append(
    ("%oracles", os.path.join(config.attnc_source, "test", "oracles")))
if roundtrip:
    config.substitutions.append((r"\battn-opt\b", "attn-opt --verify-roundtrip"))

if config.ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", config.ptxas))
if os.environ.get("ATTNC_TEST_ALL") == "1":
    config.available_features.add("long")
