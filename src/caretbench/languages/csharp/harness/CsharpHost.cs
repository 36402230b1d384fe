// Runs a program's entry point and gives back the sentinel once the program has come to its natural end: the entry
// point has returned and the process is about to exit of its own accord.
//
// usage: CsharpHost PROGRAM.dll. The environment variable CARETBENCH_SENTINEL names two descriptors: the sentinel is
// read from the first before the program starts, and written to the second.
//
// Debug.Assert ends the process at once unless the program takes the default listener away; then its end proves
// nothing, and the sentinel is kept.
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.Loader;
using Microsoft.Win32.SafeHandles;

static class CsharpHost
{
    const string Variable = "CARETBENCH_SENTINEL";

    static int Main(string[] arguments)
    {
        bool returned = false;
        string descriptors = Environment.GetEnvironmentVariable(Variable);
        if (descriptors != null)
        {
            Environment.SetEnvironmentVariable(Variable, null);
            string[] numbers = descriptors.Split(':');
            byte[] sentinel;
            using (var question = Open(numbers[0], FileAccess.Read))
            using (var buffer = new MemoryStream())
            {
                question.CopyTo(buffer);
                sentinel = buffer.ToArray();
            }
            FileStream gate = Open(numbers[1], FileAccess.Write);
            AppDomain.CurrentDomain.ProcessExit += (sender, exit) =>
            {
                if (!returned || !AssertionsHold())
                    return;
                gate.Write(sentinel, 0, sentinel.Length);
                gate.Flush();
            };
        }
        var assembly = AssemblyLoadContext.Default.LoadFromAssemblyPath(arguments[0]);
        MethodInfo entry = assembly.EntryPoint;
        object[] values = entry.GetParameters().Length == 0 ? null : new object[] { new string[0] };
        object code = entry.Invoke(null, BindingFlags.DoNotWrapExceptions, null, values, null);
        returned = true;
        return code is int ? (int)code : Environment.ExitCode;
    }

    static FileStream Open(string descriptor, FileAccess access)
    {
        var handle = new SafeFileHandle(new IntPtr(int.Parse(descriptor)), ownsHandle: true);
        return new FileStream(handle, access, bufferSize: 1);
    }

    // Asking for the listeners loads an assembly, so ask only where the program has loaded it already.
    static bool AssertionsHold()
    {
        bool touched = AppDomain.CurrentDomain.GetAssemblies()
            .Any(assembly => assembly.GetName().Name == "System.Diagnostics.TraceSource");
        return !touched || DefaultListenerStands();
    }

    static bool DefaultListenerStands()
    {
        // A class derived from it may do nothing.
        return Trace.Listeners.OfType<DefaultTraceListener>()
            .Any(listener => listener.GetType() == typeof(DefaultTraceListener) && listener.AssertUiEnabled);
    }
}
