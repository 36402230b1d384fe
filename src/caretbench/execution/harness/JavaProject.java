import com.sun.source.tree.BlockTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * Compiles a project of plain sources and runs its tests, in one virtual machine.
 *
 * <p>usage: JavaProject [--prepare] [--sources FOLDER...] [--javac=OPTION...] (--main CLASS | --junit4)
 *
 * <p>With --prepare it only compiles, and keeps beside the classes what they were made of. From then on only changed files
 * are compiled again, as long as nothing of them changes but bodies of methods: no other file's classes depend on those.
 * Whatever else changes, all is compiled anew. Files count as unchanged byte for byte; dates and hashes say nothing.
 *
 * <p>Annotation processors do not run: they could look at more than one file, and are code of the project.
 */
final class JavaProject {
    private static final Path PLACE = Path.of(".caretbench-java");
    private static final Path CLASSES = PLACE.resolve("classes");
    private static final Path KEPT = PLACE.resolve("sources");
    private static final Path INDEX = PLACE.resolve("index");
    /** The names of test classes that runners look for. */
    private static final Pattern TEST_FILE = Pattern.compile("Test.*|.*(?:Test|Tests|TestCase)");

    public static void main(String[] arguments) throws Throwable {
        Map<String, List<String>> options = options(arguments);
        JavaProject project = new JavaProject(options);
        if (options.containsKey("--prepare")) {
            System.exit(project.compileAll(true) ? 0 : 1);
        }
        if (!project.compile()) {
            System.exit(1);
        }
        ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(true);
        if (options.containsKey("--junit4")) {
            System.exit(project.runTests() ? 0 : 1);
        }
        run(options.get("--main").get(0));
    }

    private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    private final List<String> javac = new ArrayList<>(List.of("-nowarn", "-proc:none", "-implicit:none"));
    private final List<Path> sources = new ArrayList<>();

    private JavaProject(Map<String, List<String>> options) throws IOException {
        javac.addAll(options.getOrDefault("--javac", List.of()));
        for (String folder : options.getOrDefault("--sources", List.of("."))) {
            try (Stream<Path> below = Files.walk(Path.of(folder).normalize())) {
                below.filter(JavaProject::isSource).forEach(sources::add);
            }
        }
        sources.sort(Comparator.naturalOrder());
    }

    private static boolean isSource(Path path) {
        // A module's declaration would hide the tests' packages from one another.
        String name = path.getFileName().toString();
        return name.endsWith(".java") && !name.equals("module-info.java") && !path.startsWith(PLACE);
    }

    /** Each option with the words that follow it, or that stand behind its "=". */
    private static Map<String, List<String>> options(String[] arguments) {
        Map<String, List<String>> found = new LinkedHashMap<>();
        List<String> words = new ArrayList<>();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            if (argument.startsWith("--")) {
                words = found.computeIfAbsent(parts[0], name -> new ArrayList<>());
                words.addAll(Arrays.asList(parts).subList(1, parts.length));
            } else {
                words.add(argument);
            }
        }
        return found;
    }

    // --- compiling ------------------------------------------------------------------------------------------------

    /** Compiles what has to be; gives whether it compiles. */
    private boolean compile() throws IOException {
        Map<Path, List<Path>> made = index();
        if (made == null || !made.keySet().equals(new TreeSet<>(sources))) {
            return compileAll(false);
        }
        List<Path> changed = new ArrayList<>();
        for (Path source : sources) {
            if (Files.mismatch(source, KEPT.resolve(source)) >= 0) {
                changed.add(source);
            }
        }
        for (Path source : changed) {
            if (!withoutBodies(source).equals(withoutBodies(KEPT.resolve(source)))) {
                return compileAll(false);
            }
        }
        if (changed.isEmpty()) {
            return true;
        }
        for (Path source : changed) {
            for (Path left : made.get(source)) {
                Files.delete(left);
            }
        }
        return compile(changed, new TreeMap<>());
    }

    /** Compiles everything; {@code keep}: for those who come after. */
    private boolean compileAll(boolean keep) throws IOException {
        clear(CLASSES);
        Map<Path, Set<Path>> made = new TreeMap<>();
        boolean compiles = compile(sources, made);
        if (compiles && keep) {
            StringBuilder index = new StringBuilder();
            for (Path source : sources) {
                Path copy = KEPT.resolve(source);
                Files.createDirectories(copy.getParent());
                Files.copy(source, copy);
                index.append(source);
                made.getOrDefault(source, Set.of()).forEach(path -> index.append('\t').append(path));
                index.append('\n');
            }
            Files.writeString(INDEX, index);
        }
        return compiles;
    }

    /** The classes that each source became, or null where nothing was prepared. */
    private static Map<Path, List<Path>> index() throws IOException {
        if (!Files.exists(INDEX)) {
            return null;
        }
        Map<Path, List<Path>> found = new TreeMap<>();
        for (String line : Files.readAllLines(INDEX)) {
            List<Path> paths = Arrays.stream(line.split("\t")).map(Path::of).toList();
            found.put(paths.get(0), paths.subList(1, paths.size()));
        }
        return found;
    }

    private boolean compile(List<Path> files, Map<Path, Set<Path>> made) throws IOException {
        try (StandardJavaFileManager plain =
                compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8)) {
            plain.setLocationFromPaths(StandardLocation.CLASS_OUTPUT, List.of(CLASSES));
            // Else sources are looked for on the class path, where the project may lie.
            plain.setLocationFromPaths(StandardLocation.SOURCE_PATH, List.of(CLASSES));
            Outputs outputs = new Outputs(plain, made);
            return compiler.getTask(null, outputs, null, javac, null, plain.getJavaFileObjectsFromPaths(files)).call();
        }
    }

    /** Notes which source each class was made of. */
    private static final class Outputs extends ForwardingJavaFileManager<StandardJavaFileManager> {
        private final Map<Path, Set<Path>> made;

        Outputs(StandardJavaFileManager files, Map<Path, Set<Path>> made) {
            super(files);
            this.made = made;
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String name, JavaFileObject.Kind kind, FileObject sibling) throws IOException {
            JavaFileObject output = super.getJavaFileForOutput(location, name, kind, sibling);
            if (sibling instanceof JavaFileObject source) {
                made.computeIfAbsent(fileManager.asPath(source), path -> new LinkedHashSet<>())
                        .add(fileManager.asPath(output));
            }
            return output;
        }
    }

    /** A file's text without what stands in the bodies of its methods. */
    private String withoutBodies(Path source) throws IOException {
        StringBuilder rest = new StringBuilder();
        try (StandardJavaFileManager plain =
                compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8)) {
            Iterable<? extends JavaFileObject> file = plain.getJavaFileObjects(source);
            // Errors are found again, and said, by those who compile it.
            JavacTask task = (JavacTask) compiler.getTask(null, plain, error -> {}, javac, null, file);
            SourcePositions positions = Trees.instance(task).getSourcePositions();
            for (CompilationUnitTree unit : task.parse()) {
                String text = unit.getSourceFile().getCharContent(true).toString();
                int done = 0;
                for (BlockTree body : bodies(unit)) {
                    int start = (int) positions.getStartPosition(unit, body);
                    int end = (int) positions.getEndPosition(unit, body);
                    if (start < done || end < start) {
                        return text; // it does not parse: all of it counts
                    }
                    rest.append(text, done, start).append("{}");
                    done = end;
                }
                rest.append(text, done, text.length());
            }
        }
        return rest.toString();
    }

    /** The bodies of all methods, in the order of the text; what is declared within a body belongs to it. */
    private static List<BlockTree> bodies(CompilationUnitTree unit) {
        List<BlockTree> found = new ArrayList<>();
        new TreeScanner<Void, Void>() {
            @Override
            public Void visitMethod(MethodTree method, Void nothing) {
                if (method.getBody() != null) {
                    found.add(method.getBody());
                }
                return null;
            }
        }.scan(unit, null);
        return found;
    }

    private static void clear(Path folder) throws IOException {
        try (Stream<Path> below = Files.walk(folder)) {
            for (Path path : below.sorted(Comparator.reverseOrder()).toList()) {
                if (!path.equals(folder)) {
                    Files.delete(path);
                }
            }
        }
    }

    // --- running --------------------------------------------------------------------------------------------------

    private static void run(String name) throws Throwable {
        Method main = Class.forName(name).getMethod("main", String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (Object) new String[0]);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    /** Runs all test classes by JUnit 4, up to the first with a failure. */
    private boolean runTests() throws ReflectiveOperationException {
        Method runClasses = Class.forName("org.junit.runner.JUnitCore").getMethod("runClasses", Class[].class);
        int ran = 0;
        for (Path source : sources) {
            Class<?> tests = tests(source);
            if (tests == null) {
                continue;
            }
            Object result = runClasses.invoke(null, (Object) new Class<?>[] {tests});
            ran += (int) result.getClass().getMethod("getRunCount").invoke(result);
            List<?> failures = (List<?>) result.getClass().getMethod("getFailures").invoke(result);
            for (Object failure : failures) {
                System.out.println(failure.getClass().getMethod("getTestHeader").invoke(failure));
                System.out.println(failure.getClass().getMethod("getTrace").invoke(failure));
            }
            if (!failures.isEmpty()) {
                System.out.println("Tests run: " + ran + ",  Failures: " + failures.size());
                return false;
            }
        }
        System.out.println("OK (" + ran + " tests)");
        return true;
    }

    /** The test class that a file declares; null where it declares none. */
    private static Class<?> tests(Path source) {
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
        return found != null && !Modifier.isAbstract(found.getModifiers()) && hasTests(found) ? found : null;
    }

    private static boolean hasTests(Class<?> type) {
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
