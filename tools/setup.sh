#!/usr/bin/env bash
# Installs what is missing (Debian 12 or 13, as root or with sudo), configures
# and builds into build/. Safe to run again; quick when nothing changed.
set -euo pipefail
cd "$(dirname "$0")/.."

# One line per reason; README says more about each.
packages=(
  g++ clang-19 lld-19 binutils cmake ninja-build ccache    # build
  llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools   # the compiler's base
  nlohmann-json3-dev                                       # JSON
  libgtest-dev libbenchmark-dev                            # tests and benches
  python3                                                  # lit
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  echo "setup: installing ${missing[*]}"
  sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup: not root and no sudo: install by hand: ${missing[*]}" >&2; exit 1; }
    sudo=sudo
  fi
  $sudo apt-get update -q
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

if [ ! -f build/build.ninja ]; then
  echo "setup: configuring"
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19
fi
echo "setup: building"
ninja -C build
echo "setup: done; the programs are in build/bin"
