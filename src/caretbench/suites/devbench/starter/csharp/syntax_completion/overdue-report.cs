using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;

public sealed class Customer
{
    public Customer(int id, string name)
    {
        Id = id;
        Name = name;
    }

    public int Id { get; }
    public string Name { get; }
}

public sealed class Invoice
{
    public Invoice(int customerId, decimal amount, int dueDay)
    {
        CustomerId = customerId;
        Amount = amount;
        DueDay = dueDay;
    }

    public int CustomerId { get; }
    public decimal Amount { get; }
    public int DueDay { get; }
}

public static class Reminders
{
    /// <summary>
    /// Whom to remind today, as "name: count, amount": every customer with an invoice whose due day has passed. Those
    /// who owe most come first, equal ones by name; invoices that are not overdue yet do not count.
    /// </summary>
    public static List<string> Overdue(IEnumerable<Customer> customers, IEnumerable<Invoice> invoices, int today)
    {
        IEnumerable<string> lines =
            from customer in customers
⟦            join invoice in invoices on customer.Id equals invoice.CustomerId into all
            let overdue = all.Where(invoice => invoice.DueDay < today).ToList()
            where overdue.Count > 0
            let owed = overdue.Sum(invoice => invoice.Amount)
            orderby owed descending, customer.Name
⟧            select FormattableString.Invariant($"{customer.Name}: {overdue.Count}, {owed:0.00}");
        return lines.ToList();
    }
}

public static class Program
{
    public static void Main()
    {
        var customers = new[]
        {
            new Customer(1, "Moss"), new Customer(2, "Fern"), new Customer(3, "Reed"), new Customer(4, "Alder"), new Customer(5, "Ivy"),
        };
        var invoices = new[]
        {
            new Invoice(2, 10.5m, 99), new Invoice(2, 4.5m, 40), new Invoice(2, 900m, 100), new Invoice(1, 120m, 1),
            new Invoice(3, 7m, 100), new Invoice(4, 15m, 98), new Invoice(9, 1m, 1),
        };
        Debug.Assert(Reminders.Overdue(customers, invoices, 100).SequenceEqual(new[]
        {
            "Moss: 1, 120.00", "Alder: 1, 15.00", "Fern: 2, 15.00",
        }));
        Debug.Assert(Reminders.Overdue(customers, invoices, 101).First() == "Fern: 3, 915.00");
        Debug.Assert(Reminders.Overdue(customers, invoices, 1).Count == 0);
        Debug.Assert(Reminders.Overdue(customers, new Invoice[0], 100).Count == 0);
        Debug.Assert(Reminders.Overdue(new Customer[0], invoices, 100).Count == 0);
    }
}
