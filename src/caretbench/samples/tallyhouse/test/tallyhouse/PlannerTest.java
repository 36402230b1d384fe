package tallyhouse;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

final class PlannerTest {
    static void flow() {
        Planner planner = new Planner(6);
        int[][] pipes = {{0, 1, 16}, {0, 2, 13}, {1, 2, 10}, {2, 1, 4}, {1, 3, 12}, {3, 2, 9}, {2, 4, 14},
            {4, 3, 7}, {3, 5, 20}, {4, 5, 4}};
        for (int[] pipe : pipes) {
            planner.pipe(pipe[0], pipe[1], pipe[2]);
        }
        Check.equal(23, planner.flow(0, 5));
        Check.equal(0, planner.flow(0, 5));
    }

    static void flowThatMustGoBack() {
        Planner planner = new Planner(4);
        planner.pipe(0, 1, 1);
        planner.pipe(0, 2, 1);
        planner.pipe(1, 2, 1);
        planner.pipe(1, 3, 1);
        planner.pipe(2, 3, 1);
        Check.equal(2, planner.flow(0, 3));
        Planner apart = new Planner(3);
        apart.pipe(0, 1, 5);
        Check.equal(0, apart.flow(0, 2));
    }

    static void shifts() {
        Check.equal("[1, 0, 2]", Arrays.toString(Planner.shifts(List.of(List.of(0, 1), List.of(0), List.of(1, 2)), 3)));
        Check.equal("[0, -1]", Arrays.toString(Planner.shifts(List.of(List.of(0), List.of(0)), 2)));
        Check.equal("[]", Arrays.toString(Planner.shifts(List.of(), 2)));
    }

    static void checkout() {
        Check.equal(List.of(5, 3, 7, 9, 22),
                Planner.checkout(2, new int[] {0, 1, 2, 3, 20}, new int[] {5, 2, 4, 4, 2}));
        Check.equal(List.of(4, 8), Planner.checkout(1, new int[] {0, 0}, new int[] {4, 4}));
    }

    static void days() {
        Map<String, List<String>> needs = Map.of("open", List.of("clean", "stock"), "stock", List.of("order"));
        Check.equal(3, Planner.days(needs, 5));
        Check.equal(4, Planner.days(needs, 1));
        Check.equal(-1, Planner.days(Map.of("a", List.of("b"), "b", List.of("a"), "c", List.of()), 5));
        Check.equal(0, Planner.days(Map.of(), 5));
    }
}
