using System;
using System.Collections.Generic;
using System.Diagnostics;

public sealed class Layer
{
    public string Name = "layer";
    public bool Locked;
    public int X, Y;
    public string Colour = "black";
    public List<string> Tags = new List<string>();
}

/// <summary>A step that the user can take back.</summary>
public abstract class Command
{
    protected Command(Layer layer) => Layer = layer;

    protected Layer Layer { get; }

    /// <summary>Does the step and returns what takes it back; null if the step changes nothing.</summary>
    public abstract Action Execute();

    protected void RequireUnlocked()
    {
        if (Layer.Locked) throw new InvalidOperationException("layer is locked: " + Layer.Name);
    }
}

public sealed class Recolour : Command
{
    private readonly string colour;

    public Recolour(Layer layer, string colour) : base(layer) => this.colour = colour;

    public override Action Execute()
    {
        RequireUnlocked();
        if (Layer.Colour == colour) return null;
        string before = Layer.Colour;
        Layer.Colour = colour;
        return () => Layer.Colour = before;
    }
}

public sealed class AddTag : Command
{
    private readonly string tag;

    public AddTag(Layer layer, string tag) : base(layer) => this.tag = tag;

    public override Action Execute()
    {
        RequireUnlocked();
        if (Layer.Tags.Contains(tag)) return null;
        Layer.Tags.Add(tag);
        return () => Layer.Tags.Remove(tag);
    }
}

public sealed class MoveTo : Command
{
    private readonly int x, y;

    public MoveTo(Layer layer, int x, int y) : base(layer) => (this.x, this.y) = (x, y);

    public override Action Execute()
    {
⟦        RequireUnlocked();
        if (Layer.X == x && Layer.Y == y) return null;
        (int X, int Y) before = (Layer.X, Layer.Y);
        (Layer.X, Layer.Y) = (x, y);
        return () => (Layer.X, Layer.Y) = before;
⟧    }
}
⟦tests⟧

public static class Program
{
    public static void Main()
    {
        var layer = new Layer { X = 1, Y = 2 };
        Action first = new MoveTo(layer, 30, 2).Execute();
        Debug.Assert(layer.X == 30 && layer.Y == 2);
        Action second = new MoveTo(layer, 30, -7).Execute();
        Debug.Assert(layer.X == 30 && layer.Y == -7);
        Debug.Assert(new MoveTo(layer, 30, -7).Execute() == null);
        Debug.Assert(layer.X == 30 && layer.Y == -7);

        second();
        Debug.Assert(layer.X == 30 && layer.Y == 2);
        first();
        Debug.Assert(layer.X == 1 && layer.Y == 2);

        layer.Locked = true;
        foreach (int x in new[] { 1, 5 })
        {
            bool refused = false;
            try
            {
                new MoveTo(layer, x, 2).Execute();
            }
            catch (InvalidOperationException)
            {
                refused = true;
            }
            Debug.Assert(refused && layer.X == 1);
        }
        layer.Locked = false;
        Debug.Assert(new Recolour(layer, "black").Execute() == null);
        new AddTag(layer, "draft").Execute()();
        Debug.Assert(layer.Tags.Count == 0 && layer.Colour == "black");
    }
}
