#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>
#include <vector>

namespace schedule {

/// A stretch of minutes since midnight: `begin` belongs to it, `end` does not.
struct Window {
    int begin;
    int end;

    bool empty() const { return begin >= end; }
    bool operator==(const Window& other) const { return begin == other.begin && end == other.end; }
};

/// The same minutes as few windows: in order, not empty, and neither overlapping nor touching.
std::vector<Window> normalised(std::vector<Window> windows) {
    windows.erase(std::remove_if(windows.begin(), windows.end(), [](const Window& w) { return w.empty(); }),
                  windows.end());
    std::sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) { return a.begin < b.begin; });
    std::vector<Window> merged;
    for (const Window& window : windows) {
        if (!merged.empty() && window.begin <= merged.back().end) {
            merged.back().end = std::max(merged.back().end, window.end);
        } else {
            merged.push_back(window);
        }
    }
    return merged;
}

/// How many minutes the windows cover; minutes that several of them cover count once.
int coveredMinutes(const std::vector<Window>& windows) {
    const std::vector<Window> parts = normalised(windows);
    return std::accumulate(parts.begin(), parts.end(), 0,
                           [](int sum, const Window& part) { return sum + part.end - part.begin; });
}

/// The minutes of `day` in which no maintenance takes place, normalised.
std::vector<Window> openTimes(const Window& day, const std::vector<Window>& maintenance) {
⟦    std::vector<Window> open;
    int begin = day.begin;
    for (const Window& window : normalised(maintenance)) {
        open.push_back({begin, std::min(window.begin, day.end)});
        begin = std::max(begin, window.end);
    }
    open.push_back({begin, day.end});
    return normalised(std::move(open));
⟧}

}  // namespace schedule

int main() {
    using schedule::openTimes;
    using schedule::Window;
    using Windows = std::vector<Window>;
    const Window day{480, 1080};

    assert((openTimes(day, {}) == Windows{{480, 1080}}));
    assert((openTimes(day, {{600, 660}}) == Windows{{480, 600}, {660, 1080}}));
    assert((openTimes(day, {{900, 960}, {600, 660}, {640, 700}, {700, 720}}) == Windows{{480, 600}, {720, 900}, {960, 1080}}));
    assert((openTimes(day, {{0, 500}, {1000, 1440}}) == Windows{{500, 1000}}));
    assert((openTimes(day, {{480, 490}, {1070, 1080}}) == Windows{{490, 1070}}));
    assert((openTimes(day, {{0, 100}, {1200, 1300}}) == Windows{{480, 1080}}));
    assert((openTimes(day, {{600, 600}, {700, 650}}) == Windows{{480, 1080}}));
    assert(openTimes(day, {{400, 800}, {700, 1200}}).empty());
    assert(openTimes({500, 500}, {}).empty());
    assert(schedule::coveredMinutes(openTimes(day, {{600, 660}, {630, 690}})) == 510);
    return 0;
}
