# Compiler cache, linker and warnings: everything that is not about MLIR.

find_program(ATTNC_CCACHE ccache)
if(ATTNC_CCACHE)
  # Precompiled headers need these two sloppiness classes to be cacheable.
  set(_launcher ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${ATTNC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_launcher})
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # A precompiled header that carries no time can be cached.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

find_program(ATTNC_LLD NAMES ld.lld-19 PATHS /usr/lib/llvm-19/bin)
if(ATTNC_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(--ld-path=${ATTNC_LLD})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
