#include <atomic>
#include <cassert>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// A mutex that can be asked whether it is held.
class CheckedMutex {
public:
    void lock() {
        mutex_.lock();
        held_ = true;
    }
    void unlock() {
        held_ = false;
        mutex_.unlock();
    }
    bool held() const { return held_; }

private:
    std::mutex mutex_;
    std::atomic<bool> held_{false};
};

/// Stock of a warehouse that many order workers use at the same time.
///
/// What is on hand is either free or reserved. An order reserves what it needs, all of it or nothing, and later
/// either ships what it reserved or releases it.
class Stock {
public:
    using Guard = std::lock_guard<CheckedMutex>;
    using Basket = std::map<std::string, int>;

    void receive(const std::string& sku, int quantity) {
        requirePositive(quantity);
        const Guard guard(mutex_);
        onHand_[sku] += quantity;
    }

    int freeQuantity(const std::string& sku) const {
        const Guard guard(mutex_);
        return freeLocked(sku);
    }

    /// Sends reserved goods out of the house.
    void ship(const Basket& basket) {
        const Guard guard(mutex_);
        for (const auto& [sku, quantity] : basket) {
            reserved_[sku] -= quantity;
            onHand_[sku] -= quantity;
        }
    }

    /// Gives reserved goods back.
    void release(const Basket& basket) {
        const Guard guard(mutex_);
        for (const auto& [sku, quantity] : basket) reserved_[sku] -= quantity;
    }

    /// Reserves all goods of the basket, each in a positive quantity; false, and nothing reserved, if one is short.
    bool reserve(const Basket& basket) {
⟦        for (const auto& [sku, quantity] : basket) requirePositive(quantity);
        const Guard guard(mutex_);
        for (const auto& [sku, quantity] : basket) {
            if (freeLocked(sku) < quantity) return false;
        }
        for (const auto& [sku, quantity] : basket) reserved_[sku] += quantity;
        return true;
⟧    }

private:
    /// Free quantity; the caller holds the lock.
    int freeLocked(const std::string& sku) const {
        assert(mutex_.held());
        return quantityIn(onHand_, sku) - quantityIn(reserved_, sku);
    }

    static int quantityIn(const std::map<std::string, int>& quantities, const std::string& sku) {
        const auto found = quantities.find(sku);
        return found == quantities.end() ? 0 : found->second;
    }

    static void requirePositive(int quantity) {
        if (quantity <= 0) throw std::invalid_argument("quantity must be positive");
    }

    mutable CheckedMutex mutex_;
    std::map<std::string, int> onHand_;
    std::map<std::string, int> reserved_;
};
⟦tests⟧

int main() {
    Stock stock;
    stock.receive("lamp", 5);
    stock.receive("bulb", 8);

    assert(stock.reserve({{"lamp", 2}, {"bulb", 8}}));
    assert(stock.freeQuantity("lamp") == 3 && stock.freeQuantity("bulb") == 0);
    assert(!stock.reserve({{"lamp", 3}, {"plug", 1}}));
    assert(!stock.reserve({{"bulb", 1}, {"lamp", 1}}));
    assert(!stock.reserve({{"lamp", 4}}));
    assert(stock.freeQuantity("lamp") == 3 && stock.freeQuantity("plug") == 0);
    assert(stock.reserve({{"lamp", 3}}));
    assert(stock.reserve({}));

    stock.ship({{"lamp", 3}});
    stock.release({{"lamp", 2}, {"bulb", 8}});
    assert(stock.freeQuantity("lamp") == 2 && stock.freeQuantity("bulb") == 8);

    for (int wrong : {0, -4}) {
        bool refused = false;
        try {
            stock.reserve({{"bulb", 1}, {"lamp", wrong}});
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        assert(refused && stock.freeQuantity("bulb") == 8 && stock.freeQuantity("lamp") == 2);
    }

    // More is asked for than is there, by workers that start together.
    stock.receive("fuse", 1500);
    std::atomic<bool> started{false};
    std::vector<int> taken(4, 0);
    std::vector<std::thread> workers;
    for (int& count : taken) {
        workers.emplace_back([&stock, &started, &count] {
            while (!started) std::this_thread::yield();
            for (int i = 0; i < 500; ++i) count += stock.reserve({{"fuse", 1}}) ? 1 : 0;
        });
    }
    started = true;
    for (std::thread& worker : workers) worker.join();
    assert(taken[0] + taken[1] + taken[2] + taken[3] == 1500);
    assert(stock.freeQuantity("fuse") == 0);
}
