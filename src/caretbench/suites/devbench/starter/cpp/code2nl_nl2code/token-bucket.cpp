#include <algorithm>
#include <cassert>
#include <stdexcept>

/// Limits how often a client may call the service: a bucket of tokens that fills up again with time.
class TokenBucket {
public:
    /**
     * @brief Makes a bucket that is full at the time zero.
     * @param capacity How many tokens fit into the bucket.
     * @param perSecond How many tokens flow in every second.
     */
    TokenBucket(double capacity, double perSecond) : capacity_(capacity), perSecond_(perSecond), tokens_(capacity) {}

⟦    /**
     * @brief Tries to take tokens out of the bucket.
     *
     * First adds the tokens that have flowed in since the last call, up to the capacity of the bucket. If there are
     * enough tokens then, they are removed; otherwise none is taken.
     *
     * @param count How many tokens the call costs.
     * @param now The present time in seconds; it must not run backwards.
     * @return true if the tokens were taken, false if there were too few.
     * @throws std::invalid_argument if the time lies before that of an earlier call.
     */
⟧    bool tryTake(double count, double now) {
        if (now < lastSeen_) {
            throw std::invalid_argument("time runs backwards");
        }
        tokens_ = std::min(capacity_, tokens_ + (now - lastSeen_) * perSecond_);
        lastSeen_ = now;
        if (tokens_ < count) {
            return false;
        }
        tokens_ -= count;
        return true;
    }

private:
    double capacity_;
    double perSecond_;
    double tokens_;
    double lastSeen_ = 0.0;
};

int main() {
    TokenBucket bucket(4.0, 2.0);
    assert(bucket.tryTake(3.0, 0.0));
    assert(!bucket.tryTake(2.0, 0.25));
    assert(bucket.tryTake(2.0, 0.5));
    assert(!bucket.tryTake(4.5, 100.0));
    assert(bucket.tryTake(4.0, 100.0));
    bool refused = false;
    try {
        bucket.tryTake(1.0, 99.0);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    assert(refused);
    return 0;
}
