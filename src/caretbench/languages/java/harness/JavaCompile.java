import com.sun.source.util.JavacTask;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
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
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * Compiles Java programs, one after the other, for as long as it is asked to.
 *
 * <p>usage: JavaCompile CPU_SECONDS CLASSPATH
 *
 * <p>A request on standard input is a line "ID NAME BYTES" and so many bytes of program text in UTF-8. NAME is its file's
 * name without suffix, or "?" for the name that its first public type asks for. {"ready": true} is printed first, then one
 * JSON line per program: {"id", "kind", "missing", "diagnostics", "seconds", "memory_mb", "files"}. The files are the
 * classes, in base64, and "main-class", which names the class to run, if there is one.
 *
 * <p>Programs share what the file manager knows of the JDK's classes and of the jars; symbols and classes of a program are
 * in tables of its own.
 */
final class JavaCompile {
    private static final int SHOWN_CHARACTERS = 4000;
    private static final int LONGEST_HEADER = 1000;
    private static final Pattern IMPORT = Pattern.compile("\\s*import\\s+(?:static\\s+)?([\\w.]+)");
    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final FileOutputStream ANSWERS = new FileOutputStream(FileDescriptor.out);

    private static volatile String current;
    private static volatile long started;

    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err); // what the compiler may ever print is no answer
        watch((long) (Double.parseDouble(arguments[0]) * 1e9));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<Path> classPath = new ArrayList<>(List.of(Files.createTempDirectory("empty")));
        for (String jar : arguments[1].split(":")) {
            if (!jar.isEmpty()) {
                classPath.add(Path.of(jar));
            }
        }
        DataInputStream requests = new DataInputStream(new BufferedInputStream(System.in));
        try (StandardJavaFileManager files =
                compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8)) {
            files.setLocationFromPaths(StandardLocation.CLASS_PATH, classPath);
            say("{\"ready\":true}");
            for (String header = header(requests); header != null; header = header(requests)) {
                String[] words = header.split(" ");
                byte[] text = new byte[Integer.parseInt(words[2])];
                requests.readFully(text);
                started = SYSTEM.getProcessCpuTime();
                current = words[0];
                Result result;
                try {
                    String decoded =
                            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text)).toString();
                    result = compile(compiler, files, new Program(decoded, words[1]));
                } catch (OutOfMemoryError error) {
                    System.err.println("OutOfMemoryError");
                    Runtime.getRuntime().halt(3);
                    return;
                } catch (Throwable error) {
                    result = new Result("crash", null, Map.of(), error.toString());
                }
                current = null;
                say(result.json(words[0], (SYSTEM.getProcessCpuTime() - started) / 1e9));
            }
        }
        // A stray thread of the compiler must not keep the process alive.
        Runtime.getRuntime().halt(0);
    }

    private static String header(DataInputStream requests) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int character = requests.read(); character != '\n'; character = requests.read()) {
            if (character < 0 || line.length() > LONGEST_HEADER) {
                return null;
            }
            line.append((char) character);
        }
        return line.toString();
    }

    private static Result compile(JavaCompiler compiler, StandardJavaFileManager files, Program program)
            throws IOException {
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        StringWriter log = new StringWriter();
        List<String> flags = List.of("-proc:none", "-implicit:none", "-g", "-nowarn", "-XDuseUnsharedTable=true");
        Classes classes = new Classes(files);
        JavacTask task = (JavacTask) compiler.getTask(log, classes, diagnostics, flags, null, List.of(program));
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
        StringBuilder shown = new StringBuilder();
        String missing = null;
        boolean failed = false;
        if (noErrors(diagnostics)) {
            task.generate();
        }
        shown.append(log);
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
        if (main != null) {
            classes.made.put("main-class", main.getBytes(StandardCharsets.UTF_8));
        }
        String kind = !failed ? "ok" : missing != null ? "module" : "compile";
        return new Result(kind, missing, failed ? Map.of() : classes.made, shown.toString());
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
                String id = current;
                if (id != null && SYSTEM.getProcessCpuTime() - started > limitNanoseconds) {
                    say(new Result("timeout", null, Map.of(), "").json(id, limitNanoseconds / 1e9));
                    Runtime.getRuntime().halt(4);
                }
            }
        });
        watcher.setDaemon(true);
        watcher.start();
    }

    private static synchronized void say(String line) {
        try {
            ANSWERS.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
        } catch (IOException closed) {
            Runtime.getRuntime().halt(5);
        }
    }

    private static double memoryMegabytes() {
        try {
            return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096 / 1e6;
        } catch (IOException unknown) {
            return 0;
        }
    }

    private record Result(String kind, String missing, Map<String, byte[]> files, String diagnostics) {
        String json(String id, double seconds) {
            String shown = diagnostics.substring(0, Math.min(diagnostics.length(), SHOWN_CHARACTERS));
            StringBuilder text = new StringBuilder("{\"id\":" + quote(id) + ",\"kind\":" + quote(kind));
            text.append(",\"missing\":").append(quote(missing)).append(",\"diagnostics\":").append(quote(shown));
            text.append(",\"seconds\":").append(seconds).append(",\"memory_mb\":").append(memoryMegabytes());
            String separator = ",\"files\":{";
            for (Map.Entry<String, byte[]> file : files.entrySet()) {
                text.append(separator).append(quote(file.getKey())).append(":\"");
                text.append(Base64.getEncoder().encodeToString(file.getValue())).append('"');
                separator = ",";
            }
            return text.append(files.isEmpty() ? "}" : "}}").toString();
        }
    }

    /** Keeps the classes that are made, below their packages' folders. */
    private static final class Classes extends ForwardingJavaFileManager<StandardJavaFileManager> {
        private final Map<String, byte[]> made = new TreeMap<>();

        Classes(StandardJavaFileManager files) {
            super(files);
        }

        @Override
        public boolean hasLocation(Location location) {
            return location == StandardLocation.CLASS_OUTPUT || super.hasLocation(location);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(
                JavaFileManager.Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            String path = name.replace('.', '/') + kind.extension;
            return new SimpleJavaFileObject(URI.create("memory:///class"), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return new ByteArrayOutputStream() {
                        @Override
                        public void close() {
                            made.put(path, toByteArray());
                        }
                    };
                }
            };
        }
    }

    private static String quote(String text) {
        if (text == null) {
            return "null";
        }
        StringBuilder quoted = new StringBuilder("\"");
        // Half a surrogate pair is no text.
        String whole = new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
        for (char character : whole.toCharArray()) {
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
