#include <cassert>
#include <sstream>
#include <string>
#include <string_view>

/// Writes any number of streamable values as one line of a table: join(';', 1, "a", 2.5) is 1;a;2.5
template <typename... Fields>
std::string join(char separator, const Fields&... fields) {
    std::ostringstream line;
⟦    bool first = true;
    const auto write = [&](const auto& field) {
        if (!first) line << separator;
        first = false;
        line << field;
    };
    (write(fields), ...);
⟧    return line.str();
}
⟦tests⟧

#include <ostream>

struct Celsius {
    int degrees;
};

std::ostream& operator<<(std::ostream& out, const Celsius& value) { return out << value.degrees << "C"; }

int main() {
    assert(join(';', 1, "a", 2.5) == "1;a;2.5");
    assert(join(',') == "");
    assert(join(',', "only") == "only");
    assert(join(',', "", "") == ",");
    assert(join('|', std::string("x"), std::string_view("y"), 'z') == "x|y|z");
    assert(join(' ', Celsius{21}, -4, 0u) == "21C -4 0");
    assert(join('\t', 1, 2, 3, 4, 5, 6) == "1\t2\t3\t4\t5\t6");
}
