#include <cassert>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

/// A piece of glass of a leaded window. Lengths are millimetres.
struct Pane {
    virtual ~Pane() = default;
    /// Glass that the pane takes, in square millimetres.
    virtual double area() const = 0;
    /// Lead that frames the pane, in millimetres.
    virtual double lead() const = 0;
};

class Rectangle : public Pane {
public:
    Rectangle(double width, double height) : width_(width), height_(height) {
        if (width <= 0 || height <= 0) throw std::invalid_argument("rectangle without extent");
    }
    double area() const override { return width_ * height_; }
    double lead() const override { return 2 * (width_ + height_); }

private:
    double width_;
    double height_;
};

class Ring : public Pane {
public:
    Ring(double outer, double inner) : outer_(outer), inner_(inner) {
        if (inner <= 0 || outer <= inner) throw std::invalid_argument("ring without extent");
    }
    double area() const override { return std::acos(-1.0) * (outer_ * outer_ - inner_ * inner_); }
    double lead() const override { return 2 * std::acos(-1.0) * (outer_ + inner_); }

private:
    double outer_;
    double inner_;
};

/// Four equal sides; described by its two diagonals, which cross at a right angle.
⟦class Diamond : public Pane {
public:
    Diamond(double across, double down) : across_(across), down_(down) {
        if (across <= 0 || down <= 0) throw std::invalid_argument("diamond without extent");
    }
    double area() const override { return across_ * down_ / 2; }
    double lead() const override { return 2 * std::hypot(across_, down_); }

private:
    double across_;
    double down_;
};
⟧
/// Lead of a whole window; where two panes touch, the lead between them is counted with both.
double leadOf(const std::vector<std::unique_ptr<Pane>>& window) {
    double length = 0;
    for (const auto& pane : window) length += pane->lead();
    return length;
}
⟦tests⟧

static bool refuses(double across, double down) {
    try {
        const Diamond diamond(across, down);
    } catch (const std::invalid_argument&) {
        return true;
    }
    return false;
}

static bool near(double one, double other) { return std::fabs(one - other) < 1e-9; }

int main() {
    const Diamond wide(80, 60);
    assert(near(wide.area(), 2400) && near(wide.lead(), 200));
    assert(near(Diamond(6, 8).area(), 24) && near(Diamond(6, 8).lead(), 20));
    assert(near(Diamond(1, 1).lead(), 2 * std::sqrt(2.0)));
    assert(refuses(0, 5) && refuses(5, 0) && refuses(-5, -5) && !refuses(0.5, 0.5));

    std::vector<std::unique_ptr<Pane>> window;
    assert(near(leadOf(window), 0));
    window.push_back(std::make_unique<Rectangle>(10, 20));
    window.push_back(std::make_unique<Diamond>(30, 40));
    window.push_back(std::make_unique<Ring>(3, 1));
    assert(near(leadOf(window), 60 + 100 + 8 * std::acos(-1.0)));
}
