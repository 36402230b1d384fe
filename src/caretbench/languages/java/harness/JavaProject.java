import com.sun.source.tree.BlockTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * Compiles a project of plain sources and runs its tests, in one virtual machine.
 *
 * <p>usage: JavaProject [--prepare] [--sources FOLDER...] [--javac=OPTION...] (--main CLASS | --junit [CLASS...])
 *     [--all-failures]
 *
 * <p>The lines of the variable CARETBENCH_JAVA_EXCLUDED name tests that do not count, CLASS::METHOD, and files that are
 * not compiled. With --all-failures, files that do not compile are named and left alone, and all tests run.
 *
 * <p>With --prepare it only compiles, and keeps beside the classes what they were made of. From then on only changed
 * files are compiled again, as long as nothing of them changes but bodies of methods: no other file's classes depend on
 * those. Whatever else changes, all is compiled anew. Files count as unchanged byte for byte; dates and hashes say
 * nothing.
 *
 * <p>Annotation processors do not run: they could look at more than one file, and are code of the project.
 */
final class JavaProject {
    private static final Path HERE = Path.of("").toAbsolutePath();
    private static final Path PLACE = Path.of(".caretbench-java");
    private static final Path CLASSES = PLACE.resolve("classes");
    private static final Path KEPT = PLACE.resolve("sources");
    private static final Path DECLARED = PLACE.resolve("declared");
    private static final List<String> EXCLUDED =
            System.getenv().getOrDefault("CARETBENCH_JAVA_EXCLUDED", "").lines().toList();
    private static final int ROUNDS = 20;
    private static final Path INDEX = PLACE.resolve("index");

    public static void main(String[] arguments) throws Throwable {
        Map<String, List<String>> options = options(arguments);
        JavaProject project = new JavaProject(options);
        if (options.containsKey("--prepare")) {
            System.exit(project.prepare() ? 0 : 1);
        }
        if (!(options.containsKey("--all-failures") ? project.compileWhatCompiles() : project.compile())) {
            System.exit(1);
        }
        ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(true);
        if (options.containsKey("--junit") || options.containsKey("--junit4")) {
            List<String> classes = options.getOrDefault("--junit", List.of());
            boolean allFailures = options.containsKey("--all-failures");
            boolean passed = new JavaTests(project.sources, classes, EXCLUDED, allFailures).run();
            System.exit(passed && project.uncompiled.isEmpty() ? 0 : 1);
        }
        run(options.get("--main").get(0));
    }

    private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    // As our compile server has them: what an exception says of a variable depends on -g.
    private final List<String> javac = new ArrayList<>(List.of("-g", "-nowarn", "-proc:none", "-implicit:none", "-Xmaxerrs", "10000"));
    private final List<Path> sources = new ArrayList<>();
    private final Set<Path> uncompiled = new TreeSet<>();

    private JavaProject(Map<String, List<String>> options) throws IOException {
        javac.addAll(options.getOrDefault("--javac", List.of()));
        for (String folder : options.getOrDefault("--sources", List.of("."))) {
            try (Stream<Path> below = Files.walk(Path.of(folder).normalize())) {
                below.filter(JavaProject::isSource).forEach(sources::add);
            }
        }
        sources.removeIf(source -> EXCLUDED.contains(source.toString()));
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
            return compileAll();
        }
        List<Path> changed = new ArrayList<>();
        for (Path source : sources) {
            if (Files.mismatch(source, KEPT.resolve(source)) >= 0) {
                changed.add(source);
                Files.delete(KEPT.resolve(source)); // what was there before is nothing for tests to find
            }
        }
        if (changed.isEmpty()) {
            return true;
        }
        try (StandardJavaFileManager files = files()) {
            DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
            JavacTask task = task(files, found, changed);
            Iterator<Path> source = changed.iterator();
            for (CompilationUnitTree unit : task.parse()) {
                String before = Files.readString(DECLARED.resolve(source.next()));
                if (!hasErrors(found) && !declared(task, unit).equals(before)) {
                    return compileAll();
                }
            }
            if (!hasErrors(found)) {
                for (Path one : changed) {
                    for (Path left : made.get(one)) {
                        Files.delete(left);
                    }
                }
                task.generate();
            }
            return noErrors(found);
        }
    }

    private boolean compileAll() throws IOException {
        clear(CLASSES);
        clear(KEPT);
        try (StandardJavaFileManager files = files()) {
            return task(files, null, sources).call();
        }
    }

    /** Compiles all files but those that do not compile without what is missing, and names these. */
    private boolean compileWhatCompiles() throws IOException {
        for (int round = 0; round < ROUNDS && !sources.isEmpty(); round++) {
            clear(CLASSES);
            clear(KEPT);
            DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
            Set<Path> bad = new TreeSet<>();
            try (StandardJavaFileManager files = files()) {
                if (task(files, found, sources).call()) {
                    return true;
                }
                for (Diagnostic<? extends JavaFileObject> one : found.getDiagnostics()) {
                    if (one.getKind() == Diagnostic.Kind.ERROR && one.getSource() != null) {
                        bad.add(HERE.relativize(files.asPath(one.getSource()).toAbsolutePath().normalize()));
                    }
                }
            }
            if (bad.isEmpty() || !sources.removeAll(bad)) {
                return noErrors(found);
            }
            uncompiled.addAll(bad);
            bad.forEach(path -> System.out.println("not ok 0 - " + path));
        }
        return false;
    }

    /** Compiles everything, for those who come after; gives whether it compiles. */
    private boolean prepare() throws IOException {
        clear(CLASSES);
        try (StandardJavaFileManager files = files()) {
            Outputs outputs = new Outputs(files);
            if (!task(files, outputs, null, sources).call()) {
                return false;
            }
            JavacTask again = task(files, null, sources);
            Iterator<Path> source = sources.iterator();
            StringBuilder index = new StringBuilder();
            for (CompilationUnitTree unit : again.parse()) {
                Path path = source.next();
                for (Path folder : List.of(KEPT, DECLARED)) {
                    Files.createDirectories(folder.resolve(path).getParent());
                }
                Files.copy(path, KEPT.resolve(path));
                Files.writeString(DECLARED.resolve(path), declared(again, unit));
                index.append(path);
                outputs.made.getOrDefault(path, Set.of()).forEach(one -> index.append('\t').append(one));
                index.append('\n');
            }
            Files.writeString(INDEX, index);
        }
        return true;
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

    private StandardJavaFileManager files() throws IOException {
        StandardJavaFileManager files = compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8);
        files.setLocationFromPaths(StandardLocation.CLASS_OUTPUT, List.of(CLASSES));
        // Else sources are looked for on the class path, where the project may lie.
        files.setLocationFromPaths(StandardLocation.SOURCE_PATH, List.of(CLASSES));
        return files;
    }

    private JavacTask task(
            StandardJavaFileManager files, DiagnosticCollector<JavaFileObject> diagnostics, List<Path> paths) {
        return task(files, files, diagnostics, paths);
    }

    private JavacTask task(
            StandardJavaFileManager files,
            JavaFileManager outputs,
            DiagnosticCollector<JavaFileObject> diagnostics,
            List<Path> paths) {
        Iterable<? extends JavaFileObject> all = files.getJavaFileObjectsFromPaths(paths);
        return (JavacTask) compiler.getTask(null, outputs, diagnostics, javac, null, all);
    }

    private static boolean hasErrors(DiagnosticCollector<JavaFileObject> found) {
        return found.getDiagnostics().stream().anyMatch(one -> one.getKind() == Diagnostic.Kind.ERROR);
    }

    /** Says the errors as the compiler does; gives whether there are none. */
    private static boolean noErrors(DiagnosticCollector<JavaFileObject> found) {
        long errors = 0;
        for (Diagnostic<?> one : found.getDiagnostics()) {
            if (one.getKind() == Diagnostic.Kind.ERROR) {
                System.err.println(one);
                errors++;
            }
        }
        if (errors > 0) {
            System.err.println(errors + (errors == 1 ? " error" : " errors"));
        }
        return errors == 0;
    }

    /** Notes which source each class was made of. */
    private static final class Outputs extends ForwardingJavaFileManager<StandardJavaFileManager> {
        private final Map<Path, Set<Path>> made = new TreeMap<>();

        Outputs(StandardJavaFileManager files) {
            super(files);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                Location location, String name, JavaFileObject.Kind kind, FileObject sibling) throws IOException {
            JavaFileObject output = super.getJavaFileForOutput(location, name, kind, sibling);
            if (sibling instanceof JavaFileObject source) {
                made.computeIfAbsent(relative(source), path -> new LinkedHashSet<>()).add(relative(output));
            }
            return output;
        }

        private Path relative(FileObject file) {
            return HERE.relativize(fileManager.asPath(file).toAbsolutePath().normalize());
        }
    }

    /** A file's text without what stands in the bodies of its methods. */
    private static String declared(JavacTask task, CompilationUnitTree unit) throws IOException {
        SourcePositions positions = Trees.instance(task).getSourcePositions();
        String text = unit.getSourceFile().getCharContent(true).toString();
        StringBuilder rest = new StringBuilder();
        int done = 0;
        for (BlockTree body : bodies(unit)) {
            int start = (int) positions.getStartPosition(unit, body);
            rest.append(text, done, start).append("{}");
            done = (int) positions.getEndPosition(unit, body);
        }
        return rest.append(text, done, text.length()).toString();
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
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> below = Files.walk(folder)) {
            for (Path path : below.sorted(Comparator.reverseOrder()).toList()) {
                if (!path.equals(folder)) {
                    Files.delete(path);
                }
            }
        }
    }

    private static void run(String name) throws Throwable {
        Method main = Class.forName(name).getMethod("main", String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (Object) new String[0]);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }
}
