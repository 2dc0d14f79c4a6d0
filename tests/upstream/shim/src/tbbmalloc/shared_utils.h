/// Stands in for a private header that oneTBB's test helper common/memory_usage.h includes.
///
/// The helper only reads numbers out of files below /proc and /sys with it, so five programs that
/// otherwise use nothing but the public API need not be left out. Written from its uses.
#pragma once

#include <cstdio>

struct parseFileItem {
  const char* format;  ///< a scanf format with one conversion
  long long& value;    ///< where the number goes; left alone when no line matches
};

template <int BUFF_SIZE, int N>
void parseFile(const char* file, const parseFileItem (&items)[N]) {
  std::FILE* stream = std::fopen(file, "r");
  if (stream == nullptr) return;
  char line[BUFF_SIZE];
  while (std::fgets(line, BUFF_SIZE, stream) != nullptr) {
    for (const parseFileItem& item : items) std::sscanf(line, item.format, &item.value);
  }
  std::fclose(stream);
}
