//===- Emitters.h - one emitter per kind of kernel --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// check complains, non-empty, about a spec that CPU code cannot serve; emit
// writes functions for one that passed and states in `desc` what the executor
// has to know. The functions' arguments are those of formats/KernelAbi.h.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_CPU_EMITTERS_H
#define ATTNC_CODEGEN_CPU_EMITTERS_H

#include "codegen/CPU/Target.h"
#include "codegen/Plan/KernelSpec.h"
#include "formats/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace attnc::cpu {

std::string checkAttend(const AttendSpec &spec, const CpuTarget &target);
std::string checkMap(const MapSpec &spec, const CpuTarget &target);
std::string checkRound(const RoundSpec &spec, const CpuTarget &target);
std::string checkAppend(const AppendSpec &spec, const CpuTarget &target);
std::string checkUnpack(const UnpackSpec &spec, const CpuTarget &target);

void emitAttend(mlir::ModuleOp module, const std::string &name, const AttendSpec &spec,
                const CpuTarget &target, KernelDesc &desc);
void emitProject(mlir::ModuleOp module, const std::string &name, const ProjectSpec &spec,
                 const CpuTarget &target, KernelDesc &desc);
void emitNorm(mlir::ModuleOp module, const std::string &name, const NormSpec &spec,
              const CpuTarget &target);
void emitRope(mlir::ModuleOp module, const std::string &name, const RopeSpec &spec,
              const CpuTarget &target);
void emitMap(mlir::ModuleOp module, const std::string &name, const MapSpec &spec,
             const CpuTarget &target);
void emitRound(mlir::ModuleOp module, const std::string &name, const RoundSpec &spec,
               const CpuTarget &target);
void emitAppend(mlir::ModuleOp module, const std::string &name, const AppendSpec &spec,
                const CpuTarget &target);
void emitUnpack(mlir::ModuleOp module, const std::string &name, const UnpackSpec &spec,
                const CpuTarget &target);
void emitCombine(mlir::ModuleOp module, const std::string &name, const CombineSpec &spec,
                 const CpuTarget &target);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_EMITTERS_H
