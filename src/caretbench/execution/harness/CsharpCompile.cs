// Compiles many C# programs in one process with the compiler of the installed SDK.
//
// usage: CsharpCompile REFERENCES WORK OUTPUT CPU_SECONDS CONFIGURATION...
//
// REFERENCES is a colon-separated list of folders of assemblies; program N is WORK/N.source, compiled into
// OUTPUT/N/program.dll; CONFIGURATION is "debug" or "release". One JSON line is printed per program: {"begin": N}
// before it and {"index", "kind", "missing", "diagnostics", "seconds"} after it.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Text.Json;
using System.Threading;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Emit;

static class CsharpCompile
{
    const int ShownDiagnostics = 40;

    static readonly string[] ImplicitUsings =
    {
        "System", "System.Collections.Generic", "System.IO", "System.Linq", "System.Net.Http", "System.Threading",
        "System.Threading.Tasks",
    };

    static volatile int current = -1;
    static double startedAt;
    static readonly object Channel = new object();
    static readonly Stream Output = Console.OpenStandardOutput();

    static int Main(string[] arguments)
    {
        string work = arguments[1], output = arguments[2];
        Watch(double.Parse(arguments[3], CultureInfo.InvariantCulture));
        var references = References(arguments[0]);
        for (int index = 0; index < arguments.Length - 4; index++)
        {
            Say(new Dictionary<string, object> { ["begin"] = index });
            startedAt = CpuSeconds();
            current = index;
            var result = new Dictionary<string, object> { ["index"] = index };
            try
            {
                string text = File.ReadAllText(Path.Combine(work, index + ".source"));
                string folder = Path.Combine(output, index.ToString());
                Compile(text, arguments[index + 4] == "release", references, folder, result);
            }
            catch (Exception error) when (!(error is OutOfMemoryException))
            {
                result["kind"] = "crash";
                result["diagnostics"] = error.ToString();
            }
            result["seconds"] = CpuSeconds() - startedAt;
            Say(result);
        }
        return 0;
    }

    static List<MetadataReference> References(string folders)
    {
        var references = new List<MetadataReference>();
        var seen = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach (string folder in folders.Split(':', StringSplitOptions.RemoveEmptyEntries))
        {
            foreach (string path in Directory.GetFiles(folder, "*.dll").OrderBy(name => name, StringComparer.Ordinal))
            {
                if (IsManaged(path) && seen.Add(Path.GetFileName(path)))
                    references.Add(MetadataReference.CreateFromFile(path));
            }
        }
        return references;
    }

    static bool IsManaged(string path)
    {
        try
        {
            AssemblyName.GetAssemblyName(path);
            return true;
        }
        catch (BadImageFormatException)
        {
            return false;
        }
    }

    static void Compile(
        string text, bool release, List<MetadataReference> references, string folder, Dictionary<string, object> result)
    {
        var symbols = release
            ? new[] { "TRACE", "RELEASE", "NETCOREAPP", "NET" }
            : new[] { "TRACE", "DEBUG", "NETCOREAPP", "NET" };
        var parsing = new CSharpParseOptions(LanguageVersion.Latest, DocumentationMode.None, preprocessorSymbols: symbols);
        var tree = WithImplicitUsings(CSharpSyntaxTree.ParseText(text, parsing, "program.cs", Encoding.UTF8));
        var compilation = CSharpCompilation.Create(
            "program",
            new[] { tree },
            references,
            new CSharpCompilationOptions(
                OutputKind.ConsoleApplication,
                optimizationLevel: release ? OptimizationLevel.Release : OptimizationLevel.Debug,
                nullableContextOptions: NullableContextOptions.Enable,
                concurrentBuild: false,
                assemblyIdentityComparer: DesktopAssemblyIdentityComparer.Default));
        using var assembly = new MemoryStream();
        EmitResult emitted = compilation.Emit(
            assembly, options: new EmitOptions(debugInformationFormat: DebugInformationFormat.Embedded));
        var errors = emitted.Diagnostics.Where(one => one.Severity == DiagnosticSeverity.Error).ToList();
        result["diagnostics"] = string.Join("\n", errors.Take(ShownDiagnostics).Select(one => one.ToString()));
        if (emitted.Success)
        {
            Directory.CreateDirectory(folder);
            File.WriteAllBytes(Path.Combine(folder, "program.dll"), assembly.ToArray());
            result["kind"] = "ok";
            return;
        }
        bool parses = tree.GetDiagnostics().All(one => one.Severity != DiagnosticSeverity.Error);
        string missing = parses ? errors.Select(MissingNamespace).FirstOrDefault(name => name != null) : null;
        result["kind"] = missing == null ? "compile" : "module";
        result["missing"] = missing;
    }

    // Projects have these by default since .NET 6. Compilers before C# 10 know no global usings, so they are written
    // behind the program's own, on no line of their own: line numbers stay.
    static SyntaxTree WithImplicitUsings(SyntaxTree tree)
    {
        var root = (CompilationUnitSyntax)tree.GetRoot();
        var present = root.Usings.Select(one => one.Name?.ToString()).ToHashSet();
        var added = ImplicitUsings.Where(name => !present.Contains(name)).Select(name =>
            SyntaxFactory.UsingDirective(SyntaxFactory.ParseName(name).WithLeadingTrivia(SyntaxFactory.Space)));
        return tree.WithRootAndOptions(root.AddUsings(added.ToArray()), tree.Options);
    }

    // The namespace of a `using` directive that no reference knows, or null for any other diagnostic.
    static string MissingNamespace(Diagnostic diagnostic)
    {
        if (diagnostic.Id != "CS0246" && diagnostic.Id != "CS0234")
            return null;
        var node = diagnostic.Location.SourceTree?.GetRoot().FindNode(diagnostic.Location.SourceSpan);
        return node?.FirstAncestorOrSelf<UsingDirectiveSyntax>()?.Name?.ToString();
    }

    // Ends the process, after saying so, when one program takes more CPU time than allowed.
    static void Watch(double limitSeconds)
    {
        var watcher = new Thread(() =>
        {
            while (true)
            {
                Thread.Sleep(200);
                int index = current;
                if (index < 0 || CpuSeconds() - Volatile.Read(ref startedAt) < limitSeconds)
                    continue;
                Say(new Dictionary<string, object> { ["index"] = index, ["kind"] = "timeout", ["diagnostics"] = "" });
                Process.GetCurrentProcess().Kill();
            }
        });
        watcher.IsBackground = true;
        watcher.Start();
    }

    static double CpuSeconds()
    {
        using var process = Process.GetCurrentProcess();
        return process.TotalProcessorTime.TotalSeconds;
    }

    static void Say(Dictionary<string, object> value)
    {
        byte[] line = Encoding.UTF8.GetBytes(JsonSerializer.Serialize(value) + "\n");
        lock (Channel)
        {
            Output.Write(line, 0, line.Length);
            Output.Flush();
        }
    }
}
