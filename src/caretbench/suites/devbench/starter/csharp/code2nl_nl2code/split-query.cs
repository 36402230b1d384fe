using System;
using System.Collections.Generic;
using System.Diagnostics;

/// <summary>What people type into the search box.</summary>
public static class SearchQuery
{
    /// <summary>Tells whether a term excludes documents: it starts with a minus that something follows.</summary>
    public static bool IsExclusion(string term)
    {
        return term.Length > 1 && term[0] == '-';
    }

    /// <summary>Splits a query into its terms.</summary>
    /// <remarks>
    /// Terms are separated by white space. A term that begins with a double quote reaches to the next double quote:
    /// white space between the quotes belongs to it, the quotes do not, and it may be empty. After the closing quote
    /// a new term begins, with or without white space. A quote inside an unquoted term is an ordinary character.
    /// </remarks>
    /// <param name="query">The text of the search box.</param>
    /// <returns>The terms in their order; no terms if there is nothing but white space.</returns>
    /// <exception cref="ArgumentNullException">The query is null.</exception>
    /// <exception cref="FormatException">The closing quote of a term is missing.</exception>
    public static List<string> Split(string query)
    {
⟦        if (query == null)
        {
            throw new ArgumentNullException(nameof(query));
        }
        var terms = new List<string>();
        int position = 0;
        while (position < query.Length)
        {
            if (char.IsWhiteSpace(query[position]))
            {
                position++;
                continue;
            }
            bool quoted = query[position] == '"';
            int start = quoted ? position + 1 : position;
            int end = start;
            while (end < query.Length && (quoted ? query[end] != '"' : !char.IsWhiteSpace(query[end])))
            {
                end++;
            }
            if (quoted && end == query.Length)
            {
                throw new FormatException("closing quote is missing");
            }
            terms.Add(query.Substring(start, end - start));
            position = end + 1;
        }
        return terms;
    }
}⟧
⟦tests⟧

public static class Program
{
    private static void Expect(string query, params string[] terms)
    {
        string actual = string.Join("|", SearchQuery.Split(query));
        Debug.Assert(actual == string.Join("|", terms), actual);
        Debug.Assert(SearchQuery.Split(query).Count == terms.Length);
    }

    private static bool Refuses<TException>(string query) where TException : Exception
    {
        try
        {
            SearchQuery.Split(query);
            return false;
        }
        catch (TException)
        {
            return true;
        }
    }

    public static void Main()
    {
        Expect("");
        Expect(" \t ");
        Expect("one", "one");
        Expect("  red   shoes ", "red", "shoes");
        Expect("\"red shoes\" cheap", "red shoes", "cheap");
        Expect("\"\"", "");
        Expect("a \"\" b", "a", "", "b");
        Expect("\"x\"\"y\"z", "x", "y", "z");
        Expect("19\" monitor\"", "19\"", "monitor\"");
        Expect("\" padded \"", " padded ");
        Expect("-used \"-new\"", "-used", "-new");
        Expect("tab\tnew\nline", "tab", "new", "line");
        Debug.Assert(Refuses<FormatException>("\""));
        Debug.Assert(Refuses<FormatException>("shoes \"red"));
        Debug.Assert(Refuses<FormatException>("\"a\" \"b"));
        Debug.Assert(Refuses<ArgumentNullException>(null));
        Debug.Assert(SearchQuery.IsExclusion("-used") && !SearchQuery.IsExclusion("-"));
    }
}
