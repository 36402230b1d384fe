#include <cassert>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

/// Report of a survey rover: why a step of its mission failed, from the step down to the first cause.
class MissionLog {
public:
    /// Runs one step. A failure leaves as a std::runtime_error with the name of the step, around its cause.
    static void step(const std::string& name, const std::function<void()>& action) {
        try {
            action();
        } catch (...) {
            std::throw_with_nested(std::runtime_error(name));
        }
    }

    /// Runs a mission; true if it succeeds. Otherwise the causes are noted, the outermost first; a cause that is no
    /// std::exception is noted as "unknown" and ends the list.
    bool run(const std::function<void()>& mission) {
        causes_.clear();
        try {
            mission();
            return true;
        } catch (const std::exception& failure) {
            note(failure);
        } catch (...) {
            causes_.push_back("unknown");
        }
        return false;
    }

    const std::vector<std::string>& causes() const { return causes_; }

private:
    void note(const std::exception& failure) {
        causes_.emplace_back(failure.what());
⟦        try {
            std::rethrow_if_nested(failure);
        } catch (const std::exception& cause) {
            note(cause);
        } catch (...) {
            causes_.emplace_back("unknown");
        }
⟧    }

    std::vector<std::string> causes_;
};
⟦tests⟧

int main() {
    using Causes = std::vector<std::string>;
    MissionLog log;
    assert(log.run([] {}) && log.causes().empty());
    assert(!log.run([] { throw std::logic_error("wheel"); }));
    assert(log.causes() == Causes{"wheel"});

    const auto drill = [] { MissionLog::step("drill", [] { throw std::range_error("too deep"); }); };
    assert(!log.run([&drill] { MissionLog::step("sample", drill); }));
    assert((log.causes() == Causes{"sample", "drill", "too deep"}));

    assert(!log.run([] { MissionLog::step("camera", [] { throw 7; }); }));
    assert((log.causes() == Causes{"camera", "unknown"}));
    assert(!log.run([] { throw 7; }));
    assert(log.causes() == Causes{"unknown"});
    assert(log.run([] { MissionLog::step("park", [] {}); }) && log.causes().empty());
}
