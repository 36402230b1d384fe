#include <cassert>
#include <cstdlib>
#include <stdexcept>

/// Compass of a model sailing boat: headings are whole degrees from 0 to 359, clockwise from north.
namespace compass {

/**
 * @brief Brings any number of degrees to a heading.
 * @param degrees The degrees, also negative or beyond a full turn.
 * @return The heading, from 0 to 359.
 */
int normalised(int degrees) { return (degrees % 360 + 360) % 360; }

/**
 * @brief Tells whether a boat cannot sail on a heading, because it is too close to the wind.
 * @param heading The heading of the boat.
 * @param wind The heading from which the wind blows.
 * @return true within 40 degrees of the wind.
 */
bool isInIrons(int heading, int wind) { return normalised(heading - wind + 40) <= 80; }

⟦/**
 * @brief Computes how far the rudder turns the boat in one step.
 *
 * The boat turns the shorter way, to starboard where both ways are equally long, and never further in one step than
 * the rudder allows.
 *
 * @param heading The present heading.
 * @param target The heading that is wanted.
 * @param limit The largest turn of one step in degrees.
 * @return The turn in degrees: positive to starboard, negative to port, 0 if the boat is on its target.
 * @throws std::invalid_argument if the limit is not above zero.
 */
⟧int turnTowards(int heading, int target, int limit) {
    if (limit <= 0) throw std::invalid_argument("the rudder cannot move");
    int turn = normalised(target - heading);
    if (turn > 180) turn -= 360;
    if (std::abs(turn) <= limit) return turn;
    return turn > 0 ? limit : -limit;
}

/// Number of steps until the boat is on its target.
int stepsTo(int heading, int target, int limit) {
    int steps = 0;
    while (normalised(heading) != normalised(target)) {
        heading += turnTowards(heading, target, limit);
        ++steps;
    }
    return steps;
}

}  // namespace compass
⟦tests⟧

int main() {
    using compass::turnTowards;
    assert(turnTowards(10, 10, 5) == 0);
    assert(turnTowards(350, 20, 45) == 30);
    assert(turnTowards(20, 350, 45) == -30);
    assert(turnTowards(0, 180, 200) == 180);
    assert(turnTowards(180, 0, 25) == 25);
    assert(turnTowards(90, 300, 40) == -40);
    assert(compass::isInIrons(350, 30) && !compass::isInIrons(349, 30) && compass::isInIrons(70, 30));
    assert(compass::normalised(-90) == 270 && compass::normalised(720) == 0);
    assert(compass::stepsTo(350, 20, 10) == 3 && compass::stepsTo(0, 181, 90) == 2 && compass::stepsTo(5, 365, 1) == 0);
    for (int limit : {0, -5}) {
        bool refused = false;
        try {
            turnTowards(0, 90, limit);
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        assert(refused);
    }
}
