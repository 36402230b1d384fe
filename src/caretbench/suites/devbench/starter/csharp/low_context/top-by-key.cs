using System; using System.Collections.Generic; using System.Diagnostics;

public static class Selection
{
    /// <summary>The first of the items with the greatest key; the fallback if there are no items.</summary>
    public static T MaxBy<T, TKey>(IEnumerable<T> items, Func<T, TKey> key, T fallback) where TKey : IComparable<TKey>
    {
        T best = fallback;
        bool found = false;
⟦        foreach (T item in items)
        {
            if (!found || key(item).CompareTo(key(best)) > 0)
            {
                best = item;
                found = true;
            }
        }
⟧        return best;
    }
}
⟦tests⟧

public static class Program
{
    public static void Main()
    {
        string[] words = { "kiwi", "banana", "fig", "cherry" };
        Debug.Assert(Selection.MaxBy(words, word => word.Length, "none") == "banana");
        Debug.Assert(Selection.MaxBy(words, word => -word.Length, "none") == "fig");
        Debug.Assert(Selection.MaxBy(words, word => 0, "none") == "kiwi");
        Debug.Assert(Selection.MaxBy(new string[0], word => word.Length, "none") == "none");
        Debug.Assert(Selection.MaxBy(new[] { "b" }, word => word.Length, "a long fallback") == "b");
        Debug.Assert(Selection.MaxBy(new[] { -5, -2, -9 }, number => number, 0) == -2);
        Debug.Assert(Selection.MaxBy(new[] { -5, -2, -9 }, number => (long)number * number, 100) == -9);
        var day = new DateTime(2024, 2, 29);
        Debug.Assert(Selection.MaxBy(new[] { day.AddDays(-1), day, day.AddYears(-3) }, date => date, DateTime.MaxValue) == day);
    }
}
