#include <cassert>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// How a type is written into a cell of an export, and read back. One specialisation for every type of column.
template <typename T>
struct Codec;

template <>
struct Codec<std::string> {
    static constexpr const char* name = "text";
    static std::string write(const std::string& value) { return "'" + value + "'"; }
    static std::string read(const std::string& cell) {
        if (cell.size() < 2 || cell.front() != '\'' || cell.back() != '\'') {
            throw std::invalid_argument("not a text: " + cell);
        }
        return cell.substr(1, cell.size() - 2);
    }
};

template <>
struct Codec<bool> {
    static constexpr const char* name = "flag";
    static std::string write(bool value) { return value ? "yes" : "no"; }
    static bool read(const std::string& cell) {
        if (cell != "yes" && cell != "no") throw std::invalid_argument("not a flag: " + cell);
        return cell == "yes";
    }
};

template <>
struct Codec<char> {
    static constexpr const char* name = "grade";
    static std::string write(char value) { return value ? std::string(1, value) : "-"; }
    static char read(const std::string& cell) {
        if (cell == "-") return '\0';
        return cell.at(0);
    }
};

/// Cents, written with a point: 12.05
struct Money {
    long cents;
    bool operator==(const Money& other) const { return cents == other.cents; }
};

template <>
struct Codec<Money> {
    static constexpr const char* name = "money";
    static std::string write(const Money& value) {
        const std::string rest = std::to_string(value.cents % 100);
        return std::to_string(value.cents / 100) + (rest.size() < 2 ? ".0" : ".") + rest;
    }
    static Money read(const std::string& cell) {
        const std::size_t point = cell.find('.');
        if (point == std::string::npos || cell.size() != point + 3) throw std::invalid_argument("not a money: " + cell);
        return Money{std::stol(cell.substr(0, point)) * 100 + std::stol(cell.substr(point + 1))};
    }
};

/// A column that may be empty: no value is an empty cell, a value is written as its own codec does.
template <typename T>
struct Codec<std::optional<T>> {
⟦    static constexpr const char* name = Codec<T>::name;
    static std::string write(const std::optional<T>& value) { return value ? Codec<T>::write(*value) : ""; }
    static std::optional<T> read(const std::string& cell) {
        if (cell.empty()) return std::nullopt;
        return Codec<T>::read(cell);
    }
};
⟧
template <typename T>
std::vector<std::string> column(const std::vector<T>& values) {
    std::vector<std::string> cells{Codec<T>::name};
    for (const T& value : values) cells.push_back(Codec<T>::write(value));
    return cells;
}
⟦tests⟧

template <typename T>
bool refuses(const std::string& cell) {
    try {
        Codec<T>::read(cell);
    } catch (const std::invalid_argument&) {
        return true;
    }
    return false;
}

int main() {
    using OptionalMoney = std::optional<Money>;
    const std::vector<OptionalMoney> fees{Money{1205}, std::nullopt, Money{0}};
    const std::vector<std::string> cells = column(fees);
    assert(cells[1] == "12.05" && cells[2].empty() && cells[3] == "0.00");
    assert(Codec<OptionalMoney>::read("3.50") == OptionalMoney(Money{350}));
    assert(!Codec<OptionalMoney>::read("").has_value());
    assert(refuses<OptionalMoney>("3,50"));

    using OptionalText = std::optional<std::string>;
    assert(Codec<OptionalText>::write(std::string()) == "''");
    assert(Codec<OptionalText>::read("''") == OptionalText(""));
    assert(Codec<OptionalText>::write(std::nullopt).empty());
    assert(refuses<OptionalText>("'"));

    using OptionalFlag = std::optional<bool>;
    assert(Codec<OptionalFlag>::write(false) == "no" && Codec<OptionalFlag>::read("no") == OptionalFlag(false));
    assert(refuses<OptionalFlag>("maybe") && refuses<bool>(""));
    assert(column(std::vector<bool>{true})[1] == "yes");
}
