using System; using System.Collections.Generic; using System.Diagnostics; using System.Linq;

public static class Runs
{
    /// <summary>Cuts a sequence, lazily, into runs of neighbours with equal keys: 1 1 2 1 gives [1 1] [2] [1].</summary>
    public static IEnumerable<List<T>> RunsBy<T, TKey>(this IEnumerable<T> items, Func<T, TKey> key) where TKey : IEquatable<TKey>
    {
        var run = new List<T>();
        foreach (T item in items)
        {
⟦            if (run.Count > 0 && !key(run[0]).Equals(key(item)))
            {
                yield return run;
                run = new List<T>();
            }
            run.Add(item);
⟧        }
        if (run.Count > 0) yield return run;
    }
}
⟦tests⟧

public static class Program
{
    private static string Show(IEnumerable<List<int>> runs)
    {
        return string.Join(" ", runs.Select(run => "[" + string.Join(" ", run) + "]"));
    }

    private static IEnumerable<int> Endless()
    {
        for (int i = 0; ; i++)
        {
            yield return i / 3;
        }
    }

    public static void Main()
    {
        Debug.Assert(Show(new[] { 1, 1, 2, 1 }.RunsBy(n => n)) == "[1 1] [2] [1]");
        Debug.Assert(Show(new int[0].RunsBy(n => n)) == "");
        Debug.Assert(Show(new[] { 7 }.RunsBy(n => n)) == "[7]");
        Debug.Assert(Show(new[] { 2, 4, 1, 3, 6 }.RunsBy(n => n % 2 == 0)) == "[2 4] [1 3] [6]");
        Debug.Assert(Show(new[] { 1, 2, 3 }.RunsBy(n => "same")) == "[1 2 3]");
        Debug.Assert(Show(Endless().RunsBy(n => n).Take(2)) == "[0 0 0] [1 1 1]");
        List<List<int>> kept = new[] { 5, 5, 6 }.RunsBy(n => n).ToList();
        Debug.Assert(kept.Count == 2 && kept[0].Count == 2 && kept[1].Count == 1);
    }
}
