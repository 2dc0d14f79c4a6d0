// homing-lab-calibrate: shows the lab's plugin which memory is on which node. The guest's init runs it before the
// program.
//
// Method: pages bound to every node that has memory, touched, and marked; then other pages, by which the plugin
// checks what it has learnt. On a real machine, or without the plugin, it does nothing that anyone sees.
#include <homing/lab.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "guest.hpp"

int main() {
  using namespace homing::lab::probes;
  constexpr std::size_t pages_a_node = 256;
  std::vector<std::unique_ptr<node_memory>> memory;
  const std::vector<unsigned> nodes = nodes_with_memory();
  // The first mark of all, which means nothing: the plugin watches all that comes after it.
  HOMING_LAB_MARK(HOMING_LAB_CLOSE, nodes.data());
  for (const unsigned node : nodes) {
    if (node > 255) fail("expected nodes below 256, found " + std::to_string(node));
    memory.push_back(std::make_unique<node_memory>(pages_a_node * page_bytes, std::vector{node}));
    memory.back()->touch();
    const auto pages = memory.back()->pages_by_node();
    if (pages.size() <= node || pages[node] != pages_a_node) {
      fail("the kernel did not put " + std::to_string(pages_a_node) + " pages on node " + std::to_string(node) +
           ", where they were bound; is its memory full?");
    }
  }
  // Even pages are learnt from, odd ones checked.
  for (std::size_t i = 0; i != nodes.size(); ++i) {
    for (std::size_t page = 0; page != pages_a_node; page += 2) {
      HOMING_LAB_MARK(HOMING_LAB_LEARN_PAGE, memory[i]->data() + page * page_bytes + nodes[i]);
    }
  }
  for (std::size_t i = 0; i != nodes.size(); ++i) {
    for (std::size_t page = 1; page < pages_a_node; page += 2) {
      HOMING_LAB_MARK(HOMING_LAB_CHECK_PAGE, memory[i]->data() + page * page_bytes + nodes[i]);
    }
  }
  HOMING_LAB_MARK(HOMING_LAB_CALIBRATED, memory[0]->data());
}
