#include <cassert>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// One counter as an agent sends it: `name:value|c`, or `name:value|c|@percent` when it was sampled.
struct Counter {
    std::string name;
    std::int32_t value = 0;
    std::int32_t percent = 100;
};

class CounterParser {
public:
    /// Reads one line of the protocol; nothing if it is not well formed.
    static std::optional<Counter> parse(std::string_view line) {
        const std::size_t colon = line.find(':');
        if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
        Counter counter;
        counter.name = std::string(line.substr(0, colon));
        std::string_view rest = line.substr(colon + 1);
        if (!takeNumber(rest, counter.value) || !takeText(rest, "|c")) return std::nullopt;
        if (takeText(rest, "|@")) {
            if (!takeNumber(rest, counter.percent)) return std::nullopt;
            if (counter.percent < 1 || counter.percent > 100) return std::nullopt;
        }
        if (!rest.empty()) return std::nullopt;
        return counter;
    }

private:
    /// Takes `expected` off the front of `text`, if it stands there.
    static bool takeText(std::string_view& text, std::string_view expected) {
        if (text.substr(0, expected.size()) != expected) return false;
        text.remove_prefix(expected.size());
        return true;
    }

    /// Takes a decimal number off the front of `text`, with std::from_chars: no locale, no copy, no exception.
    /// Where there is none, or it does not fit, `text` stays as it is and the answer is false.
    static bool takeNumber(std::string_view& text, std::int32_t& number) {
⟦        std::int32_t parsed = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), parsed);
        if (failure != std::errc()) return false;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        number = parsed;
        return true;
    }
};

⟧int main() {
    const auto plain = CounterParser::parse("requests:17|c");
    assert(plain && plain->name == "requests" && plain->value == 17 && plain->percent == 100);

    const auto sampled = CounterParser::parse("cache.miss:-3|c|@25");
    assert(sampled && sampled->value == -3 && sampled->percent == 25);

    assert(CounterParser::parse("n:2147483647|c")->value == 2147483647);
    assert(CounterParser::parse("n:0|c|@100"));

    for (const char* wrong : {"", "n", ":1|c", "n:|c", "n:x1|c", "n:1", "n:1|g", "n:1.5|c", "n: 1|c", "n:+1|c",
                              "n:2147483648|c", "n:1|c|@", "n:1|c|@0", "n:1|c|@101", "n:1|c|@5x", "n:1|c "}) {
        assert(!CounterParser::parse(wrong));
    }
    const std::string_view buffer = "n:123456";
    assert(!CounterParser::parse(buffer.substr(0, 4)));
    return 0;
}
