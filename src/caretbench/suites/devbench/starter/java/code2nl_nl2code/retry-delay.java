import java.time.Duration;

/** How an uploader behaves while the server is away. */
final class RetryPolicy {
    private final int maximumAttempts;

    RetryPolicy(int maximumAttempts) {
        this.maximumAttempts = maximumAttempts;
    }

    /**
     * Tells whether another attempt is allowed.
     *
     * @param failedAttempts how many attempts have failed so far
     * @return true while the attempts are not used up
     */
    boolean mayRetry(int failedAttempts) {
        return failedAttempts < maximumAttempts;
    }

⟦    /**
     * Computes how long to wait before an attempt is made. The first retry waits for the base delay; the delay then
     * doubles with every further attempt, but never grows beyond the ceiling.
     *
     * @param attempt the number of the attempt, counted from 1
     * @param base the delay before the first attempt
     * @param ceiling the longest delay that is ever returned
     * @return the delay before this attempt
     * @throws IllegalArgumentException if the attempt is less than 1
     */
⟧    static Duration delayBefore(int attempt, Duration base, Duration ceiling) {
        if (attempt < 1) {
            throw new IllegalArgumentException("attempts count from 1: " + attempt);
        }
        Duration delay = base;
        for (int i = 1; i < attempt && delay.compareTo(ceiling) < 0; i++) {
            delay = delay.multipliedBy(2);
        }
        return delay.compareTo(ceiling) > 0 ? ceiling : delay;
    }
}
⟦tests⟧

public class Main {
    public static void main(String[] args) {
        Duration base = Duration.ofMillis(200);
        Duration ceiling = Duration.ofSeconds(3);
        assert RetryPolicy.delayBefore(1, base, ceiling).toMillis() == 200;
        assert RetryPolicy.delayBefore(4, base, ceiling).toMillis() == 1600;
        assert RetryPolicy.delayBefore(5, base, ceiling).equals(ceiling);
        assert RetryPolicy.delayBefore(1_000_000, base, ceiling).equals(ceiling);
        boolean refused = false;
        try {
            RetryPolicy.delayBefore(0, base, ceiling);
        } catch (IllegalArgumentException expected) {
            refused = true;
        }
        assert refused;
        assert new RetryPolicy(2).mayRetry(1) && !new RetryPolicy(2).mayRetry(2);
    }
}
