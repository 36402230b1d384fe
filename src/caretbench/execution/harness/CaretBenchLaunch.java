import java.io.BufferedInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import jdk.internal.access.SharedSecrets;

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
            try (InputStream question = new BufferedInputStream(new FileInputStream(descriptor(numbers[0])))) {
                sentinel = question.readAllBytes();
            }
            gate = new FileOutputStream(descriptor(numbers[1]));
        }
        AtomicBoolean uncaught = new AtomicBoolean();
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            uncaught.set(true);
            System.err.print("Exception in thread \"" + thread.getName() + "\" ");
            error.printStackTrace();
        });
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
        if (uncaught.get()) {
            System.exit(1);
        }
        if (gate != null) {
            // Shutdown hooks run after this; what they do is not part of the verdict.
            gate.write(sentinel);
        }
    }

    /** Descriptors of other numbers than 0 to 2 can be had from inside the JDK only. */
    private static FileDescriptor descriptor(String number) {
        FileDescriptor descriptor = new FileDescriptor();
        SharedSecrets.getJavaIOFileDescriptorAccess().set(descriptor, Integer.parseInt(number));
        return descriptor;
    }

    private static void joinOthers() throws InterruptedException {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        for (Thread other = otherThread(root); other != null; other = otherThread(root)) {
            other.join();
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

    private CaretBenchLaunch() {}
}
