import com.sun.source.util.JavacTask;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringWriter;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.util.ElementFilter;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * Compiles many Java programs in one process.
 *
 * <p>usage: JavaCompile WORK OUTPUT CPU_SECONDS CLASSPATH NAME...
 *
 * <p>Program N is WORK/N.source, compiled into OUTPUT/N. NAME is its file's name without suffix, or "?" for the name
 * that its first public type asks for. One JSON line is printed per program: {"begin": N} before it and {"index",
 * "kind", "missing", "diagnostics", "seconds"} after it. OUTPUT/N/main-class names the class to run, if there is one.
 */
final class JavaCompile {
    private static final int SHOWN_CHARACTERS = 4000;
    private static final Pattern IMPORT = Pattern.compile("\\s*import\\s+(?:static\\s+)?([\\w.]+)");
    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private static PrintStream out;
    private static volatile int current = -1;
    private static volatile long started;

    public static void main(String[] arguments) throws IOException {
        out = new PrintStream(new BufferedOutputStream(System.out), false, StandardCharsets.UTF_8);
        Path work = Path.of(arguments[0]);
        Path output = Path.of(arguments[1]);
        watch((long) (Double.parseDouble(arguments[2]) * 1e9));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<Path> jars = new ArrayList<>();
        for (String jar : arguments[3].split(":")) {
            if (!jar.isEmpty()) {
                jars.add(Path.of(jar));
            }
        }
        try (StandardJavaFileManager files =
                compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8)) {
            for (int index = 0; index < arguments.length - 4; index++) {
                say("{\"begin\":" + index + "}");
                started = SYSTEM.getProcessCpuTime();
                current = index;
                Result result;
                try {
                    Path folder = Files.createDirectories(output.resolve(Integer.toString(index)));
                    List<Path> classPath = new ArrayList<>(List.of(folder));
                    classPath.addAll(jars);
                    files.setLocationFromPaths(StandardLocation.CLASS_OUTPUT, List.of(folder));
                    files.setLocationFromPaths(StandardLocation.CLASS_PATH, classPath);
                    String text = Files.readString(work.resolve(index + ".source"));
                    result = compile(compiler, files, new Program(text, arguments[index + 4]));
                    if (result.main() != null) {
                        Files.writeString(folder.resolve("main-class"), result.main());
                    }
                } catch (OutOfMemoryError error) {
                    Runtime.getRuntime().halt(3);
                    return;
                } catch (Throwable error) {
                    result = new Result("crash", null, null, error.toString());
                }
                double seconds = (SYSTEM.getProcessCpuTime() - started) / 1e9;
                say(result.json(index, seconds));
            }
        }
        // A stray thread of the compiler must not keep the process alive.
        Runtime.getRuntime().halt(0);
    }

    private static Result compile(JavaCompiler compiler, StandardJavaFileManager files, Program program)
            throws IOException {
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        StringWriter log = new StringWriter();
        List<String> flags = List.of("-proc:none", "-implicit:none", "-g", "-nowarn", "-XDuseUnsharedTable=true");
        JavacTask task = (JavacTask) compiler.getTask(log, files, diagnostics, flags, null, List.of(program));
        String main = null;
        boolean publicMain = false;
        for (Element element : task.analyze()) {
            if (element instanceof TypeElement type && hasMain(type)) {
                boolean isPublic = type.getModifiers().contains(Modifier.PUBLIC)
                        && type.getEnclosingElement().getKind() == ElementKind.PACKAGE;
                if (main == null || (isPublic && !publicMain)) {
                    main = task.getElements().getBinaryName(type).toString();
                    publicMain = isPublic;
                }
            }
        }
        StringBuilder shown = new StringBuilder(log.toString());
        String missing = null;
        boolean failed = false;
        if (noErrors(diagnostics)) {
            task.generate();
        }
        for (Diagnostic<? extends JavaFileObject> one : diagnostics.getDiagnostics()) {
            if (one.getKind() != Diagnostic.Kind.ERROR) {
                continue;
            }
            failed = true;
            shown.append("line ").append(one.getLineNumber()).append(": ");
            shown.append(one.getMessage(Locale.ROOT)).append('\n');
            if (missing == null && one.getCode().equals("compiler.err.doesnt.exist")) {
                missing = program.importedAt(one.getLineNumber());
            }
        }
        String kind = !failed ? "ok" : missing != null ? "module" : "compile";
        return new Result(kind, missing, main, shown.toString());
    }

    private static boolean noErrors(DiagnosticCollector<JavaFileObject> diagnostics) {
        return diagnostics.getDiagnostics().stream().noneMatch(one -> one.getKind() == Diagnostic.Kind.ERROR);
    }

    private static boolean hasMain(TypeElement type) {
        for (ExecutableElement method : ElementFilter.methodsIn(type.getEnclosedElements())) {
            if (method.getSimpleName().contentEquals("main")
                    && method.getModifiers().containsAll(Set.of(Modifier.PUBLIC, Modifier.STATIC))
                    && method.getReturnType().toString().equals("void")
                    && method.getParameters().size() == 1
                    && Set.of("java.lang.String[]", "java.lang.String...")
                            .contains(method.getParameters().get(0).asType().toString())) {
                return true;
            }
        }
        return false;
    }

    /** Ends the process, after saying so, when one program takes more CPU time than allowed. */
    private static void watch(long limitNanoseconds) {
        Thread watcher = new Thread(() -> {
            while (true) {
                try {
                    Thread.sleep(200);
                } catch (InterruptedException stop) {
                    return;
                }
                int index = current;
                if (index >= 0 && SYSTEM.getProcessCpuTime() - started > limitNanoseconds) {
                    say(new Result("timeout", null, null, "").json(index, limitNanoseconds / 1e9));
                    Runtime.getRuntime().halt(4);
                }
            }
        });
        watcher.setDaemon(true);
        watcher.start();
    }

    private static synchronized void say(String line) {
        out.print(line + "\n");
        out.flush();
    }

    private record Result(String kind, String missing, String main, String diagnostics) {
        String json(int index, double seconds) {
            String shown = diagnostics.substring(0, Math.min(diagnostics.length(), SHOWN_CHARACTERS));
            return "{\"index\":" + index + ",\"kind\":" + quote(kind) + ",\"missing\":" + quote(missing)
                    + ",\"diagnostics\":" + quote(shown) + ",\"seconds\":" + seconds + "}";
        }
    }

    private static String quote(String text) {
        if (text == null) {
            return "null";
        }
        StringBuilder quoted = new StringBuilder("\"");
        for (char character : text.toCharArray()) {
            if (character == '"' || character == '\\') {
                quoted.append('\\').append(character);
            } else if (character < ' ' || character > '~') {
                quoted.append(String.format("\\u%04x", (int) character));
            } else {
                quoted.append(character);
            }
        }
        return quoted.append('"').toString();
    }

    /** A program in memory, whose file bears the given name or the one that its first public type asks for. */
    private static final class Program extends SimpleJavaFileObject {
        private final String text;
        private String name;

        Program(String text, String name) {
            super(URI.create("string:///" + (name.equals("?") ? "Program" : name) + ".java"), Kind.SOURCE);
            this.text = text;
            this.name = name.equals("?") ? null : name;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }

        @Override
        public boolean isNameCompatible(String simpleName, Kind kind) {
            if (kind != Kind.SOURCE || simpleName.endsWith("-info")) {
                return false;
            }
            if (name == null) {
                name = simpleName;
            }
            return name.equals(simpleName);
        }

        String importedAt(long line) {
            String[] lines = text.split("\n", -1);
            if (line < 1 || line > lines.length) {
                return null;
            }
            Matcher matcher = IMPORT.matcher(lines[(int) line - 1]);
            if (!matcher.lookingAt()) {
                return null;
            }
            return matcher.group(1).replaceAll("\\.$", "");
        }
    }

    private JavaCompile() {}
}
