#include <cassert>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Stands for the operating system: hands out descriptors and remembers which are open.
class Kernel {
public:
    int open(const std::string& device) {
        if (device.empty()) throw std::invalid_argument("no device");
        open_.push_back(true);
        return static_cast<int>(open_.size()) - 1;
    }
    void close(int descriptor) {
        if (!open_.at(static_cast<std::size_t>(descriptor))) throw std::logic_error("closed twice");
        open_[static_cast<std::size_t>(descriptor)] = false;
    }
    int openCount() const {
        int count = 0;
        for (bool isOpen : open_) count += isOpen ? 1 : 0;
        return count;
    }

private:
    std::vector<bool> open_;
};

/// Owns one open descriptor, or none.
class Descriptor {
public:
    Descriptor() = default;
    Descriptor(Kernel& kernel, const std::string& device) : kernel_(&kernel), number_(kernel.open(device)) {}

    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    Descriptor(Descriptor&& other) noexcept
        : kernel_(std::exchange(other.kernel_, nullptr)), number_(std::exchange(other.number_, -1)) {}

    /// Closes what it owns and takes over what the other owns.
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
⟦            reset();
            kernel_ = std::exchange(other.kernel_, nullptr);
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }

    ~Descriptor() { reset(); }

⟧    void reset() noexcept {
        if (kernel_ != nullptr) {
            kernel_->close(number_);
            kernel_ = nullptr;
            number_ = -1;
        }
    }

    bool isOpen() const noexcept { return number_ >= 0; }

private:
    Kernel* kernel_ = nullptr;
    int number_ = -1;
};

int main() {
    Kernel kernel;
    {
        Descriptor first(kernel, "/dev/ttyS0");
        Descriptor second(kernel, "/dev/ttyS1");
        assert(kernel.openCount() == 2);

        first = std::move(second);
        assert(kernel.openCount() == 1 && first.isOpen() && !second.isOpen());

        Descriptor& alias = first;
        first = std::move(alias);
        assert(kernel.openCount() == 1 && first.isOpen());

        second = Descriptor(kernel, "/dev/ttyS2");
        assert(kernel.openCount() == 2 && second.isOpen());

        (second = Descriptor()).reset();
        assert(kernel.openCount() == 1 && !second.isOpen());
    }
    assert(kernel.openCount() == 0);

    std::vector<Descriptor> many;
    for (int i = 0; i < 5; ++i) many.emplace_back(kernel, "/dev/null");
    many.erase(many.begin(), many.begin() + 2);
    assert(kernel.openCount() == 3);
    many.clear();
    assert(kernel.openCount() == 0);
    return 0;
}
