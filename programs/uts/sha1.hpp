// SHA-1 of up to 55 bytes, as the random numbers of unbalanced tree search are defined by it. Source: FIPS 180-4.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace uts {

/// Five words, big-endian when seen as bytes.
using digest = std::array<std::uint32_t, 5>;

/// Of whole words, each big-endian.
[[nodiscard]] inline digest sha1(std::span<const std::uint32_t> message) noexcept {
  std::array<std::uint32_t, 16> w{};  // the last sixteen words of the schedule
  std::copy(message.begin(), message.end(), w.begin());
  w[message.size()] = 0x80000000U;
  w[15] = static_cast<std::uint32_t>(message.size() * 32);
  const digest h{0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U, 0xC3D2E1F0U};
  auto [a, b, c, d, e] = h;
  const auto round = [&](std::size_t i, std::uint32_t f, std::uint32_t k) {
    std::uint32_t& word = w[i % 16];
    if (i >= 16) word = std::rotl(w[(i + 13) % 16] ^ w[(i + 8) % 16] ^ w[(i + 2) % 16] ^ word, 1);
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + word;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
  // Unrolled, all of it stays in registers.
#pragma GCC unroll 20
  for (std::size_t i = 0; i < 20; ++i) round(i, (b & c) | (~b & d), 0x5A827999U);
#pragma GCC unroll 20
  for (std::size_t i = 20; i < 40; ++i) round(i, b ^ c ^ d, 0x6ED9EBA1U);
#pragma GCC unroll 20
  for (std::size_t i = 40; i < 60; ++i) round(i, (b & c) | (b & d) | (c & d), 0x8F1BBCDCU);
#pragma GCC unroll 20
  for (std::size_t i = 60; i < 80; ++i) round(i, b ^ c ^ d, 0xCA62C1D6U);
  return {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
}

}  // namespace uts
