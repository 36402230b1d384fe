using System;
using System.Collections.Generic;
using System.Diagnostics;

/// <summary>Change ringing: a row is the order in which the bells of a tower sound, one letter a bell.</summary>
public static class Tower
{
    /// <summary>Tells whether the bell at an index keeps its place; places are digits that count from 1.</summary>
    private static bool Stays(string places, int index)
    {
        return places.IndexOf((char)('1' + index)) >= 0;
    }

    /// <summary>Rings one change.</summary>
    /// <remarks>
    /// Bells in the given places stay where they are. The others change in pairs, read from the front: the first one
    /// with its neighbour to the right, then the next one that has not moved yet, and so on. A bell that should
    /// change but whose right neighbour stays, or that has none, makes the change impossible.
    /// </remarks>
    /// <param name="row">The row before the change.</param>
    /// <param name="places">The places that stay, such as "14"; empty if all bells change.</param>
    /// <returns>The row after the change.</returns>
    /// <exception cref="ArgumentException">The change is impossible.</exception>
    public static string Change(string row, string places)
    {
⟦        char[] bells = row.ToCharArray();
        for (int index = 0; index < bells.Length; index++)
        {
            if (!Stays(places, index))
            {
                if (index + 1 == bells.Length || Stays(places, index + 1))
                {
                    throw new ArgumentException("bell " + bells[index] + " has no partner", nameof(places));
                }
                (bells[index], bells[index + 1]) = (bells[index + 1], bells[index]);
                index++;
            }
        }
        return new string(bells);
⟧    }

    /// <summary>The rows of a touch that repeats its changes until the first row comes back; that row is not repeated.</summary>
    public static List<string> Touch(string first, params string[] changes)
    {
        var rows = new List<string> { first };
        for (int i = 0; ; i++)
        {
            string row = Change(rows[i], changes[i % changes.Length]);
            if (row == first) return rows;
            rows.Add(row);
        }
    }
}
⟦tests⟧

public static class Program
{
    private static bool Refuses(string row, string places)
    {
        try
        {
            Tower.Change(row, places);
            return false;
        }
        catch (ArgumentException failure)
        {
            return failure.ParamName == "places";
        }
    }

    public static void Main()
    {
        Debug.Assert(Tower.Change("abcd", "") == "badc");
        Debug.Assert(Tower.Change("badc", "14") == "bdac");
        Debug.Assert(Tower.Change("abcde", "3") == "baced");
        Debug.Assert(Tower.Change("abcde", "5") == "badce");
        Debug.Assert(Tower.Change("abcde", "123") == "abced");
        Debug.Assert(Tower.Change("abc", "123") == "abc" && Tower.Change("", "") == "");
        Debug.Assert(Refuses("abc", "") && Refuses("abcd", "2") && Refuses("abcd", "3") && Refuses("abcd", "4"));
        List<string> hunt = Tower.Touch("abcd", "", "14");
        Debug.Assert(string.Join(" ", hunt) == "abcd badc bdac dbca dcba cdab cadb acbd");
        Debug.Assert(Tower.Touch("ab", "").Count == 2);
    }
}
