using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;

public sealed class TimeEntry
{
    public TimeEntry(string client, string consultant, decimal hours, bool approved = true, bool goodwill = false)
    {
        Client = client;
        Consultant = consultant;
        Hours = hours;
        Approved = approved;
        Goodwill = goodwill;
    }

    public string Client { get; }
    public string Consultant { get; }
    public decimal Hours { get; }
    public bool Approved { get; }
    public bool Goodwill { get; }
}

public sealed class Timesheet
{
    private readonly IReadOnlyList<TimeEntry> entries;
    private readonly IReadOnlyDictionary<string, decimal> rateByConsultant;

    public Timesheet(IEnumerable<TimeEntry> entries, IReadOnlyDictionary<string, decimal> rateByConsultant)
    {
        this.entries = entries.ToList();
        this.rateByConsultant = rateByConsultant;
    }

    /// <summary>Only approved work is billed, and never what we did as a goodwill.</summary>
    private IEnumerable<TimeEntry> Billable(string client)
    {
        return entries.Where(entry => entry.Client == client && entry.Approved && !entry.Goodwill);
    }

    public decimal BillableHours(string client)
    {
        return Billable(client).Sum(entry => entry.Hours);
    }

    /// <summary>The amount of a client's invoice, hours times rate, rounded to cents as on paper.</summary>
    public decimal InvoiceTotal(string client)
    {
        decimal total = Billable(client).Sum(entry => entry.Hours * rateByConsultant[entry.Consultant]);
        return Math.Round(total, 2, MidpointRounding.AwayFromZero);
    }

    /// <summary>One line of the invoice for each consultant, by name: "Ada 2.5 h 250.00".</summary>
    public List<string> InvoiceLines(string client)
    {
⟦        return Billable(client)
            .GroupBy(entry => entry.Consultant)
            .OrderBy(work => work.Key, StringComparer.Ordinal)
            .Select(work =>
            {
                decimal hours = work.Sum(entry => entry.Hours);
                decimal amount = Math.Round(hours * rateByConsultant[work.Key], 2, MidpointRounding.AwayFromZero);
                return FormattableString.Invariant($"{work.Key} {hours:0.##} h {amount:0.00}");
            })
            .ToList();
⟧    }
}

public static class Program
{
    public static void Main()
    {
        var rates = new Dictionary<string, decimal> { ["Ada"] = 100m, ["Bo"] = 80.5m, ["Cy"] = 60.05m, ["Di"] = 33m };
        var sheet = new Timesheet(new[]
        {
            new TimeEntry("acme", "Bo", 1.5m),
            new TimeEntry("acme", "Ada", 2m),
            new TimeEntry("acme", "Ada", 0.5m),
            new TimeEntry("acme", "Ada", 8m, approved: false),
            new TimeEntry("acme", "Bo", 4m, goodwill: true),
            new TimeEntry("acme", "Di", 4m, goodwill: true),
            new TimeEntry("zeta", "Ada", 3m),
            new TimeEntry("zeta", "Cy", 0.5m),
            new TimeEntry("zeta", "Cy", 0.1m),
            new TimeEntry("zeta", "Cy", 0.3m),
        }, rates);

        Debug.Assert(string.Join("; ", sheet.InvoiceLines("acme")) == "Ada 2.5 h 250.00; Bo 1.5 h 120.75");
        Debug.Assert(string.Join("; ", sheet.InvoiceLines("zeta")) == "Ada 3 h 300.00; Cy 0.9 h 54.05");
        Debug.Assert(sheet.InvoiceLines("nobody").Count == 0);
        Debug.Assert(sheet.BillableHours("acme") == 4m && sheet.InvoiceTotal("acme") == 370.75m);
    }
}
