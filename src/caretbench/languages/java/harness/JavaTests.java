import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.annotation.Annotation;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Runs the test classes of a project, or those that are named, up to the first with a failure.
 *
 * <p>Those of JUnit 3 and 4 run by JUnitCore, all others by the launcher of the JUnit platform, where it is on the class
 * path: that finds the tests of JUnit 5. Neither is needed to compile this: a project brings its own.
 */
final class JavaTests {
    /** The names of test classes that runners look for. */
    private static final Pattern TEST_FILE = Pattern.compile("Test.*|.*(?:Test|Tests|TestCase)");
    private static final String LAUNCHER = "org.junit.platform.launcher.";

    private final List<Path> sources;
    private final Set<String> excluded;
    private final boolean allFailures;
    private final List<String> names;
    private final Object launcher;
    private final PrintStream out = System.out;
    private final Map<Class<?>, String> files = new HashMap<>();
    private volatile String running = "";
    private volatile long begun;
    private long ran;

    /**
     * The tests of sources, or of the named classes; those of the names CLASS::METHOD in excluded count for nothing,
     * whatever they do.
     */
    JavaTests(List<Path> sources, List<String> names, List<String> excluded, boolean allFailures)
            throws ReflectiveOperationException {
        this.sources = sources;
        this.names = names;
        this.excluded = Set.copyOf(excluded);
        this.allFailures = allFailures;
        this.launcher = launcher();
        System.setOut(unclosable(System.out));
        System.setErr(unclosable(System.err));
    }

    /** What a test may close, and we still need. */
    private static PrintStream unclosable(PrintStream stream) {
        OutputStream inner = new FilterOutputStream(stream) {
            @Override
            public void write(byte[] bytes, int start, int count) throws IOException {
                out.write(bytes, start, count); // the inherited one writes byte by byte
            }

            @Override
            public void close() throws IOException {
                flush();
            }
        };
        return new PrintStream(inner, true, StandardCharsets.UTF_8);
    }

    /** Runs them all, or up to the first class with a failure; gives whether all pass. */
    boolean run() throws ReflectiveOperationException {
        long failed = 0;
        nameSlowClasses();
        for (Class<?> type : classes()) {
            begun = System.nanoTime();
            running = files.getOrDefault(type, type.getName());
            failed += isJunit4(type) ? runByJunit4(type) : launcher != null ? runByLauncher(type) : 0;
            if (failed > 0 && !allFailures) {
                break;
            }
        }
        out.println(failed > 0 ? "Tests run: " + ran + ",  Failures: " + failed : "OK (" + ran + " tests)");
        return failed == 0;
    }

    /** Names the file of a test class on standard error after CARETBENCH_SLOW seconds, if that is set. */
    private void nameSlowClasses() {
        String limit = System.getenv("CARETBENCH_SLOW");
        if (limit == null) {
            return;
        }
        PrintStream err = System.err;
        Thread watch = new Thread(() -> {
            String named = "";
            while (true) {
                String now = running;
                if (!now.equals(named) && System.nanoTime() - begun >= Long.parseLong(limit) * 1_000_000_000L) {
                    err.println("caretbench: a test runs for more than " + limit + " s: " + now);
                    named = now;
                }
                try {
                    Thread.sleep(100);
                } catch (InterruptedException end) {
                    return;
                }
            }
        });
        watch.setDaemon(true);
        watch.start();
    }

    private List<Class<?>> classes() throws ClassNotFoundException {
        List<Class<?>> found = new ArrayList<>();
        for (String name : names) {
            found.add(Class.forName(name, false, ClassLoader.getSystemClassLoader()));
        }
        if (names.isEmpty()) {
            for (Path source : sources) {
                Class<?> type = declaredIn(source);
                if (type != null) {
                    found.add(type);
                    files.put(type, source.toString());
                }
            }
        }
        return found;
    }

    private long runByJunit4(Class<?> type) throws ReflectiveOperationException {
        Method runClasses = Class.forName("org.junit.runner.JUnitCore").getMethod("runClasses", Class[].class);
        Object result = runClasses.invoke(null, (Object) new Class<?>[] {type});
        List<Failed> failures = new ArrayList<>();
        for (Object failure : (List<?>) call(result, "getFailures")) {
            Object description = call(failure, "getDescription");
            Object method = call(description, "getMethodName");
            String name = method == null
                    ? String.valueOf(call(description, "getDisplayName"))
                    : call(description, "getClassName") + "::" + method;
            failures.add(new Failed(name, String.valueOf(call(failure, "getTrace"))));
        }
        return count(type, (int) call(result, "getRunCount"), failures);
    }

    /** A test that failed. */
    private record Failed(String name, String trace) {}

    /** Counts the tests of a class and names those that failed, without the excluded ones; gives their number. */
    private long count(Class<?> type, long all, List<Failed> failures) {
        List<Failed> own = failures.stream().filter(one -> !excluded.contains(plain(one.name))).toList();
        Stream<String> ofClass = excluded.stream()
                .filter(name -> name.startsWith(type.getName() + "::") || name.startsWith(type.getName() + "$"));
        // An excluded test counts for nothing where it passes either.
        ran += Math.max(0, all - Math.max(ofClass.count(), failures.size() - own.size()));
        for (Failed one : own) {
            out.println("not ok " + ran + " - " + one.name);
            out.println(one.trace);
        }
        return own.size();
    }

    /** A name without the number of a parameter. */
    private static String plain(String name) {
        return name.replaceAll("(?s)[\\[(].*", "");
    }

    /** The result of a public method, also where its class is not public. */
    private static Object call(Object object, String name) throws ReflectiveOperationException {
        Method method = object.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(object);
    }

    private static Object launcher() throws ReflectiveOperationException {
        Class<?> factory;
        try {
            factory = Class.forName(LAUNCHER + "core.LauncherFactory");
        } catch (ClassNotFoundException notThere) {
            return null;
        }
        return factory.getMethod("create").invoke(null);
    }

    private long runByLauncher(Class<?> type) throws ReflectiveOperationException {
        Class<?> builder = Class.forName(LAUNCHER + "core.LauncherDiscoveryRequestBuilder");
        Object selector = Class.forName("org.junit.platform.engine.discovery.DiscoverySelectors")
                .getMethod("selectClass", Class.class)
                .invoke(null, type);
        Object selectors = array("org.junit.platform.engine.DiscoverySelector", selector);
        Object request = builder.getMethod("request").invoke(null);
        builder.getMethod("selectors", selectors.getClass()).invoke(request, selectors);
        Object listener = Class.forName(LAUNCHER + "listeners.SummaryGeneratingListener")
                .getConstructor()
                .newInstance();
        Object listeners = array(LAUNCHER + "TestExecutionListener", listener);
        Class.forName(LAUNCHER + "Launcher")
                .getMethod("execute", Class.forName(LAUNCHER + "LauncherDiscoveryRequest"), listeners.getClass())
                .invoke(launcher, builder.getMethod("build").invoke(request), listeners);
        Class<?> summaries = Class.forName(LAUNCHER + "listeners.TestExecutionSummary");
        Object summary = listener.getClass().getMethod("getSummary").invoke(listener);
        List<Failed> failures = new ArrayList<>();
        for (Object failure : (List<?>) summaries.getMethod("getFailures").invoke(summary)) {
            StringWriter trace = new StringWriter();
            ((Throwable) call(failure, "getException")).printStackTrace(new PrintWriter(trace));
            failures.add(new Failed(name(call(failure, "getTestIdentifier")), trace.toString()));
        }
        long all = (long) summaries.getMethod("getTestsSucceededCount").invoke(summary)
                + (long) summaries.getMethod("getTestsFailedCount").invoke(summary);
        return count(type, all, failures);
    }

    /** A test's class and method, or what it is called where it has none. */
    private static String name(Object identifier) throws ReflectiveOperationException {
        Object source = ((Optional<?>) call(identifier, "getSource")).orElse(null);
        if (source == null) {
            return String.valueOf(call(identifier, "getDisplayName"));
        }
        String type = String.valueOf(call(source, "getClassName"));
        return source.getClass().getSimpleName().equals("MethodSource") ? type + "::" + call(source, "getMethodName") : type;
    }

    private static Object array(String type, Object element) throws ClassNotFoundException {
        Object array = Array.newInstance(Class.forName(type), 1);
        Array.set(array, 0, element);
        return array;
    }

    /** The class that may hold tests in a file with a test's name; null where there is none. */
    private static Class<?> declaredIn(Path source) {
        String stem = source.getFileName().toString().replaceAll("\\.java$", "");
        if (!TEST_FILE.matcher(stem).matches()) {
            return null;
        }
        Class<?> found = null;
        for (int start = 0; start < source.getNameCount() && found == null; start++) {
            String name = source.subpath(start, source.getNameCount()).toString().replace('/', '.');
            try {
                found = Class.forName(
                        name.replaceAll("\\.java$", ""), false, ClassLoader.getSystemClassLoader());
            } catch (ClassNotFoundException | NoClassDefFoundError other) {
                found = null; // its package is a shorter part of the path
            }
        }
        return found != null && !Modifier.isAbstract(found.getModifiers()) ? found : null;
    }

    private static boolean isJunit4(Class<?> type) {
        for (Class<?> one = type; one != null; one = one.getSuperclass()) {
            if (one.getName().equals("junit.framework.TestCase") || isMarked(one.getAnnotations(), "RunWith")) {
                return true;
            }
            for (Method method : one.getDeclaredMethods()) {
                if (isMarked(method.getAnnotations(), "Test")) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean isMarked(Annotation[] annotations, String name) {
        return Arrays.stream(annotations)
                .anyMatch(one -> one.annotationType().getName().matches("org\\.junit\\.(runner\\.)?" + name));
    }
}
