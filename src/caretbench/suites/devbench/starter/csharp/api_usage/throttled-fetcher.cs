using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Fetches pages of a partner's catalogue, never more than the agreed number at the same time.</summary>
public sealed class ThrottledFetcher : IDisposable
{
    private readonly Func<string, Task<string>> fetch;
    private readonly SemaphoreSlim gate;

    public ThrottledFetcher(Func<string, Task<string>> fetch, int atOnce)
    {
        this.fetch = fetch;
        gate = new SemaphoreSlim(atOnce, atOnce);
    }

    /// <summary>Fetches one page as soon as a place is free; the place is given back whatever happens.</summary>
    private async Task<string> FetchOneAsync(string page, CancellationToken cancellation)
    {
        await ⟦gate.WaitAsync(cancellation).ConfigureAwait(false);
        try
        {
            return await fetch(page).ConfigureAwait(false);
        }
        finally
        {
            gate.Release();
        }
    }

⟧    /// <summary>Fetches all pages; the texts come back in the order of the pages.</summary>
    public Task<string[]> FetchAllAsync(IEnumerable<string> pages, CancellationToken cancellation = default)
    {
        return Task.WhenAll(pages.Select(page => FetchOneAsync(page, cancellation)).ToList());
    }

    public void Dispose()
    {
        gate.Dispose();
    }
}
⟦tests⟧

public static class Program
{
    private static int running;
    private static int peak;

    private static async Task<string> FakeFetch(string page)
    {
        int now = Interlocked.Increment(ref running);
        lock (typeof(Program))
        {
            peak = Math.Max(peak, now);
        }
        try
        {
            await Task.Delay(5);
            if (page.StartsWith("bad"))
            {
                throw new InvalidOperationException(page);
            }
            return "<" + page + ">";
        }
        finally
        {
            Interlocked.Decrement(ref running);
        }
    }

    private static string Finish(Task<string[]> work)
    {
        try
        {
            Debug.Assert(work.Wait(TimeSpan.FromSeconds(3)), "still waiting");
            return string.Join(" ", work.Result);
        }
        catch (AggregateException failure)
        {
            return failure.InnerException.GetType().Name;
        }
    }

    public static void Main()
    {
        using (var fetcher = new ThrottledFetcher(FakeFetch, 3))
        {
            Debug.Assert(Finish(fetcher.FetchAllAsync(new string[0])) == "");
            Debug.Assert(Finish(fetcher.FetchAllAsync(new[] { "a", "b", "c", "d", "e", "f", "g" })) == "<a> <b> <c> <d> <e> <f> <g>");
            Debug.Assert(peak == 3, "peak " + peak);
            Debug.Assert(Finish(fetcher.FetchAllAsync(new[] { "bad1", "bad2", "bad3", "bad4" })) == "InvalidOperationException");
            Debug.Assert(Finish(fetcher.FetchAllAsync(new[] { "x", "y" })) == "<x> <y>");
            using (var cancelled = new CancellationTokenSource())
            {
                cancelled.Cancel();
                Debug.Assert(Finish(fetcher.FetchAllAsync(new[] { "z" }, cancelled.Token)) == "TaskCanceledException");
            }
            Debug.Assert(running == 0);
        }
        peak = 0;
        using (var single = new ThrottledFetcher(FakeFetch, 1))
        {
            Debug.Assert(Finish(single.FetchAllAsync(new[] { "1", "2", "3" })) == "<1> <2> <3>");
            Debug.Assert(peak == 1);
        }
    }
}
