using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading.Tasks;

public interface IRateSource
{
    /// <summary>How much of one currency a unit of another one buys.</summary>
    Task<decimal> RateAsync(string from, string to);
}

/// <summary>Converts the amounts of a trading day; a rate that was asked for once holds for the whole day.</summary>
public sealed class CurrencyDesk
{
    private readonly IRateSource source;
    private readonly Dictionary<string, decimal> rateByPair = new Dictionary<string, decimal>();

    public CurrencyDesk(IRateSource source)
    {
        this.source = source;
    }

    public async Task<decimal> RateOfTheDayAsync(string from, string to)
    {
        if (from == to)
        {
            return 1m;
        }
        string pair = from + "/" + to;
        if (!rateByPair.TryGetValue(pair, out decimal rate))
        {
            rate = await source.RateAsync(from, to);
            rateByPair[pair] = rate;
        }
        return rate;
    }

    public async Task<decimal> ConvertAsync(decimal amount, string from, string to)
    {
        RequireAmount(amount);
        return RoundMoney(amount * await RateOfTheDayAsync(from, to));
    }

    /// <summary>
    /// Converts every amount of a basket, by currency, into one currency and adds them up. All amounts are
    /// checked before the first rate is asked for; each is rounded by itself, as it stands on the receipt.
    /// </summary>
    public async Task<decimal> BasketTotalAsync(IReadOnlyDictionary<string, decimal> amountByCurrency, string to)
    {
        decimal total = 0m;
⟦        foreach (decimal amount in amountByCurrency.Values)
        {
            RequireAmount(amount);
        }
        foreach (KeyValuePair<string, decimal> part in amountByCurrency)
        {
            total += await ConvertAsync(part.Value, part.Key, to);
        }
⟧        return total;
    }

    private static void RequireAmount(decimal amount)
    {
        if (amount < 0m)
        {
            throw new ArgumentOutOfRangeException(nameof(amount));
        }
    }

    private static decimal RoundMoney(decimal amount)
    {
        return Math.Round(amount, 2, MidpointRounding.ToEven);
    }
}
⟦tests⟧

public sealed class FakeRates : IRateSource
{
    public int Asked { get; private set; }

    public async Task<decimal> RateAsync(string from, string to)
    {
        Asked++;
        await Task.Yield();
        switch (from + to)
        {
            case "EURCHF": return 0.95m;
            case "USDCHF": return 0.5m;
            default: throw new KeyNotFoundException(from + to);
        }
    }
}

public static class Program
{
    private static Dictionary<string, decimal> Basket(decimal eur, decimal usd, decimal chf)
    {
        return new Dictionary<string, decimal> { ["EUR"] = eur, ["USD"] = usd, ["CHF"] = chf };
    }

    public static void Main()
    {
        var rates = new FakeRates();
        var desk = new CurrencyDesk(rates);

        bool refused = false;
        try
        {
            desk.BasketTotalAsync(Basket(1m, 2m, -0.01m), "CHF").GetAwaiter().GetResult();
        }
        catch (ArgumentOutOfRangeException)
        {
            refused = true;
        }
        Debug.Assert(refused && rates.Asked == 0);

        Debug.Assert(desk.BasketTotalAsync(Basket(10m, 4m, 1.25m), "CHF").Result == 12.75m);
        Debug.Assert(rates.Asked == 2);
        Debug.Assert(desk.BasketTotalAsync(Basket(0.10m, 0.01m, 0m), "CHF").Result == 0.10m);
        Debug.Assert(desk.BasketTotalAsync(Basket(0m, 0.03m, 0m), "CHF").Result == 0.02m);
        Debug.Assert(rates.Asked == 2);
        Debug.Assert(desk.BasketTotalAsync(new Dictionary<string, decimal>(), "CHF").Result == 0m);
        Debug.Assert(desk.ConvertAsync(3m, "CHF", "CHF").Result == 3m);

        bool unknown = false;
        try
        {
            desk.BasketTotalAsync(new Dictionary<string, decimal> { ["XYZ"] = 1m }, "CHF").GetAwaiter().GetResult();
        }
        catch (KeyNotFoundException)
        {
            unknown = true;
        }
        Debug.Assert(unknown);
    }
}
