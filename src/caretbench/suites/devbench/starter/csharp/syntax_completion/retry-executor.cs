using System;
using System.Collections.Generic;
using System.Diagnostics;

/// <summary>Notes what went wrong before it went well.</summary>
public sealed class RetryLog
{
    private readonly List<string> entries = new List<string>();

    public IReadOnlyList<string> Entries => entries;

    public void Add(int attempt, Exception failure)
    {
        entries.Add(attempt + ": " + failure.Message);
    }
}

public static class Retry
{
    /// <summary>
    /// Calls the action, which gets the number of the attempt (from 1), until it succeeds. A failure of the type
    /// TFailure that is transient is logged and followed by another attempt, as long as attempts are left. Every
    /// other failure, and that of the last attempt, leaves unlogged as it was thrown.
    /// </summary>
    public static TResult Execute<TResult, TFailure>(
        Func<int, TResult> action, int attempts, Func<TFailure, bool> isTransient, RetryLog log)
⟦        where TFailure : Exception
    {
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                return action(attempt);
            }
            catch (TFailure failure) when (attempt < attempts && isTransient(failure))
            {
                log.Add(attempt, failure);
            }
        }
    }
}⟧
⟦tests⟧

public static class Program
{
    private static string Run(int attempts, RetryLog log, params Exception[] failures)
    {
        try
        {
            return Retry.Execute<string, InvalidOperationException>(
                attempt => attempt <= failures.Length ? throw failures[attempt - 1] : "done at " + attempt,
                attempts,
                failure => failure.Message != "fatal",
                log);
        }
        catch (Exception failure)
        {
            return failure.GetType().Name + " " + failure.Message;
        }
    }

    private static Exception Busy(string message = "busy")
    {
        return new InvalidOperationException(message);
    }

    public static void Main()
    {
        var log = new RetryLog();
        Debug.Assert(Run(1, log) == "done at 1" && log.Entries.Count == 0);
        Debug.Assert(Run(3, log, Busy("a"), Busy("b")) == "done at 3");
        Debug.Assert(string.Join(", ", log.Entries) == "1: a, 2: b");

        log = new RetryLog();
        Debug.Assert(Run(2, log, Busy("a"), Busy("b")) == "InvalidOperationException b");
        Debug.Assert(string.Join(", ", log.Entries) == "1: a");

        log = new RetryLog();
        Debug.Assert(Run(9, log, Busy("fatal")) == "InvalidOperationException fatal");
        Debug.Assert(Run(9, log, new FormatException("odd")) == "FormatException odd");
        Debug.Assert(Run(1, log, Busy()) == "InvalidOperationException busy");
        Debug.Assert(log.Entries.Count == 0);
        Debug.Assert(Run(2, log, new ObjectDisposedException("socket")) == "done at 2");
        Debug.Assert(log.Entries.Count == 1);
    }
}
