//===- MinCut.h - a minimum cut with exact capacities --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Dinic's algorithm on 128-bit integers. A graph library would be a dependency
// for a hundred lines, and leaves open which of several minimum cuts it finds;
// here that choice matters.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_SUPPORT_MINCUT_H
#define ATTNC_PASSES_SUPPORT_MINCUT_H

#include <cstdint>
#include <vector>

namespace attnc {

using Int128 = __int128;

/// A network with one source and one sink.
class MinCut {
public:
  static constexpr int kSource = 0, kSink = 1;

  /// Nodes 0 and 1 are the source and the sink.
  MinCut() : first(2, -1) {}

  int addNode() {
    first.push_back(-1);
    return int(first.size()) - 1;
  }
  void addEdge(int from, int to, Int128 capacity);

  /// For each node whether it is on the sink's side of a minimum cut: the one
  /// nearest the sink, which has the fewest nodes there.
  std::vector<bool> sinkSide();

private:
  struct Edge {
    int to, next; ///< `next` edge of the same node; e ^ 1 is the reverse of e
    Int128 capacity;
  };

  bool findLevels();
  void augment();

  std::vector<Edge> edges;
  std::vector<int> first, level, current;
};

} // namespace attnc

#endif // ATTNC_PASSES_SUPPORT_MINCUT_H
