using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;

public sealed class Animal
{
    public Animal(string name, string kind, bool timid, int arrived)
    {
        Name = name;
        Kind = kind;
        Timid = timid;
        Arrived = arrived;
    }

    public string Name { get; }
    public string Kind { get; }
    public bool Timid { get; }
    public int Arrived { get; }
}

public sealed class Household
{
    public Household(string name, string wish, bool hasChildren, int placesLeft)
    {
        Name = name;
        Wish = wish;
        HasChildren = hasChildren;
        PlacesLeft = placesLeft;
    }

    public string Name { get; }
    public string Wish { get; }
    public bool HasChildren { get; }
    public int PlacesLeft { get; set; }
}

/// <summary>Finds homes for the animals of a shelter.</summary>
public sealed class Shelter
{
    public const int QuarantineDays = 14;
    private readonly List<Animal> animals = new List<Animal>();

    public IEnumerable<string> Names => animals.Select(animal => animal.Name);

    public void TakeIn(Animal animal)
    {
        animals.Add(animal);
    }

    /// <summary>An animal leaves on the last day of its quarantine at the earliest.</summary>
    public bool MayLeave(Animal animal, int day)
    {
        return day - animal.Arrived >= QuarantineDays;
    }

    public bool Suits(Animal animal, Household household)
    {
        return animal.Kind == household.Wish && !(animal.Timid && household.HasChildren);
    }

    /// <summary>
    /// Gives a household the animal that suits it and has been here longest, if one may leave today and the
    /// household has a place left. Returns its name, null if there is none.
    /// </summary>
    public string Adopt(Household household, int day)
    {
        Animal chosen = animals
            .Where(animal => ⟦household.PlacesLeft > 0 && MayLeave(animal, day) && Suits(animal, household))
            .OrderBy(animal => animal.Arrived)
            .FirstOrDefault();⟧
        if (chosen == null) return null;
        animals.Remove(chosen);
        household.PlacesLeft--;
        return chosen.Name;
    }
}
⟦tests⟧

public static class Program
{
    public static void Main()
    {
        var shelter = new Shelter();
        shelter.TakeIn(new Animal("Pip", "cat", true, 5));
        shelter.TakeIn(new Animal("Moss", "cat", false, 9));
        shelter.TakeIn(new Animal("Rook", "dog", false, 1));
        shelter.TakeIn(new Animal("Tuft", "cat", false, 2));
        var family = new Household("mill", "cat", true, 2);
        var quiet = new Household("quay", "cat", false, 1);

        Debug.Assert(shelter.Adopt(family, 15) == null);
        Debug.Assert(shelter.Adopt(family, 16) == "Tuft");
        Debug.Assert(shelter.Adopt(family, 22) == null);
        Debug.Assert(shelter.Adopt(family, 23) == "Moss" && family.PlacesLeft == 0);
        Debug.Assert(shelter.Adopt(family, 99) == null && family.PlacesLeft == 0);
        Debug.Assert(string.Join(" ", shelter.Names) == "Pip Rook");
        Debug.Assert(shelter.Adopt(new Household("yard", "hen", false, 3), 50) == null);
        Debug.Assert(shelter.Adopt(new Household("full", "dog", false, 0), 50) == null);
        Debug.Assert(shelter.Adopt(quiet, 19) == "Pip");
        Debug.Assert(string.Join(" ", shelter.Names) == "Rook");
    }
}
