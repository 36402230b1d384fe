#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

/// Builds the packets that a sensor sends: big-endian numbers, every field after a byte that tells its type.
class PacketWriter {
public:
    enum class Type : std::uint8_t { flag = 1, level = 2, counter = 3, text = 4, samples = 5 };

    PacketWriter& flag(bool value) {
        tag(Type::flag);
        bytes_.push_back(value ? 1 : 0);
        return *this;
    }

    PacketWriter& counter(std::uint32_t value) {
        tag(Type::counter);
        bigEndian(value, 4);
        return *this;
    }

    /// At most 255 bytes, after one byte with their number.
    PacketWriter& text(const std::string& value) {
        if (value.size() > std::numeric_limits<std::uint8_t>::max()) {
            throw std::length_error("text too long");
        }
        tag(Type::text);
        bigEndian(static_cast<std::uint32_t>(value.size()), 1);
        for (char character : value) bytes_.push_back(static_cast<std::uint8_t>(character));
        return *this;
    }

    /// At most 255 levels of one byte each, after one byte with their number.
    PacketWriter& levels(const std::vector<std::uint8_t>& values) {
        if (values.size() > std::numeric_limits<std::uint8_t>::max()) {
            throw std::length_error("too many levels");
        }
        tag(Type::level);
        bigEndian(static_cast<std::uint32_t>(values.size()), 1);
        for (std::uint8_t value : values) bytes_.push_back(value);
        return *this;
    }

    /// At most 65535 samples of two bytes each, after two bytes with their number.
    PacketWriter& samples(const std::vector<std::uint16_t>& values) {
⟦        if (values.size() > std::numeric_limits<std::uint16_t>::max()) {
            throw std::length_error("too many samples");
        }
        tag(Type::samples);
        bigEndian(static_cast<std::uint32_t>(values.size()), 2);
        for (std::uint16_t value : values) bigEndian(value, 2);
⟧        return *this;
    }

    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

private:
    void tag(Type type) { bytes_.push_back(static_cast<std::uint8_t>(type)); }

    void bigEndian(std::uint32_t value, int width) {
        for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
            bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
        }
    }

    std::vector<std::uint8_t> bytes_;
};
⟦tests⟧

int main() {
    using Bytes = std::vector<std::uint8_t>;
    assert((PacketWriter().samples({0x0102, 0xfffe, 7}).bytes() == Bytes{5, 0, 3, 1, 2, 0xff, 0xfe, 0, 7}));
    assert((PacketWriter().samples({}).bytes() == Bytes{5, 0, 0}));
    assert((PacketWriter().flag(true).samples({9}).text("ok").bytes() == Bytes{1, 1, 5, 0, 1, 0, 9, 4, 2, 'o', 'k'}));
    assert((PacketWriter().counter(0x01020304).bytes() == Bytes{3, 1, 2, 3, 4}));

    PacketWriter large;
    large.samples(std::vector<std::uint16_t>(65535, 0xabcd));
    assert(large.bytes().size() == 3 + 2 * 65535u);
    assert(large.bytes()[1] == 0xff && large.bytes()[2] == 0xff && large.bytes().back() == 0xcd);

    PacketWriter refusing;
    refusing.flag(false);
    bool refused = false;
    try {
        refusing.samples(std::vector<std::uint16_t>(65536));
    } catch (const std::length_error&) {
        refused = true;
    }
    assert(refused);
    assert((refusing.bytes() == Bytes{1, 0}));
}
