// A plain program on one thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "space.hpp"

namespace programs {

class serial_model : public model_base {
 public:
  static constexpr std::string_view name = "serial";
  static constexpr std::string_view what = "one thread";
  explicit serial_model(int) {}

  template <class Space, class Body>
  void loop(Space& s, const Body& body) {
    s.run(body, s.range());
  }
  template <class Space, class T, class Body>
  T sum(Space& s, T, const Body& body) {
    return s.run(body, s.range());
  }
  template <class F, class G>
  void invoke(const F& f, const G& g) {
    f();
    g();
  }
  template <class F>
  void all(std::size_t count, const F& f) {
    for (std::size_t i = 0; i < count; ++i) f(i);
  }
  template <class F, class Data>
  void parts(const F& f, const Data&) {
    for (std::uint32_t p = 0; p < part_count(); ++p) f(p);
  }
};

}  // namespace programs
