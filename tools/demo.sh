#!/usr/bin/env bash
# Set-up, then the main job on real input, on the CPU: the cache plan of every
# shipped config whose family is built, one real config compiled to kernels,
# one tiny model run and verified.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh

attnc=build/bin/attnc
step() { printf '\n== %s\n$ %s\n' "$1" "$2"; }

# Families that are not built yet are refused one by one; the rest is shown.
step "Cache plans of the shipped configs" "attnc report configs/*.json"
built=()
for config in configs/*.json; do
  if $attnc report "$config" >/dev/null 2>&1; then built+=("$config"); else echo "   (not built yet: $config)"; fi
done
$attnc report "${built[@]}"

step "DeepSeek-V3 compiled to CPU code and PTX" \
     "attnc compile configs/deepseek-v3.json --target cpu --target sm_80 --target sm_90a -o out/deepseek-v3"
rm -rf out/deepseek-v3
$attnc compile configs/deepseek-v3.json --target cpu --target sm_80 --target sm_90a -o out/deepseek-v3
find out/deepseek-v3 -type f | sort | head -40

step "A tiny DeepSeek-V3, token by token, against the interpreter" \
     "attnc verify test/oracles/deepseek_v3 --schedule decode"
$attnc verify test/oracles/deepseek_v3 --schedule decode
echo
echo "demo: done"
