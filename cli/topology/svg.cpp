/// A machine as an SVG picture: a card a domain with its L3 groups and CPUs, the distance matrix, the limits.
#include <fmt/format.h>

#include <algorithm>

#include "common/text.hpp"
#include "topology/view.hpp"

namespace homing::cli {
namespace {

using namespace homing::topology;

// Everything in pixels at 100 %. Text is 13 pixels high and about 7.3 wide (a fixed-width font).
constexpr unsigned margin = 20;
constexpr unsigned gap = 16;
constexpr unsigned card_width = 372;
constexpr unsigned line_height = 19;
constexpr std::size_t card_letters = 46;   // that stand between the edges of a card
constexpr std::size_t group_letters = 44;  // and of an L3 group in it
constexpr unsigned cpu_width = 38;
constexpr unsigned cpu_height = 22;
constexpr unsigned cpus_in_row = 8;
constexpr std::size_t cpus_drawn_max = 256;  // of one group: beyond that, its list in text
constexpr unsigned cell_width = 44;
constexpr unsigned cell_height = 24;
constexpr std::size_t matrix_max = 64;

struct palette {
  const char* page;
  const char* ink;
  const char* soft;
  const char* card;
  const char* line;
  const char* group;
  const char* cpu;
  const char* on_cpu;
  const char* memory;
};
constexpr palette light = {"#ffffff", "#1c2430", "#5b6675", "#f3f6fa", "#b9c4d2",
                           "#dfe9f5", "#2f6fb3", "#ffffff", "#2c8a5a"};
constexpr palette dark = {"#14181f", "#e6ebf2", "#9aa7b8", "#1d242e", "#3b4757",
                          "#273446", "#5a9be0", "#0e1319", "#58c48b"};

std::string colours(const palette& p) {
  return fmt::format(
      "text {{ fill: {}; }} .page {{ fill: {}; }} .soft {{ fill: {}; }} .memory {{ fill: {}; }} .on-cpu {{ fill: {}; "
      "}}\n"
      "  .card {{ fill: {}; stroke: {}; }} .group {{ fill: {}; stroke: {}; }} .cpu {{ fill: {}; }} "
      ".cell {{ stroke: {}; fill: {}; }}\n",
      p.ink, p.page, p.soft, p.memory, p.on_cpu, p.card, p.line, p.group, p.line, p.cpu, p.line, p.cpu);
}

// Colours are written out, since not every program that draws SVG knows variables.
std::string style() {
  return "<style>\n"
         "  text { font: 13px ui-monospace, \"DejaVu Sans Mono\", Menlo, Consolas, monospace; }\n"
         "  .title { font-weight: bold; font-size: 15px; } .number { text-anchor: middle; }\n"
         "  .on-cpu { text-anchor: middle; font-size: 12px; }\n  " +
         colours(light) + "  @media (prefers-color-scheme: dark) {\n  " + colours(dark) + "  }\n</style>\n";
}

std::string text_at(unsigned x, unsigned y, const std::string& text, const char* kind = "") {
  const std::string attribute = *kind == '\0' ? "" : fmt::format(" class=\"{}\"", kind);
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, attribute, xml_text(text));
}

std::string rectangle(unsigned x, unsigned y, unsigned width, unsigned height, const char* kind, unsigned radius) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" class=\"{}\"/>\n", x, y, width,
                     height, radius, kind);
}

// Two rows of two look better than three and one.
constexpr std::size_t cards_in_row(std::size_t count) { return count == 4 ? 2 : std::min<std::size_t>(count, 3); }

struct part {
  std::string svg{};
  unsigned height = 0;
};

// An L3 group: its CPUs as tiles, or as a list if they are too many.
part draw_group(const std::vector<cpu_id>& cpus, unsigned x, unsigned y, bool named) {
  const unsigned head = named ? line_height : 4;
  if (cpus.size() > cpus_drawn_max) {
    const std::vector<std::string> lines = wrapped(list_of(cpus), group_letters);
    const unsigned height = head + static_cast<unsigned>(lines.size()) * line_height + 4;
    part p{rectangle(x, y, card_width - 24, height, "group", 4), height};
    for (unsigned i = 0; i < lines.size(); ++i) p.svg += text_at(x + 8, y + head + 12 + i * line_height, lines[i]);
    return p;
  }
  const auto rows = static_cast<unsigned>((cpus.size() + cpus_in_row - 1) / cpus_in_row);
  const unsigned height = head + rows * (cpu_height + 4) + 4;
  part p{rectangle(x, y, card_width - 24, height, "group", 4), height};
  if (named) p.svg += text_at(x + 8, y + 14, "L3 group", "soft");
  for (unsigned i = 0; i < cpus.size(); ++i) {
    const unsigned left = x + 8 + i % cpus_in_row * (cpu_width + 4);
    const unsigned top = y + head + 2 + i / cpus_in_row * (cpu_height + 4);
    p.svg += rectangle(left, top, cpu_width, cpu_height, "cpu", 3);
    p.svg += text_at(left + cpu_width / 2, top + 16, std::to_string(static_cast<int>(cpus[i])), "on-cpu");
  }
  return p;
}

// Without its frame, which is as high as the highest of its row.
part draw_domain(const machine& m, std::size_t index, const free_memory& free, unsigned x, unsigned y) {
  const domain& d = m.domains()[index];
  part p;
  const auto line = [&](const std::string& text, const char* kind) {
    p.height += line_height;
    p.svg += text_at(x + 12, y + p.height + 4, text, kind);
  };
  line(domain_title(m, index), "title");
  for (const std::string& text : memory_lines(m, d, free)) line(text, "memory");
  if (!d.has_memory) line(fmt::format("memory from node {}", static_cast<int>(d.memory_node)), "soft");
  line(fmt::format("{} CPU{}", d.cpus.size(), d.cpus.size() == 1 ? "" : "s"), "");
  if (m.is_virtual()) {
    for (const std::string& text : wrapped("runs on real CPUs " + d.binding.list(), card_letters)) line(text, "soft");
  }
  p.height += 12;
  for (const auto& group : d.l3_groups) {
    const part drawn = draw_group(group, x + 12, y + p.height, d.l3_groups.size() > 1);
    p.svg += drawn.svg;
    p.height += drawn.height + 6;
  }
  p.height += 6;
  return p;
}

part draw_other_node(const node& n, const free_memory& free, unsigned x, unsigned y) {
  const std::string what = n.is_tier ? "memory only" : "no usable CPU";
  return {text_at(x + 12, y + line_height + 4, fmt::format("node {}: {}", static_cast<int>(n.id), what), "title") +
              text_at(x + 12, y + 2 * line_height + 4, memory_text(n, free), "memory"),
          2 * line_height + 16};
}

part draw_cards(const machine& m, const free_memory& free, unsigned top) {
  std::vector<const node*> others;
  for (const node& n : m.nodes()) {
    if (n.cpus.empty()) others.push_back(&n);
  }
  part all;
  const std::size_t count = m.domains().size() + others.size();
  for (std::size_t first = 0; first < count; first += cards_in_row(count)) {
    const std::size_t last = std::min(first + cards_in_row(count), count);
    const unsigned y = top + all.height;
    std::vector<part> row;
    unsigned height = 0;
    for (std::size_t i = first; i < last; ++i) {
      const unsigned x = margin + static_cast<unsigned>(i - first) * (card_width + gap);
      row.push_back(i < m.domains().size() ? draw_domain(m, i, free, x, y)
                                           : draw_other_node(*others[i - m.domains().size()], free, x, y));
      height = std::max(height, row.back().height);
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      const unsigned x = margin + static_cast<unsigned>(i) * (card_width + gap);
      all.svg += rectangle(x, y, card_width, height, "card", 8) + row[i].svg;
    }
    all.height += height + gap;
  }
  return all;
}

// The darker a cell, the nearer; the figure stands in it.
part draw_distances(const machine& m, unsigned top) {
  const std::size_t count = m.domains().size();
  if (count < 2) return {};
  part p{
      text_at(margin, top + 15,
              m.distances_known() ? "Distances (row: from, column: to)" : "Distances, assumed (row: from, column: to)",
              "title"),
      2 * line_height};
  p.svg += text_at(margin, top + p.height, distance_note, "soft");
  p.height += 10;
  if (count > matrix_max) {
    p.svg += text_at(margin, top + p.height + 15, fmt::format("{} domains are too many to draw", count));
    p.height += line_height + gap;
    return p;
  }
  unsigned farthest = 11;
  for (std::size_t i = 0; i < count * count; ++i) {
    const unsigned d = m.distance(static_cast<domain_index>(i / count), static_cast<domain_index>(i % count));
    if (d < 255) farthest = std::max(farthest, d);
  }
  const unsigned left = margin + cell_width;
  for (unsigned i = 0; i < count; ++i) {
    p.svg += text_at(left + i * cell_width + cell_width / 2, top + p.height + 16, std::to_string(i), "number soft");
    p.svg +=
        text_at(margin + cell_width / 2, top + p.height + (i + 1) * cell_height + 16, std::to_string(i), "number soft");
  }
  for (unsigned from = 0; from < count; ++from) {
    for (unsigned to = 0; to < count; ++to) {
      const unsigned d = m.distance(static_cast<domain_index>(from), static_cast<domain_index>(to));
      const unsigned x = left + to * cell_width;
      const unsigned y = top + p.height + (from + 1) * cell_height;
      const double nearness = d >= farthest ? 0.0 : static_cast<double>(farthest - d) / (farthest - 10.0);
      p.svg +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"cell\" fill-opacity=\"{:.2f}\"/>\n",
                      x, y, cell_width, cell_height, 0.05 + 0.45 * std::min(nearness, 1.0));
      p.svg += text_at(x + cell_width / 2, y + 16, std::to_string(d), "number");
    }
  }
  p.height += static_cast<unsigned>(count + 1) * cell_height + gap;
  return p;
}

}  // namespace

std::string draw_svg(const machine& m, const free_memory& free) {
  const std::string title = fmt::format(
      "{}: {} domain{}, {} usable CPU{}", m.is_virtual() ? "Virtual machine" : "Machine", m.domains().size(),
      m.domains().size() == 1 ? "" : "s", m.usable_cpus(), m.usable_cpus() == 1 ? "" : "s");
  unsigned y = margin;
  std::string body = text_at(margin, y + 15, title, "title");
  y += 2 * line_height;
  const part cards_drawn = draw_cards(m, free, y);
  body += cards_drawn.svg;
  y += cards_drawn.height;
  const part distances = draw_distances(m, y);
  body += distances.svg;
  y += distances.height;
  body += text_at(margin, y + 15, "Limits", "title");
  y += line_height;
  std::size_t longest = 60;
  for (const std::string& line : limit_sentences(m)) {
    body += text_at(margin, y + 15, line);
    y += line_height;
    longest = std::max(longest, line.size());
  }
  const auto without_cpus =
      std::count_if(m.nodes().begin(), m.nodes().end(), [](const node& n) { return n.cpus.empty(); });
  const auto cards = static_cast<unsigned>(cards_in_row(m.domains().size() + static_cast<std::size_t>(without_cpus)));
  const auto matrix = m.domains().size() > matrix_max ? 0U : static_cast<unsigned>(m.domains().size() + 1) * cell_width;
  const unsigned width =
      2 * margin + std::max({cards * (card_width + gap) - gap, matrix, static_cast<unsigned>(longest) * 8});
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">\n"
      "<title>{2}</title>\n{3}<rect width=\"{0}\" height=\"{1}\" class=\"page\"/>\n{4}</svg>\n",
      width, y + margin, xml_text(title), style(), body);
}

}  // namespace homing::cli
