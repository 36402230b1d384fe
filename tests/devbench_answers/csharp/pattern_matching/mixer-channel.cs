using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;

/// <summary>
/// A channel of a mixing desk. The display follows it by PropertyChanged, which is raised when a value really changes.
/// </summary>
public sealed class MixerChannel : INotifyPropertyChanged
{
    private double gain;
    private int pan;
    private double cutoff = 80;

    public event PropertyChangedEventHandler PropertyChanged;

    /// <summary>Decibels, from -60 to 12.</summary>
    public double Gain
    {
        get => gain;
        set
        {
            double limited = Math.Max(-60, Math.Min(12, value));
            if (gain == limited) return;
            gain = limited;
            PropertyChanged?.Invoke(this, new PropertyChangedEventArgs(nameof(Gain)));
        }
    }

    /// <summary>From -100, left, to 100, right.</summary>
    public int Pan
    {
        get => pan;
        set
        {
            int limited = Math.Max(-100, Math.Min(100, value));
            if (pan == limited) return;
            pan = limited;
            PropertyChanged?.Invoke(this, new PropertyChangedEventArgs(nameof(Pan)));
        }
    }

    /// <summary>Hertz below which the channel is silent, from 20 to 400 in steps of 10; other values are rounded.</summary>
    public double Cutoff
    {
⟦        get => cutoff;
        set
        {
            double limited = Math.Max(20, Math.Min(400, Math.Round(value / 10) * 10));
            if (cutoff == limited) return;
            cutoff = limited;
            PropertyChanged?.Invoke(this, new PropertyChangedEventArgs(nameof(Cutoff)));
        }
⟧    }
}
⟦tests⟧

public static class Program
{
    public static void Main()
    {
        var channel = new MixerChannel();
        var changes = new List<string>();
        channel.PropertyChanged += (sender, change) => changes.Add(change.PropertyName);

        channel.Cutoff = 124;
        Debug.Assert(channel.Cutoff == 120);
        channel.Cutoff = 119;
        Debug.Assert(channel.Cutoff == 120 && changes.Count == 1);
        channel.Cutoff = 9000;
        Debug.Assert(channel.Cutoff == 400);
        channel.Cutoff = 401;
        channel.Gain = 13;
        channel.Cutoff = -5;
        Debug.Assert(channel.Cutoff == 20 && channel.Gain == 12);
        channel.Pan = -100;
        Debug.Assert(string.Join(" ", changes) == "Cutoff Cutoff Gain Cutoff Pan");
        Debug.Assert(new MixerChannel().Cutoff == 80);
    }
}
