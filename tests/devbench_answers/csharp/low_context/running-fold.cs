using System; using System.Collections.Generic; using System.Diagnostics; using System.Linq;

public static class Gauge
{
    public static IEnumerable<TState> Scan<T, TState>(this IEnumerable<T> items, TState seed, Func<TState, T, TState> step)
    {
        TState state = seed;
        foreach (⟦T item in items)
        {
            state = step(state, item);
            yield return state;
        }
⟧    }
}
⟦tests⟧

public static class Program
{
    private static IEnumerable<int> Rain()
    {
        yield return 3;
        yield return 0;
        yield return 4;
        throw new InvalidOperationException("the gauge is empty");
    }

    public static void Main()
    {
        Debug.Assert(string.Join(" ", new[] { 3, 0, 4 }.Scan(0, (sum, rain) => sum + rain)) == "3 3 7");
        Debug.Assert(string.Join(" ", new[] { 2, 9, 5 }.Scan(4, Math.Max)) == "4 9 9");
        Debug.Assert(string.Join(" ", "abc".Scan("", (text, letter) => letter + text)) == "a ba cba");
        Debug.Assert(!new int[0].Scan(8, (sum, rain) => sum + rain).Any());
        Debug.Assert(string.Join(" ", Rain().Scan(10, (left, rain) => left - rain).Take(3)) == "7 7 3");
    }
}
