/// Runs models: every execution of each, depth first, until none is left or one is wrong; then its trace is printed.
///
/// Options: --sample (smaller bounds, and not the large models), --only TEXT (names that contain it), --list, --stop
/// (at the first that fails), --preemptions N and --stale N (these bounds at most), --mutant N (of a mutated binary).
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "engine/model.hpp"
#include "engine/mutant.hpp"

namespace homing::model {
namespace {

std::vector<const scenario*>& registered() {
  static std::vector<const scenario*> all;
  return all;
}

class states final : public seen_states {
 public:
  bool met(std::uint64_t state, unsigned preemptions) override {
    const auto [known, is_new] = most_left_.try_emplace(state, preemptions);
    if (is_new) {
      return false;
    }
    if (known->second >= preemptions) {
      return true;
    }
    known->second = preemptions;
    return false;
  }
  [[nodiscard]] std::size_t size() const noexcept { return most_left_.size(); }

 private:
  using entry = std::pair<const std::uint64_t, unsigned>;
  std::unordered_map<std::uint64_t, unsigned, std::hash<std::uint64_t>, std::equal_to<>, engine_allocator<entry>>
      most_left_;
};

std::string text_of(const std::set<outcome>& all) {
  std::string text;
  for (const outcome& one : all) {
    text += text.empty() ? "{" : " {";
    for (std::size_t i = 0; i < one.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(one[i]);
    }
    text += "}";
  }
  return text;
}

struct options {
  bool is_sample = false;
  bool only_names = false;
  bool stops = false;
  const char* only = "";
  unsigned preemptions_max = ~0U;
  unsigned stale_max = ~0U;
};

limits bounds_of(const settings& how, const options& o) {
  limits bounds;
  bounds.preemptions =
      std::min(o.is_sample ? std::min(how.preemptions, how.sample_preemptions) : how.preemptions, o.preemptions_max);
  bounds.stale = std::min(o.is_sample ? std::min(how.stale, how.sample_stale) : how.stale, o.stale_max);
  bounds.spurious = how.spurious;
  bounds.steps = how.steps;
  return bounds;
}

/// Runs one scenario; true if it is as it should be.
bool explore(const scenario& s, const options& o) {
  const auto begun = std::chrono::steady_clock::now();
  choices decide;
  states seen;
  exchange_is_fence = s.how.relies_on_x86;
  const limits bounds = bounds_of(s.how, o);
  execution run(decide, seen, bounds);
  std::uint64_t executions = 0;
  std::uint64_t complete = 0;
  std::set<outcome> outcomes;
  std::string wrong;
  do {
    decide.rewind();
    const execution::ending ending = run.run(s.body);
    ++executions;
    if (decide.is_nondeterministic()) {
      wrong = "a replay went another way: the model depends on something that is not recorded";
    } else if (ending == execution::ending::failed) {
      wrong = run.failure();
    } else if (ending == execution::ending::complete) {
      ++complete;
      outcomes.emplace(run.outcome().begin(), run.outcome().end());
    }
  } while (wrong.empty() && decide.advance());
  const bool is_expected =
      s.how.fault.empty() ? wrong.empty() : !wrong.empty() && wrong.find(s.how.fault) != std::string::npos;
  const bool outcomes_fit = s.how.outcomes.empty() || !wrong.empty() || outcomes == s.how.outcomes;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const bool good = is_expected && outcomes_fit;
  std::printf("%-6s %-44s %10" PRIu64 " executions, %8" PRIu64 " complete, %9zu states, preemptions %s%s, %.1f s\n",
              good ? "ok" : "FAILED", s.name, executions, complete, seen.size(),
              bounds.preemptions == ~0U ? "all" : std::to_string(bounds.preemptions).c_str(),
              bounds.stale == ~0U ? "" : (", stale " + std::to_string(bounds.stale)).c_str(), seconds);
  if (!is_expected) {
    std::printf("  %s\n", wrong.empty() ? ("this fault was not found: " + s.how.fault).c_str() : wrong.c_str());
    std::printf("%s", wrong.empty() ? "" : run.events().text().c_str());
  } else if (!outcomes_fit) {
    std::printf("  outcomes %s\n  expected %s\n", text_of(outcomes).c_str(), text_of(s.how.outcomes).c_str());
  }
  std::fflush(stdout);
  return good;
}

}  // namespace

scenario::scenario(const char* its_name, settings its_settings, void (*its_body)())
    : name(its_name), how(std::move(its_settings)), body(its_body) {
  registered().push_back(this);
}

const std::vector<const scenario*>& scenarios() { return registered(); }

}  // namespace homing::model

namespace {

/// False: an option that there is not.
bool read_options(int argc, char** argv, homing::model::options& o) {
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--sample") == 0) {
      o.is_sample = true;
    } else if (std::strcmp(argv[i], "--stop") == 0) {
      o.stops = true;
    } else if (std::strcmp(argv[i], "--list") == 0) {
      o.only_names = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && has_value) {
      o.only = argv[++i];
    } else if (std::strcmp(argv[i], "--preemptions") == 0 && has_value) {
      o.preemptions_max = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (std::strcmp(argv[i], "--stale") == 0 && has_value) {
      o.stale_max = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (std::strcmp(argv[i], "--mutant") == 0 && has_value) {
      homing::model::mutant = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else {
      std::fprintf(stderr, "%s: %s: expected --sample, --stop, --list, --only TEXT, --preemptions N, --stale N\n",
                   argv[0], argv[i]);
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  homing::model::options o;
  if (!read_options(argc, argv, o)) {
    return 2;
  }
  unsigned run = 0;
  unsigned failed = 0;
  for (const homing::model::scenario* s : homing::model::scenarios()) {
    if (std::strstr(s->name, o.only) == nullptr || (o.is_sample && !s->how.in_sample)) {
      continue;
    }
    ++run;
    if (o.only_names) {
      std::printf("%s\n", s->name);
    } else {
      failed += homing::model::explore(*s, o) ? 0U : 1U;
      if (o.stops && failed > 0) {
        break;
      }
    }
  }
  if (run == 0) {
    std::fprintf(stderr, "%s: no scenario's name contains \"%s\"; --list has them\n", argv[0], o.only);
    return 2;
  }
  if (!o.only_names) {
    std::printf("%u scenarios, %u failed\n", run, failed);
  }
  return failed == 0 ? 0 : 1;
}
