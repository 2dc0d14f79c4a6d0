/// Heat maps and curves as one SVG file that needs nothing else and is legible on dark and on light pages.
#pragma once

#include <string>
#include <vector>

namespace homing::measure {

struct heat_cell {
  double value;        ///< what the colour shows
  std::string text;    ///< in the cell
  std::string remark;  ///< in the cell, smaller, below
};

struct heat_map {
  std::string title;
  std::string row_word;
  std::string column_word;
  std::vector<std::string> row_names;
  std::vector<std::string> column_names;
  std::vector<heat_cell> cells;  ///< row-major
};

struct curve {
  struct point {
    double x;
    double y;
    double y_min;
    double y_max;
  };
  std::string name;
  std::vector<point> points;
};

struct curve_chart {
  std::string title;
  std::string x_word;
  std::string y_word;
  std::vector<curve> curves;
};

enum class palette { blue, orange };

/// Built from top to bottom; finish() gives the file's text.
class picture {
 public:
  picture(std::string title, palette colours) : title_(std::move(title)), colours_(colours) {}
  /// A line below the title.
  void caption(const std::string& text) { captions_.push_back(text); }
  void add(const heat_map& map);
  void add(const curve_chart& chart);
  [[nodiscard]] std::string finish() const;

 private:
  void text(double x, double y, const char* style, const std::string& content);

  std::string title_;
  palette colours_;
  std::vector<std::string> captions_;
  std::string body_;
  double width_ = 0;
  double height_ = 0;
};

}  // namespace homing::measure
