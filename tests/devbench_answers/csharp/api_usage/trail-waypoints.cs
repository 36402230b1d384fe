using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using System.Xml.Linq;

/// <summary>A place on a hiking trail; heights are metres, NaN where the map has none.</summary>
public sealed class Waypoint
{
    public Waypoint(string name, double height)
    {
        Name = name;
        Height = height;
    }

    public string Name { get; }
    public double Height { get; }
}

/// <summary>A trail as hikers exchange it: GPX, which is XML with a namespace.</summary>
public static class Trail
{
    private static readonly XNamespace Gpx = "http://www.topografix.com/GPX/1/1";

    /// <summary>
    /// Reads the waypoints in their order. Elements of other namespaces do not count; a waypoint without a name is
    /// called "?". A height that is no number raises a <see cref="FormatException"/>.
    /// </summary>
    public static List<Waypoint> Read(string text)
    {
        XElement root = XDocument.Parse(text).Root;
        return root.⟦Elements(Gpx + "wpt")
            .Select(point => new Waypoint(
                (string)point.Element(Gpx + "name") ?? "?",
                double.Parse((string)point.Element(Gpx + "ele") ?? "NaN", CultureInfo.InvariantCulture)))
            .ToList();
⟧    }

    /// <summary>Metres that go up, over all waypoints with a height.</summary>
    public static double Ascent(IEnumerable<Waypoint> waypoints)
    {
        double[] heights = waypoints.Select(point => point.Height).Where(height => !double.IsNaN(height)).ToArray();
        return heights.Zip(heights.Skip(1), (from, to) => Math.Max(to - from, 0)).Sum();
    }
}
⟦tests⟧

public static class Program
{
    private static string Gpx(string inner)
    {
        return "<gpx xmlns=\"http://www.topografix.com/GPX/1/1\" xmlns:x=\"urn:hut\">" + inner + "</gpx>";
    }

    public static void Main()
    {
        CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
        List<Waypoint> trail = Trail.Read(Gpx(
            "<wpt lat=\"1\"><ele>812.5</ele><name>Mill</name></wpt><x:wpt><name>Hut</name></x:wpt>"
            + "<wpt><name>Bridge</name></wpt><wpt><ele>790</ele></wpt><wpt><name>Saddle</name><ele>1010.25</ele></wpt>"
            + "<rte><wpt><name>Inside</name></wpt></rte>"));
        Debug.Assert(string.Join(" ", trail.Select(point => point.Name)) == "Mill Bridge ? Saddle");
        Debug.Assert(trail[0].Height == 812.5 && double.IsNaN(trail[1].Height) && trail[2].Height == 790);
        Debug.Assert(Trail.Ascent(trail) == 220.25);
        Debug.Assert(Trail.Read(Gpx("")).Count == 0 && Trail.Ascent(new Waypoint[0]) == 0);
        bool refused = false;
        try
        {
            Trail.Read(Gpx("<wpt><ele>high</ele></wpt>"));
        }
        catch (FormatException)
        {
            refused = true;
        }
        Debug.Assert(refused);
    }
}
