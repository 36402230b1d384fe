// Compiles C# programs with the compiler of the installed SDK, one after the other, for as long as it is asked to.
//
// usage: CsharpCompile REFERENCES CPU_SECONDS
//
// REFERENCES is a colon-separated list of folders of assemblies. A request on standard input is a line "ID CONFIGURATION
// BYTES" and so many bytes of program text; CONFIGURATION is "debug", "release" or "contest". {"ready": true} is printed first, then
// one JSON line per program: {"id", "kind", "missing", "diagnostics", "seconds", "memory_mb", "files"}; the one file, in
// base64, is program.dll. Programs share the references' metadata, which no program changes.
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

    static volatile string current;
    static double startedAt;
    static readonly object Channel = new object();
    static readonly Stream Output = Console.OpenStandardOutput();

    static int Main(string[] arguments)
    {
        Console.SetOut(Console.Error); // what the compiler may ever print is no answer
        Watch(double.Parse(arguments[1], CultureInfo.InvariantCulture));
        var references = References(arguments[0]);
        using var requests = new BufferedStream(Console.OpenStandardInput());
        Say(new Dictionary<string, object> { ["ready"] = true });
        for (string header = Header(requests); header != null; header = Header(requests))
        {
            string[] words = header.Split(' ');
            byte[] text = new byte[int.Parse(words[2], CultureInfo.InvariantCulture)];
            for (int length = 0; length < text.Length;)
            {
                int more = requests.Read(text, length, text.Length - length);
                if (more == 0)
                    return 0;
                length += more;
            }
            Volatile.Write(ref startedAt, CpuSeconds());
            current = words[0];
            var result = new Dictionary<string, object> { ["id"] = words[0] };
            try
            {
                using var reader = new StreamReader(new MemoryStream(text), Encoding.UTF8, true);
                Compile(reader.ReadToEnd(), words[1], references, result);
            }
            catch (Exception error) when (!(error is OutOfMemoryException))
            {
                result["kind"] = "crash";
                result["diagnostics"] = error.ToString();
            }
            current = null;
            result["seconds"] = CpuSeconds() - startedAt;
            result["memory_mb"] = Environment.WorkingSet / 1e6;
            Say(result);
        }
        return 0;
    }

    static string Header(Stream requests)
    {
        var line = new StringBuilder();
        for (int character = requests.ReadByte(); character != '\n'; character = requests.ReadByte())
        {
            if (character < 0)
                return null;
            line.Append((char)character);
        }
        return line.ToString();
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
        string text, string configuration, List<MetadataReference> references, Dictionary<string, object> result)
    {
        bool release = configuration != "debug";
        var symbols = new List<string> { "TRACE", release ? "RELEASE" : "DEBUG", "NETCOREAPP", "NET" };
        if (configuration == "contest")
            symbols.Add("ONLINE_JUDGE");
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
                deterministic: true,
                assemblyIdentityComparer: DesktopAssemblyIdentityComparer.Default));
        using var assembly = new MemoryStream();
        EmitResult emitted = compilation.Emit(
            assembly, options: new EmitOptions(debugInformationFormat: DebugInformationFormat.Embedded));
        var errors = emitted.Diagnostics.Where(one => one.Severity == DiagnosticSeverity.Error).ToList();
        result["diagnostics"] = string.Join("\n", errors.Take(ShownDiagnostics).Select(one => one.ToString()));
        if (emitted.Success)
        {
            result["files"] = new Dictionary<string, byte[]> { ["program.dll"] = assembly.ToArray() };
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
                string id = current;
                if (id == null || CpuSeconds() - Volatile.Read(ref startedAt) < limitSeconds)
                    continue;
                Say(new Dictionary<string, object> { ["id"] = id, ["kind"] = "timeout" });
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
