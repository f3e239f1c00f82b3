// In the place of Boost: genericCC's random.hh declares a generator that Copa does not use.

#include <random>

namespace boost::random {
using mt19937 = std::mt19937;
}
