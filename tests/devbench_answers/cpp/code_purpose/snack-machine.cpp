#include <array>
#include <cassert>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Coins of one purse, by value: 200, 100, 50, 20 and 10 cents.
struct Coins {
    static constexpr std::array<int, 5> values{200, 100, 50, 20, 10};
    std::array<int, 5> counts{};

    int total() const {
        int cents = 0;
        for (std::size_t i = 0; i < values.size(); ++i) cents += values[i] * counts[i];
        return cents;
    }
    void add(const Coins& other) {
        for (std::size_t i = 0; i < values.size(); ++i) counts[i] += other.counts[i];
    }
    void remove(const Coins& other) {
        for (std::size_t i = 0; i < values.size(); ++i) counts[i] -= other.counts[i];
    }
};

/// A machine that sells snacks and gives change out of the coins that it has, large ones first.
class SnackMachine {
public:
    struct Slot {
        std::string snack;
        int price;
        int left;
    };

    SnackMachine(std::vector<Slot> slots, Coins box) : slots_(std::move(slots)), box_(box) {}

    const Coins& box() const { return box_; }
    int left(std::size_t slot) const { return slots_.at(slot).left; }

    /// Coins of the box that make up an amount; nothing if it cannot be paid exactly.
    std::optional<Coins> changeFor(int cents) const {
        Coins change;
        for (std::size_t i = 0; i < Coins::values.size(); ++i) {
            while (cents >= Coins::values[i] && change.counts[i] < box_.counts[i]) {
                cents -= Coins::values[i];
                ++change.counts[i];
            }
        }
        return cents == 0 ? std::optional<Coins>(change) : std::nullopt;
    }

    /// Sells a snack and returns the change. The coins of the buyer may be part of it. A sale that cannot be made
    /// (empty slot, too little money, no change) throws std::runtime_error, and the buyer's coins are not kept.
    Coins sell(std::size_t slot, const Coins& paid) {
        Slot& chosen = slots_.at(slot);
        if (chosen.left == 0) throw std::runtime_error("sold out");
        if (paid.total() < chosen.price) throw std::runtime_error("too little money");
⟦        box_.add(paid);
        const std::optional<Coins> change = changeFor(paid.total() - chosen.price);
        if (!change) {
            box_.remove(paid);
            throw std::runtime_error("no change");
        }
        box_.remove(*change);
        --chosen.left;
        return *change;
⟧    }

private:
    std::vector<Slot> slots_;
    Coins box_;
};
⟦tests⟧

static std::string refusal(SnackMachine& machine, std::size_t slot, const Coins& paid) {
    const int before = machine.box().total();
    try {
        machine.sell(slot, paid);
    } catch (const std::runtime_error& error) {
        assert(machine.box().total() == before);
        return error.what();
    }
    return "sold";
}

int main() {
    using Counts = std::array<int, 5>;
    SnackMachine machine({{"nuts", 130, 2}, {"figs", 120, 1}}, Coins{{0, 0, 1, 1, 0}});
    assert(refusal(machine, 0, Coins{{0, 1, 0, 1, 0}}) == "too little money");
    assert(refusal(machine, 0, Coins{{0, 0, 0, 7, 0}}) == "no change");
    assert(machine.left(0) == 2 && (machine.box().counts == Counts{0, 0, 1, 1, 0}));

    // 70 cents out of the box; the coin of the buyer stays.
    assert((machine.sell(0, Coins{{1, 0, 0, 0, 0}}).counts == Counts{0, 0, 1, 1, 0}));
    assert(machine.left(0) == 1 && (machine.box().counts == Counts{1, 0, 0, 0, 0}));

    // Change from what the buyer has just paid.
    assert((machine.sell(1, Coins{{0, 1, 1, 1, 0}}).counts == Counts{0, 0, 1, 0, 0}));
    assert((machine.box().counts == Counts{1, 1, 0, 1, 0}));
    assert(refusal(machine, 1, Coins{{1, 0, 0, 0, 0}}) == "sold out");

    assert(machine.sell(0, Coins{{0, 1, 0, 1, 1}}).total() == 0);
    assert(machine.left(0) == 0 && machine.box().total() == 450);
}
