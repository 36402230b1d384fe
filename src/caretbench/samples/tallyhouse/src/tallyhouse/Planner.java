package tallyhouse;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/** Who works when, what flows where, which queue is the shortest. */
public final class Planner {
    private final int places;
    private final List<int[]> pipes = new ArrayList<>();
    private final List<List<Integer>> from = new ArrayList<>();

    /** A network of pipes between numbered places. */
    public Planner(int places) {
        this.places = places;
        for (int place = 0; place < places; place++) {
            from.add(new ArrayList<>());
        }
    }

    /** A pipe that lets so much through, in one direction. */
    public void pipe(int start, int end, int capacity) {
        from.get(start).add(pipes.size());
        pipes.add(new int[] {end, capacity});
        from.get(end).add(pipes.size());
        pipes.add(new int[] {start, 0});
    }

    /** The most that can flow from one place to another (Dinic). */
    public int flow(int source, int sink) {
        int total = 0;
        while (true) {
            int[] levels = levels(source);
            if (levels[sink] < 0) {
                return total;
            }
            int[] next = new int[places];
            int pushed;
            while ((pushed = push(source, sink, Integer.MAX_VALUE, levels, next)) > 0) {
                total += pushed;
            }
        }
    }

    private int[] levels(int source) {
        int[] levels = new int[places];
        Arrays.fill(levels, -1);
        levels[source] = 0;
        Deque<Integer> waiting = new ArrayDeque<>(List.of(source));
        while (!waiting.isEmpty()) {
            int place = waiting.poll();
            for (int number : from.get(place)) {
                int[] pipe = pipes.get(number);
                if (pipe[1] > 0 && levels[pipe[0]] < 0) {
                    levels[pipe[0]] = levels[place] + 1;
                    waiting.add(pipe[0]);
                }
            }
        }
        return levels;
    }

    private int push(int place, int sink, int most, int[] levels, int[] next) {
        if (place == sink) {
            return most;
        }
        for (; next[place] < from.get(place).size(); next[place]++) {
            int number = from.get(place).get(next[place]);
            int[] pipe = pipes.get(number);
            if (pipe[1] == 0 || levels[pipe[0]] != levels[place] + 1) {
                continue;
            }
            int pushed = push(pipe[0], sink, Math.min(most, pipe[1]), levels, next);
            if (pushed > 0) {
                pipe[1] -= pushed;
                pipes.get(number ^ 1)[1] += pushed;
                return pushed;
            }
        }
        return 0;
    }

    /** A shift by person, so that as many as can have one; -1 where none is left. */
    public static int[] shifts(List<List<Integer>> wishes, int shifts) {
        int[] holder = new int[shifts];
        Arrays.fill(holder, -1);
        for (int person = 0; person < wishes.size(); person++) {
            seat(person, wishes, holder, new boolean[shifts]);
        }
        int[] chosen = new int[wishes.size()];
        Arrays.fill(chosen, -1);
        for (int shift = 0; shift < shifts; shift++) {
            if (holder[shift] >= 0) {
                chosen[holder[shift]] = shift;
            }
        }
        return chosen;
    }

    private static boolean seat(int person, List<List<Integer>> wishes, int[] holder, boolean[] asked) {
        for (int shift : wishes.get(person)) {
            if (asked[shift]) {
                continue;
            }
            asked[shift] = true;
            if (holder[shift] < 0 || seat(holder[shift], wishes, holder, asked)) {
                holder[shift] = person;
                return true;
            }
        }
        return false;
    }

    /** When each customer leaves: served in the order of arrival by the first till that is free. */
    public static List<Integer> checkout(int tills, int[] arrivals, int[] durations) {
        PriorityQueue<Integer> free = new PriorityQueue<>();
        for (int till = 0; till < tills; till++) {
            free.add(0);
        }
        List<Integer> leaving = new ArrayList<>();
        for (int customer = 0; customer < arrivals.length; customer++) {
            int start = Math.max(arrivals[customer], free.poll());
            int end = start + durations[customer];
            free.add(end);
            leaving.add(end);
        }
        return leaving;
    }

    /** The fewest days for all work when so many can be done a day, each after what it needs; -1 in a circle. */
    public static int days(Map<String, List<String>> needs, int perDay) {
        Map<String, Integer> open = new HashMap<>();
        Map<String, List<String>> followers = new HashMap<>();
        needs.forEach((work, before) -> {
            open.putIfAbsent(work, 0);
            for (String other : before) {
                open.putIfAbsent(other, 0);
                open.merge(work, 1, Integer::sum);
                followers.computeIfAbsent(other, key -> new ArrayList<>()).add(work);
            }
        });
        Deque<String> ready = new ArrayDeque<>();
        for (Map.Entry<String, Integer> one : open.entrySet()) {
            if (one.getValue() == 0) {
                ready.add(one.getKey());
            }
        }
        int done = 0;
        int days = 0;
        while (!ready.isEmpty()) {
            days++;
            List<String> today = new ArrayList<>();
            while (!ready.isEmpty() && today.size() < perDay) {
                today.add(ready.poll());
            }
            for (String work : today) {
                done++;
                for (String follower : followers.getOrDefault(work, List.of())) {
                    if (open.merge(follower, -1, Integer::sum) == 0) {
                        ready.add(follower);
                    }
                }
            }
        }
        return done == open.size() ? days : -1;
    }
}
