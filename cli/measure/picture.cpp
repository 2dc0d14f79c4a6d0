#include "measure/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/text.hpp"

namespace homing::measure {
namespace {

constexpr double margin = 24;
constexpr double line_height = 18;
constexpr double letter_width = 7.2;  // of 12px in a sans-serif face, generously

// Text in the page's ink, on no background of its own but a card's: readers' settings choose the pair.
constexpr const char* style = R"(<style>
text{font-family:system-ui,"Segoe UI",Helvetica,Arial,sans-serif;font-size:12px}
.card{fill:#ffffff}.ink{fill:#1f2328}.dim{fill:#59636e}.axis{stroke:#59636e;stroke-width:1;fill:none}
.title{font-size:17px;font-weight:600}.head{font-size:14px;font-weight:600}.value{font-size:13px;font-weight:600}
.small{font-size:10px}.grid{stroke:#8c959f;stroke-opacity:.35;stroke-width:1}
.mid{text-anchor:middle}.end{text-anchor:end}
@media (prefers-color-scheme:dark){.card{fill:#0d1117}.ink{fill:#f0f6fc}.dim{fill:#9198a1}.axis{stroke:#9198a1}}
</style>
)";

struct colour {
  int r, g, b;
};

// From pale to full; both ends and all between stand out from a dark and from a light card.
colour shade(palette p, double t) {
  const colour from = p == palette::blue ? colour{214, 230, 244} : colour{253, 228, 204};
  const colour to = p == palette::blue ? colour{8, 81, 156} : colour{166, 54, 3};
  const auto mix = [t](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * t)); };
  return {mix(from.r, to.r), mix(from.g, to.g), mix(from.b, to.b)};
}

// Black or white, whichever has more contrast (WCAG 2's relative luminance).
const char* ink_on(const colour& c) {
  const auto linear = [](int v) {
    const double s = v / 255.0;
    return s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
  };
  const double luminance = 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
  return luminance > 0.179 ? "#000000" : "#ffffff";
}

double length(const std::string& text) { return letter_width * static_cast<double>(text.size()); }

template <class Range, class Projection>
double longest(const Range& range, Projection&& text_of) {
  double most = 0;
  for (const auto& one : range) most = std::max(most, length(text_of(one)));
  return most;
}

// 1, 2 or 5 times a power of ten, so that about `count` steps reach `most`.
double nice_step(double most, int count) {
  const double raw = most / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

// Okabe and Ito's colours that stand out on both cards, for people with any colour vision.
constexpr std::array curve_colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

}  // namespace

void picture::text(double x, double y, const char* style_names, const std::string& content) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style_names,
                       cli::xml_text(content));
  if (std::string(style_names).find("mid") == std::string::npos &&
      std::string(style_names).find("end") == std::string::npos) {
    width_ = std::max(width_, x + length(content));
  }
}

void picture::add(const heat_map& m) {
  const auto self = [](const std::string& s) { return s; };
  const double cell_width =
      std::max({64.0, longest(m.cells, [](const heat_cell& c) { return c.text; }) + 20,
                longest(m.cells, [](const heat_cell& c) { return c.remark; }) + 8, longest(m.column_names, self) + 12});
  constexpr double cell_height = 44;
  const double left = margin + std::max(longest(m.row_names, self), length(m.row_word)) + 14;
  double most = 0;
  double least = m.cells.empty() ? 0 : m.cells.front().value;
  for (const heat_cell& c : m.cells) {
    most = std::max(most, c.value);
    least = std::min(least, c.value);
  }
  const double floor = std::min(least, most / 2);  // small differences stay small in colour
  double y = height_ + line_height + 10;
  text(margin, y, "ink head", m.title);
  y += line_height + 4;
  text(left, y, "dim", m.column_word);
  y += line_height;
  text(margin, y, "dim", m.row_word);
  const auto columns = m.column_names.size();
  for (std::size_t c = 0; c < columns; ++c) {
    text(left + cell_width * (static_cast<double>(c) + 0.5), y, "ink mid", m.column_names[c]);
  }
  y += 8;
  for (std::size_t r = 0; r < m.row_names.size(); ++r) {
    text(left - 10, y + cell_height / 2 + 4, "ink end", m.row_names[r]);
    for (std::size_t c = 0; c < columns; ++c) {
      const heat_cell& one = m.cells[r * columns + c];
      const colour fill = shade(colours_, most > floor ? (one.value - floor) / (most - floor) : 1);
      const double x = left + cell_width * static_cast<double>(c);
      const char* ink = ink_on(fill);
      body_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" "
          "fill=\"#{:02x}{:02x}{:02x}\"/>\n",
          x + 1, y + 1, cell_width - 2, cell_height - 2, fill.r, fill.g, fill.b);
      const double middle = x + cell_width / 2;
      body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"mid value\" fill=\"{}\">{}</text>\n", middle,
                           y + 20, ink, cli::xml_text(one.text));
      body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"mid small\" fill=\"{}\">{}</text>\n", middle,
                           y + 35, ink, cli::xml_text(one.remark));
    }
    y += cell_height;
  }
  width_ = std::max(width_, left + cell_width * static_cast<double>(columns));
  height_ = y;
}

void picture::add(const curve_chart& chart) {
  constexpr double plot_width = 560;
  constexpr double plot_height = 280;
  constexpr double left = margin + 64;
  constexpr double label_distance = 30;
  double x_most = 1;
  double y_most = 1;
  for (const curve& c : chart.curves) {
    for (const curve::point& p : c.points) {
      x_most = std::max(x_most, p.x);
      y_most = std::max(y_most, p.y_max);
    }
  }
  const double x_step = nice_step(x_most, 6);
  const double y_step = nice_step(y_most, 5);
  x_most = std::ceil(x_most / x_step) * x_step;
  y_most = std::ceil(y_most / y_step) * y_step;
  double y = height_ + line_height + 14;
  text(margin, y, "ink head", chart.title);
  y += line_height + 2;
  text(margin, y, "dim", chart.y_word);
  const double top = y + 12;
  const double bottom = top + plot_height;
  const auto at_x = [&](double v) { return left + v / x_most * plot_width; };
  const auto at_y = [&](double v) { return bottom - v / y_most * plot_height; };
  for (double v = 0; v <= y_most * 1.0001; v += y_step) {
    body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>\n", left,
                         at_y(v), left + plot_width, at_y(v));
    text(left - 8, at_y(v) + 4, "dim end", fmt::format("{:g}", v));
  }
  for (double v = 0; v <= x_most * 1.0001; v += x_step) text(at_x(v), bottom + 18, "dim mid", fmt::format("{:g}", v));
  body_ += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\" class=\"axis\"/>\n", left, top, bottom,
                       left + plot_width);
  text(left + plot_width / 2, bottom + 36, "dim mid", chart.x_word);
  double legend = bottom + 36;
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const char* line = curve_colours[i % curve_colours.size()];
    std::string path;
    double labelled = left - label_distance;
    for (const curve::point& p : chart.curves[i].points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_x(p.x), at_y(p.y));
      body_ += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"{3}\" stroke-opacity=\".6\"/>\n", at_x(p.x),
                           at_y(p.y_min), at_y(p.y_max), line);
      body_ += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"><title>{:.0f}, {:.1f}</title></circle>\n",
          at_x(p.x), at_y(p.y), line, p.x, p.y);
      if (at_x(p.x) - labelled < label_distance) continue;  // the point's title tells it
      labelled = at_x(p.x);
      text(labelled, at_y(p.y_max) - 6, "ink small mid", fmt::format("{:.0f}", p.y));
    }
    body_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, line);
    legend += line_height;
    body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", left,
                         legend - 10, line);
    text(left + 18, legend, "ink", chart.curves[i].name);
  }
  width_ = std::max(width_, left + plot_width + 20);
  height_ = legend;
}

std::string picture::finish() const {
  double width = std::max(width_, margin + 1.4 * length(title_));
  for (const std::string& line : captions_) width = std::max(width, margin + length(line));
  width += margin;
  const double head = margin + 8 + line_height * static_cast<double>(captions_.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"img\">\n<title>{2}</title>\n",
      width, head + height_ + margin, cli::xml_text(title_));
  out += style;
  out += "<rect width=\"100%\" height=\"100%\" rx=\"8\" class=\"card\"/>\n";
  out += fmt::format("<text x=\"{0:.1f}\" y=\"{0:.1f}\" class=\"ink title\">{1}</text>\n", margin + 4,
                     cli::xml_text(title_));
  double y = margin + 4;
  for (const std::string& line : captions_) {
    y += line_height;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"dim\">{}</text>\n", margin + 4, y, cli::xml_text(line));
  }
  out += fmt::format("<g transform=\"translate(4 {:.1f})\">\n{}</g>\n</svg>\n", head, body_);
  return out;
}

}  // namespace homing::measure
