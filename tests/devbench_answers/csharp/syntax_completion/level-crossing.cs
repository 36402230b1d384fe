using System;
using System.Collections.Generic;
using System.Diagnostics;

public enum Barrier { Open, Closing, Closed, Opening }

/// <summary>What a level crossing knows of its surroundings at one moment.</summary>
public sealed class Situation
{
    public int? TrainSeconds { get; set; }
    public bool CarOnTracks { get; set; }
    public int Moving { get; set; }
}

/// <summary>The barriers of a level crossing, and the warning light of the drivers of the trains.</summary>
public static class Crossing
{
    public const int Warning = 40;
    public const int Travel = 8;

    /// <summary>
    /// The next state of the barriers and whether trains are warned. Open barriers begin to close when a train is at
    /// most Warning seconds away. Closing ones are closed after having moved for Travel seconds, but while a car is
    /// on the tracks they go on closing and trains are warned. Closed ones begin to open when no train is
    /// near; opening ones close again for a train, and else are open after Travel seconds. Nothing else changes.
    /// </summary>
    public static (Barrier Next, bool Warn) Step(Barrier barrier, Situation now)
    {
        bool near = now.TrainSeconds <= Warning;
        return (barrier, near, now) switch
        {
            (Barrier.Open, true, _) => (Barrier.Closing, now.CarOnTracks),
⟦            (Barrier.Closing, _, { CarOnTracks: true }) => (Barrier.Closing, true),
            (Barrier.Closing, _, { Moving: var seconds }) when seconds >= Travel => (Barrier.Closed, false),
            (Barrier.Closed, false, _) => (Barrier.Opening, false),
            (Barrier.Opening, true, _) => (Barrier.Closing, now.CarOnTracks),
            (Barrier.Opening, false, { Moving: var seconds }) when seconds >= Travel => (Barrier.Open, false),
⟧            _ => (barrier, false),
        };
    }

    /// <summary>All states that a list of situations leads through, the first one included.</summary>
    public static List<Barrier> Follow(Barrier first, params Situation[] situations)
    {
        var states = new List<Barrier> { first };
        foreach (Situation situation in situations)
        {
            states.Add(Step(states[states.Count - 1], situation).Next);
        }
        return states;
    }
}
⟦tests⟧

public static class Program
{
    private static Situation At(int? train, int moving = 0, bool car = false)
    {
        return new Situation { TrainSeconds = train, Moving = moving, CarOnTracks = car };
    }

    public static void Main()
    {
        Debug.Assert(Crossing.Step(Barrier.Open, At(null)) == (Barrier.Open, false));
        Debug.Assert(Crossing.Step(Barrier.Open, At(41, car: true)) == (Barrier.Open, false));
        Debug.Assert(Crossing.Step(Barrier.Open, At(40, car: true)) == (Barrier.Closing, true));
        Debug.Assert(Crossing.Step(Barrier.Closing, At(30, 9, true)) == (Barrier.Closing, true));
        Debug.Assert(Crossing.Step(Barrier.Closing, At(30, 7)) == (Barrier.Closing, false));
        Debug.Assert(Crossing.Step(Barrier.Closing, At(null, 8)) == (Barrier.Closed, false));
        Debug.Assert(Crossing.Step(Barrier.Closed, At(3, 99, true)) == (Barrier.Closed, false));
        Debug.Assert(Crossing.Step(Barrier.Closed, At(60)) == (Barrier.Opening, false));
        Debug.Assert(Crossing.Step(Barrier.Opening, At(20, 9, true)) == (Barrier.Closing, true));
        Debug.Assert(Crossing.Step(Barrier.Opening, At(null, 7)) == (Barrier.Opening, false));
        Debug.Assert(Crossing.Step(Barrier.Opening, At(null, 8)) == (Barrier.Open, false));
        List<Barrier> day = Crossing.Follow(Barrier.Open, At(39), At(31, 8), At(2), At(null), At(35, 4), At(30, 8));
        Debug.Assert(string.Join(" ", day) == "Open Closing Closed Closed Opening Closing Closed");
    }
}
