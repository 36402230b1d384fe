using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;

/// <summary>Splits amounts of money without losing a cent.</summary>
public static class Shares
{
⟦    /// <summary>
    /// Divides an amount among several parties in proportion to their weights. Each share is first rounded down; the
    /// cents left over are then given out one by one, to the parties that lost most by the rounding.
    /// </summary>
    /// <param name="cents">The amount to divide, in cents; not negative.</param>
    /// <param name="weights">The weight of each party; their sum must be above zero.</param>
    /// <returns>The share of each party in cents, in the order of the weights; together exactly the amount.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The amount is negative.</exception>
    /// <exception cref="ArgumentException">The weights do not add up to more than zero.</exception>
⟧    public static long[] Divide(long cents, IReadOnlyList<int> weights)
    {
        if (cents < 0)
        {
            throw new ArgumentOutOfRangeException(nameof(cents));
        }
        long sum = weights.Sum(weight => (long)weight);
        if (sum <= 0)
        {
            throw new ArgumentException("weights must add up to more than zero", nameof(weights));
        }
        long[] shares = weights.Select(weight => cents * weight / sum).ToArray();
        int left = (int)(cents - shares.Sum());
        IEnumerable<int> mostLost = Enumerable.Range(0, shares.Length)
            .OrderByDescending(party => cents * weights[party] % sum)
            .Take(left);
        foreach (int party in mostLost)
        {
            shares[party]++;
        }
        return shares;
    }
}

public static class Program
{
    private static bool Refuses(long cents, params int[] weights)
    {
        try
        {
            Shares.Divide(cents, weights);
            return false;
        }
        catch (ArgumentException)
        {
            return true;
        }
    }

    public static void Main()
    {
        Debug.Assert(Shares.Divide(100, new[] { 1, 1, 1 }).SequenceEqual(new long[] { 34, 33, 33 }));
        Debug.Assert(Shares.Divide(101, new[] { 1, 2, 1 }).SequenceEqual(new long[] { 25, 51, 25 }));
        Debug.Assert(Shares.Divide(5, new[] { 0, 3, 7 }).SequenceEqual(new long[] { 0, 2, 3 }));
        Debug.Assert(Shares.Divide(0, new[] { 2, 3 }).SequenceEqual(new long[] { 0, 0 }));
        Debug.Assert(Refuses(-1, 1) && Refuses(10) && Refuses(10, 0, 0));
    }
}
