#include <cassert>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

struct Temperature {
    std::string room;
    double celsius;
};
struct Door {
    std::string room;
    bool open;
};
struct Heartbeat {};

using Event = std::variant<Temperature, Door, Heartbeat>;

/// Several lambdas as one visitor.
template <typename... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// The alarms that the events of a night raise, in order: "hot lab" above 30 degrees, "cold lab" below 5, "open lab" for
/// an open door. A heartbeat raises nothing. At -273 degrees and below the sensor is broken: std::domain_error.
std::vector<std::string> alarms(const std::vector<Event>& events) {
    std::vector<std::string> raised;
    for (const Event& event : events) {
        std::visit(⟦Overloaded{
                       [&](const Temperature& reading) {
                           if (reading.celsius <= -273.0) {
                               throw std::domain_error("broken sensor in " + reading.room);
                           }
                           if (reading.celsius > 30.0) {
                               raised.push_back("hot " + reading.room);
                           } else if (reading.celsius < 5.0) {
                               raised.push_back("cold " + reading.room);
                           }
                       },
                       [&](const Door& door) {
                           if (door.open) {
                               raised.push_back("open " + door.room);
                           }
                       },
                       [](const Heartbeat&) {},
                   },
                   event);
    }
    return raised;
}⟧
⟦tests⟧

int main() {
    using Names = std::vector<std::string>;
    assert(alarms({}).empty());
    assert(alarms({Heartbeat{}, Heartbeat{}}).empty());
    assert((alarms({Temperature{"lab", 30.5}, Door{"hall", true}, Heartbeat{}, Temperature{"store", 4.9}}) ==
            Names{"hot lab", "open hall", "cold store"}));
    assert(alarms({Temperature{"lab", 30.0}, Temperature{"lab", 5.0}, Door{"hall", false}}).empty());
    assert((alarms({Temperature{"store", -272.9}}) == Names{"cold store"}));
    for (double celsius : {-273.0, -400.0}) {
        bool broken = false;
        try {
            alarms({Door{"hall", true}, Temperature{"lab", celsius}});
        } catch (const std::domain_error&) {
            broken = true;
        }
        assert(broken);
    }
}
