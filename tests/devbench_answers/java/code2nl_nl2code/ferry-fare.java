import java.util.List;

/** Something that drives onto the ferry. */
record Vehicle(int centimetres, int seats, boolean islander) {
}

/** Prices of a ferry between two islands, in cents. */
final class FerryFares {
    static final int METRE = 450;
    static final int SHORTEST_METRES = 4;
    static final int PASSENGER = 320;

    private FerryFares() {
    }

    /** Price of passengers on foot; every fifth one of a group travels free. */
    static int onFoot(int passengers) {
        return (passengers - passengers / 5) * PASSENGER;
    }

    /**
     * Computes the price of a vehicle with the people in it.
     *
     * <p>The vehicle costs METRE for each metre that it begins, and never less than SHORTEST_METRES metres. The driver
     * travels free; the others pay as passengers on foot, as one group. Islanders pay half of the whole price, and an odd
     * cent is dropped.
     *
     * @param vehicle the vehicle
     * @param people the people in it, the driver included
     * @return the price in cents
     * @throws IllegalArgumentException if there is no driver, or more people than seats
     */
    static int withVehicle(Vehicle vehicle, int people) {
⟦        if (people < 1 || people > vehicle.seats()) {
            throw new IllegalArgumentException(people + " people in " + vehicle.seats() + " seats");
        }
        int metres = Math.max((vehicle.centimetres() + 99) / 100, SHORTEST_METRES);
        int price = metres * METRE + onFoot(people - 1);
        return vehicle.islander() ? price / 2 : price;
    }
}⟧
⟦tests⟧

public class Main {
    private static boolean refuses(Vehicle vehicle, int people) {
        try {
            FerryFares.withVehicle(vehicle, people);
            return false;
        } catch (IllegalArgumentException expected) {
            return true;
        }
    }

    public static void main(String[] args) {
        Vehicle van = new Vehicle(601, 9, false);
        assert FerryFares.withVehicle(van, 1) == 3150;
        assert FerryFares.withVehicle(van, 4) == 4110;
        assert FerryFares.withVehicle(van, 6) == 4430;
        assert FerryFares.withVehicle(new Vehicle(600, 9, false), 1) == 2700;
        assert FerryFares.withVehicle(new Vehicle(180, 2, false), 2) == 2120;
        assert FerryFares.withVehicle(new Vehicle(401, 5, true), 2) == 1285;
        assert FerryFares.withVehicle(new Vehicle(500, 5, true), 5) == 1765;
        for (int people : List.of(0, -1, 10)) {
            assert refuses(van, people);
        }
        assert !refuses(van, 9);
    }
}
