package main

import (
	"fmt"
	"strings"
)

// names has the twelve notes of an octave, from C upwards.
var names = []string{"C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"}

// index returns the position of a note in names, or -1.
func index(note string) int {
	for i, name := range names {
		if name == note {
			return i
		}
	}
	return -1
}

⟦// Transpose returns the note that lies a number of semitones above the given one, or below it if the number is
// negative. Octaves do not matter: above B the notes begin again with C. Small letters are understood, flats are
// not; for a note that has no name in the octave the result is an error.
⟧func Transpose(note string, semitones int) (string, error) {
	position := index(strings.ToUpper(note))
	if position < 0 {
		return "", fmt.Errorf("no note %q", note)
	}
	return names[((position+semitones)%12+12)%12], nil
}

// Melody transposes all notes of a choir part, which are separated by blanks.
func Melody(part string, semitones int) (string, error) {
	notes := strings.Fields(part)
	for i, note := range notes {
		moved, err := Transpose(note, semitones)
		if err != nil {
			return "", fmt.Errorf("note %d: %w", i+1, err)
		}
		notes[i] = moved
	}
	return strings.Join(notes, " "), nil
}
⟦tests⟧

func main() {
	for part, want := range map[string]string{"C E G": "D F# A", "b A# c": "C# C D", "": ""} {
		if got, err := Melody(part, 2); err != nil || got != want {
			panic(fmt.Sprint(part, got, err))
		}
	}
	if got, _ := Transpose("C", -1); got != "B" {
		panic(got)
	}
	if got, _ := Transpose("f", -25); got != "E" {
		panic(got)
	}
	if _, err := Melody("C H", 1); err == nil || err.Error() != `note 2: no note "H"` {
		panic(fmt.Sprint(err))
	}
}
