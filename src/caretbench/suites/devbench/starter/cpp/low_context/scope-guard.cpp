#include <cassert>
#include <functional>
#include <utility>

/// Calls a function at the end of a scope, unless it was dismissed. A guard that is moved from has no duty any more.
class ScopeGuard {
public:
    explicit ScopeGuard(std::function<void()> action) : action_(std::move(action)) {}
    ScopeGuard(ScopeGuard&& other) noexcept : action_(⟦std::move(other.action_)) { other.dismiss(); }

    ~ScopeGuard() {
        if (action_) action_();
    }

    void dismiss() noexcept { action_ = nullptr; }

⟧private:
    std::function<void()> action_;
};
⟦tests⟧

#include <stdexcept>
#include <type_traits>

int main() {
    static_assert(!std::is_copy_constructible<ScopeGuard>::value, "a guard has one owner");
    int calls = 0;
    const auto count = [&calls] { ++calls; };
    {
        ScopeGuard guard(count);
        assert(calls == 0);
    }
    assert(calls == 1);
    {
        ScopeGuard guard(count);
        guard.dismiss();
    }
    assert(calls == 1);
    {
        ScopeGuard outer(count);
        {
            ScopeGuard inner(std::move(outer));
        }
        assert(calls == 2);
    }
    assert(calls == 2);
    try {
        ScopeGuard guard(count);
        throw std::runtime_error("connection lost");
    } catch (const std::runtime_error&) {
        assert(calls == 3);
    }
    {
        ScopeGuard first(count);
        first.dismiss();
        ScopeGuard second(std::move(first));
    }
    assert(calls == 3);
}
