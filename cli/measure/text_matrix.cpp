#include "measure/text_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace homing::measure {

std::string draw(const text_matrix& m) {
  std::size_t first = m.row_word.size();
  for (const std::string& name : m.row_names) first = std::max(first, name.size());
  const std::size_t columns = m.column_names.size();
  std::vector<std::size_t> width(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    width[c] = m.column_names[c].size();
    for (std::size_t r = 0; r < m.row_names.size(); ++r) width[c] = std::max(width[c], m.cells[r * columns + c].size());
  }
  std::string text = m.title + '\n';
  if (!m.column_word.empty()) text += fmt::format("{:{}}  {}\n", "", first, m.column_word);
  text += fmt::format("{:>{}}", m.row_word, first);
  for (std::size_t c = 0; c < columns; ++c) text += fmt::format("  {:>{}}", m.column_names[c], width[c]);
  text += '\n';
  for (std::size_t r = 0; r < m.row_names.size(); ++r) {
    text += fmt::format("{:>{}}", m.row_names[r], first);
    for (std::size_t c = 0; c < columns; ++c) text += fmt::format("  {:>{}}", m.cells[r * columns + c], width[c]);
    text += '\n';
  }
  return text;
}

}  // namespace homing::measure
