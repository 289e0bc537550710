# Finds Debian's MLIR 19 and defines the one way in which a library of ours is
# built on it: against the shared libMLIR, without exceptions, with NDEBUG (the
# packaged libraries have it, and their headers change layout without it).

list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-19)
find_package(MLIR 19.1 QUIET CONFIG)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
    "MLIR 19 not found. Run tools/setup.sh, or install libmlir-19-dev and "
    "mlir-19-tools, or pass -DMLIR_DIR=<prefix>/lib/cmake/mlir")
endif()

set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Every .td may include MLIR's.
list(APPEND LLVM_TABLEGEN_FLAGS -I${MLIR_INCLUDE_DIRS})

set(ATTNC_LLVM_TOOLS ${LLVM_TOOLS_BINARY_DIR})

# attnc_mlir_library(NAME sources... [DEPENDS targets...] [LINK libs...])
# A static library that may include MLIR. All of them share one precompiled
# header.
function(attnc_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  attnc_mlir_options(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

function(attnc_mlir_options name)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${name} PUBLIC NDEBUG)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  if(NOT name STREQUAL "AttncPCH")
    target_precompile_headers(${name} REUSE_FROM AttncPCH)
  endif()
endfunction()

file(WRITE ${CMAKE_BINARY_DIR}/attnc_pch.cpp "")
add_library(AttncPCH STATIC ${CMAKE_BINARY_DIR}/attnc_pch.cpp)
target_precompile_headers(AttncPCH PRIVATE
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
  <mlir/IR/OpDefinition.h> <mlir/IR/OpImplementation.h> <mlir/IR/DialectImplementation.h>
  <mlir/IR/PatternMatch.h> <mlir/IR/SymbolTable.h> <mlir/Pass/Pass.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h>
  <mlir/Dialect/Arith/IR/Arith.h>
  <llvm/ADT/STLExtras.h> <llvm/ADT/StringSwitch.h> <llvm/ADT/TypeSwitch.h>
  <cstdint> <map> <memory> <string> <vector>)
attnc_mlir_options(AttncPCH)

# attnc_dialect_tablegen(TARGET td prefix dialect [enums_td])
# TableGen does not tell whose an enumeration is, so a dialect whose .td includes
# another dialect's keeps its own ones in a file apart.
function(attnc_dialect_tablegen target td prefix dialect)
  set(LLVM_TARGET_DEFINITIONS ${td})
  mlir_tablegen(${prefix}Dialect.h.inc -gen-dialect-decls -dialect=${dialect})
  mlir_tablegen(${prefix}Dialect.cpp.inc -gen-dialect-defs -dialect=${dialect})
  mlir_tablegen(${prefix}Types.h.inc -gen-typedef-decls -typedefs-dialect=${dialect})
  mlir_tablegen(${prefix}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${dialect})
  mlir_tablegen(${prefix}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${dialect})
  mlir_tablegen(${prefix}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${dialect})
  mlir_tablegen(${prefix}Ops.h.inc -gen-op-decls -dialect=${dialect})
  mlir_tablegen(${prefix}Ops.cpp.inc -gen-op-defs -dialect=${dialect})
  if(ARGN)
    set(LLVM_TARGET_DEFINITIONS ${ARGN})
  endif()
  mlir_tablegen(${prefix}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${prefix}Enums.cpp.inc -gen-enum-defs)
  set(_out ${TABLEGEN_OUTPUT})
  add_custom_target(${target} DEPENDS ${_out})
endfunction()
