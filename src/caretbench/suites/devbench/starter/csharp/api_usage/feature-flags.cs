using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Text.Json;

/// <summary>For how many percent of the users each feature is switched on.</summary>
public sealed class FeatureFlags
{
    private readonly Dictionary<string, int> percentByFeature = new Dictionary<string, int>();

    /// <summary>
    /// Reads {"flags": {...}}. A flag is true (100), false (0), a whole number of percent, or an object
    /// with the number as its "percent". Anything else raises a <see cref="FormatException"/>.
    /// </summary>
    public static FeatureFlags Parse(string json)
    {
        var flags = new FeatureFlags();
        using (JsonDocument document = JsonDocument.Parse(json))
        {
            foreach (JsonProperty flag in document.RootElement.GetProperty("flags").EnumerateObject())
            {
                flags.percentByFeature[flag.Name] = ReadPercent(flag.Value);
            }
        }
        return flags;
    }

    private static int ReadPercent(JsonElement value)
    {
        switch (value.ValueKind)
        {
⟦            case JsonValueKind.True:
                return 100;
            case JsonValueKind.False:
                return 0;
            case JsonValueKind.Number when value.TryGetInt32(out int percent) && percent >= 0 && percent <= 100:
                return percent;
            case JsonValueKind.Object when value.TryGetProperty("percent", out JsonElement inner)
                    && inner.ValueKind == JsonValueKind.Number:
                return ReadPercent(inner);
⟧            default:
                throw new FormatException("not a feature flag: " + value.GetRawText());
        }
    }

    /// <summary>Users fall into the buckets 0 to 99; unknown features are off.</summary>
    public bool IsOn(string feature, int bucket)
    {
        return percentByFeature.TryGetValue(feature, out int percent) && bucket < percent;
    }
}

public static class Program
{
    private static bool Refuses(string flag)
    {
        try
        {
            FeatureFlags.Parse("{\"flags\": {\"x\": " + flag + "}}");
            return false;
        }
        catch (FormatException)
        {
            return true;
        }
    }

    public static void Main()
    {
        FeatureFlags flags = FeatureFlags.Parse(
            "{\"flags\": {\"search\": true, \"chat\": false, \"maps\": 25, \"beta\": {\"owner\": \"web\", \"percent\": 1}}}");
        Debug.Assert(flags.IsOn("search", 0) && flags.IsOn("search", 99));
        Debug.Assert(!flags.IsOn("chat", 0));
        Debug.Assert(flags.IsOn("maps", 24) && !flags.IsOn("maps", 25));
        Debug.Assert(flags.IsOn("beta", 0) && !flags.IsOn("beta", 1));
        Debug.Assert(!flags.IsOn("unknown", 0));
        Debug.Assert(FeatureFlags.Parse("{\"flags\": {\"all\": 100, \"none\": 0}}").IsOn("all", 99));
        foreach (string wrong in new[] { "null", "\"50\"", "[50]", "-1", "101", "2.5", "{}", "{\"percent\": 101}", "{\"percent\": true}" })
        {
            Debug.Assert(Refuses(wrong), wrong);
        }
    }
}
