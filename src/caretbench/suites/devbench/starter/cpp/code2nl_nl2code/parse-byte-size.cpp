#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

/**
 * @brief Formats a number of bytes with the largest unit that divides it.
 * @param bytes The number of bytes.
 * @return The number with its unit, such as "3M".
 */
std::string formatByteSize(std::uint64_t bytes) {
    const std::string_view units = "KMG";
    std::string unit;
    for (char next : units) {
        if (bytes == 0 || bytes % 1024 != 0) break;
        bytes /= 1024;
        unit = next;
    }
    return std::to_string(bytes) + unit;
}

/**
 * @brief Reads a size as people write it into the quota file, such as "512", "64K" or "2g".
 *
 * The text is a run of one or more decimal digits, directly followed by at most one unit: K, M or G, in either case,
 * for 1024 bytes, 1024 K and 1024 M. Nothing else may stand before, between or after: no sign, no blank.
 *
 * @param text The text to read.
 * @return The size in bytes.
 * @throws std::invalid_argument if the text does not have this form.
 * @throws std::out_of_range if the size does not fit into 64 bits.
 */
std::uint64_t parseByteSize(std::string_view text) {
⟦    constexpr std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t bytes = 0;
    std::size_t position = 0;
    for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position) {
        const auto digit = static_cast<std::uint64_t>(text[position] - '0');
        if (bytes > (maximum - digit) / 10) throw std::out_of_range("size too large");
        bytes = bytes * 10 + digit;
    }
    if (position == 0 || text.size() - position > 1) throw std::invalid_argument("not a size");
    if (position == text.size()) return bytes;
    const std::size_t unit = std::string_view("KMGkmg").find(text[position]);
    if (unit == std::string_view::npos) throw std::invalid_argument("unknown unit");
    for (std::size_t power = 0; power <= unit % 3; ++power) {
        if (bytes > maximum / 1024) throw std::out_of_range("size too large");
        bytes *= 1024;
    }
    return bytes;
}⟧
⟦tests⟧

template <typename Error>
bool refuses(std::string_view text) {
    try {
        parseByteSize(text);
    } catch (const Error&) {
        return true;
    }
    return false;
}

int main() {
    assert(parseByteSize("0") == 0);
    assert(parseByteSize("512") == 512);
    assert(parseByteSize("007") == 7);
    assert(parseByteSize("64K") == 65536);
    assert(parseByteSize("64k") == 65536);
    assert(parseByteSize("3M") == 3145728);
    assert(parseByteSize("2g") == 2147483648u);
    assert(parseByteSize("0G") == 0);
    assert(parseByteSize("18446744073709551615") == 18446744073709551615u);
    assert(formatByteSize(parseByteSize("3072k")) == "3M");

    for (std::string_view text : {"", "K", "12KB", "1 K", " 1", "1 ", "-1", "+1", "1T", "1.5M", "M1", "1K1", "0x10"}) {
        assert(refuses<std::invalid_argument>(text));
    }
    assert(refuses<std::out_of_range>("18446744073709551616"));
    assert(refuses<std::out_of_range>("99999999999999999999999"));
    assert(refuses<std::out_of_range>("18014398509481984K"));
    assert(parseByteSize("18014398509481983K") == 18446744073709550592u);
}
