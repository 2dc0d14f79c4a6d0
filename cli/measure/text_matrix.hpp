/// A matrix in text, in the shape of Intel's Memory Latency Checker: CPU nodes down, memory nodes across.
#pragma once

#include <string>
#include <vector>

namespace homing::measure {

struct text_matrix {
  std::string title;        ///< first line, left
  std::string row_word;     ///< what the rows are
  std::string column_word;  ///< what the columns are
  std::vector<std::string> row_names;
  std::vector<std::string> column_names;
  std::vector<std::string> cells;  ///< row-major, one for each pair
};

/// Lines end in newlines; columns are as wide as their widest cell.
[[nodiscard]] std::string draw(const text_matrix& matrix);

}  // namespace homing::measure
