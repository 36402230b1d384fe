import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Runs a program's main method and gives back the sentinel once the program has come to its natural end: main has
 * returned, every thread that keeps the JVM alive has ended, and no exception went uncaught.
 *
 * <p>usage: CaretBenchLaunch FILE, which holds the main class's name. The environment variable CARETBENCH_SENTINEL names two
 * descriptors: the sentinel is read from the first before the program starts, and written to the second.
 */
final class CaretBenchLaunch {
    public static void main(String[] arguments) throws Throwable {
        byte[] sentinel = {};
        FileOutputStream gate = null;
        String descriptors = System.getenv("CARETBENCH_SENTINEL");
        if (descriptors != null) {
            String[] numbers = descriptors.split(":");
            // readAllBytes of the plain stream would seek, which a pipe does not.
            try (InputStream question = new BufferedInputStream(new FileInputStream(descriptor(numbers[0])))) {
                sentinel = question.readAllBytes();
            }
            if (sentinel.length == 0) {
                throw new IllegalStateException("the sentinel is read once");
            }
            gate = new FileOutputStream(descriptor(numbers[1]));
        }
        Uncaught uncaught = new Uncaught();
        Thread.setDefaultUncaughtExceptionHandler(uncaught);
        Path named = Path.of(arguments[0]);
        if (!Files.exists(named)) {
            System.err.println("error: no class of the program has a main method");
            System.exit(1);
        }
        Method main = Class.forName(Files.readString(named)).getMethod("main", String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (Object) new String[0]);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
        joinOthers();
        if (uncaught.any) {
            System.exit(1);
        }
        if (gate != null) {
            // Shutdown hooks run after this; what they do is not part of the verdict.
            gate.write(sentinel);
        }
    }

    /**
     * A pipe that was inherited, opened once more: a descriptor can be made of its number inside the JDK only, and a module
     * that is opened for that costs the JVM its archived module graph. The first pipe is empty once it has been read.
     */
    private static String descriptor(String number) {
        return "/proc/self/fd/".concat(number);
    }

    private static void joinOthers() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        for (Thread other = otherThread(root); other != null; other = otherThread(root)) {
            try {
                other.join();
            } catch (InterruptedException error) {
                // A program's thread may interrupt the one that its main ran in: that ends nothing.
            }
        }
    }

    private static Thread otherThread(ThreadGroup root) {
        Thread[] threads = new Thread[root.activeCount() + 64];
        int count = root.enumerate(threads);
        for (int index = 0; index < count; index++) {
            Thread thread = threads[index];
            if (thread != Thread.currentThread() && !thread.isDaemon() && thread.isAlive()) {
                return thread;
            }
        }
        return null;
    }

    /** A class of its own, as a lambda would cost every program a call site that has to be linked. */
    private static final class Uncaught implements Thread.UncaughtExceptionHandler {
        private volatile boolean any;

        @Override
        public void uncaughtException(Thread thread, Throwable error) {
            any = true;
            System.err.print("Exception in thread \"" + thread.getName() + "\" ");
            error.printStackTrace();
        }
    }

    private CaretBenchLaunch() {}
}
