#include <cassert>
#include <cstddef>
#include <vector>

template <typename Range, typename Predicate>
std::size_t longestStreak(const Range& range, Predicate holds) {
    std::size_t longest = 0;
    std::size_t current = 0;
    for (const auto& element : range) {
        current = holds(element) ? ⟦current + 1 : 0;
        if (current > longest) longest = current;
    }
    return longest;
}⟧
⟦tests⟧

#include <string>

int main() {
    const auto dry = [](double millimetres) { return millimetres < 0.1; };
    assert(longestStreak(std::vector<double>{0.0, 0.0, 2.5, 0.0, 0.05, 0.0, 7.0}, dry) == 3);
    assert(longestStreak(std::vector<double>{}, dry) == 0);
    assert(longestStreak(std::vector<double>{1.0, 0.1}, dry) == 0);
    assert(longestStreak(std::vector<double>{0.0, 0.0, 0.0, 0.0}, dry) == 4);
    assert(longestStreak(std::string("rain aaa bb aaaa"), [](char letter) { return letter == 'a'; }) == 4);
    assert(longestStreak(std::vector<bool>{true, false, true, true}, [](bool flag) { return flag; }) == 2);
}
