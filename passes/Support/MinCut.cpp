//===- MinCut.cpp - a minimum cut with exact capacities --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/MinCut.h"

#include <algorithm>

using namespace attnc;

void MinCut::addEdge(int from, int to, Int128 capacity) {
  edges.push_back({to, first[from], capacity});
  first[from] = int(edges.size()) - 1;
  edges.push_back({from, first[to], 0});
  first[to] = int(edges.size()) - 1;
}

/// Distances from the source along edges with capacity left; false if the sink
/// cannot be reached.
bool MinCut::findLevels() {
  level.assign(first.size(), -1);
  std::vector<int> queue = {kSource};
  level[kSource] = 0;
  for (size_t head = 0; head < queue.size(); ++head)
    for (int e = first[queue[head]]; e >= 0; e = edges[e].next)
      if (edges[e].capacity > 0 && level[edges[e].to] < 0) {
        level[edges[e].to] = level[queue[head]] + 1;
        queue.push_back(edges[e].to);
      }
  return level[kSink] >= 0;
}

/// Pushes flow along shortest paths until none is left: a depth-first search
/// with its path in `path`, dead ends cut off by advancing `current`.
void MinCut::augment() {
  current = first;
  std::vector<int> path;
  int node = kSource;
  while (true) {
    if (node == kSink) {
      Int128 flow = edges[path.front()].capacity;
      for (int e : path)
        flow = std::min(flow, edges[e].capacity);
      for (int e : path)
        edges[e].capacity -= flow, edges[e ^ 1].capacity += flow;
      path.clear();
      node = kSource;
      continue;
    }
    int &e = current[node];
    while (e >= 0 && (edges[e].capacity <= 0 || level[edges[e].to] != level[node] + 1))
      e = edges[e].next;
    if (e >= 0) {
      path.push_back(e);
      node = edges[e].to;
    } else if (node == kSource) {
      return;
    } else {
      node = edges[path.back() ^ 1].to;
      current[node] = edges[current[node]].next;
      path.pop_back();
    }
  }
}

std::vector<bool> MinCut::sinkSide() {
  while (findLevels())
    augment();
  // The nodes from which the sink can still be reached.
  std::vector<bool> side(first.size(), false);
  std::vector<int> queue = {kSink};
  side[kSink] = true;
  for (size_t head = 0; head < queue.size(); ++head)
    for (int e = first[queue[head]]; e >= 0; e = edges[e].next)
      if (edges[e ^ 1].capacity > 0 && !side[edges[e].to]) {
        side[edges[e].to] = true;
        queue.push_back(edges[e].to);
      }
  return side;
}
