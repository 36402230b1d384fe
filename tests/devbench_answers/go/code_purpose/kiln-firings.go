package main

import (
	"fmt"
	"sort"
)

// cooling is the number of hours for which the kiln stays closed after a firing, by its kind.
var cooling = map[string]int{"biscuit": 10, "glaze": 14, "raku": 1}

// Firing is one use of a shared pottery kiln; hours count from Monday, midnight.
type Firing struct {
	Potter, Kind string
	Start, Hours int
}

// Free returns the hour at which the kiln can be opened after a firing.
func (f Firing) Free() int {
	return f.Start + f.Hours + cooling[f.Kind]
}

// Collides reports whether a firing would begin before the kiln can be opened after the other, or the reverse.
func (f Firing) Collides(other Firing) bool {
	return f.Start < other.Free() && other.Start < f.Free()
}

// Plan is the week of the kiln. A potter may use it for a limited number of hours, cooling not counted.
type Plan struct {
	Limit   int
	firings []Firing
}

func (p *Plan) used(potter string) int {
	hours := 0
	for _, firing := range p.firings {
		if firing.Potter == potter {
			hours += firing.Hours
		}
	}
	return hours
}

// Book adds a firing, or says why it cannot be: an unknown kind, too many hours of its potter, a collision.
func (p *Plan) Book(firing Firing) error {
	if _, known := cooling[firing.Kind]; !known {
		return fmt.Errorf("unknown kind %s", firing.Kind)
	}
	if p.used(⟦firing.Potter)+firing.Hours > p.Limit {
		return fmt.Errorf("%s has %d hours left", firing.Potter, p.Limit-p.used(firing.Potter))
	}
	for _, booked := range p.firings {
		if booked.Collides(firing) {
			return fmt.Errorf("the kiln is hot until hour %d", booked.Free())
		}
	}
	p.firings = append(p.firings, firing)
	return nil
⟧}

// Week returns the potters in the order of their firings.
func (p *Plan) Week() []string {
	sort.Slice(p.firings, func(i, j int) bool { return p.firings[i].Start < p.firings[j].Start })
	potters := []string{}
	for _, firing := range p.firings {
		potters = append(potters, firing.Potter)
	}
	return potters
}
⟦tests⟧

func refusal(p *Plan, potter, kind string, start, hours int) string {
	if err := p.Book(Firing{potter, kind, start, hours}); err != nil {
		return err.Error()
	}
	return ""
}

func expect(got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		panic(fmt.Sprintf("%v instead of %v", got, want))
	}
}

func main() {
	plan := &Plan{Limit: 20}
	expect(refusal(plan, "wren", "biscuit", 30, 12), "")
	expect(refusal(plan, "lark", "glaze", 51, 8), "the kiln is hot until hour 52")
	expect(refusal(plan, "lark", "glaze", 52, 8), "")
	expect(refusal(plan, "lark", "salt", 90, 8), "unknown kind salt")
	expect(refusal(plan, "wren", "glaze", 10, 7), "the kiln is hot until hour 52")
	expect(refusal(plan, "wren", "raku", 22, 9), "wren has 8 hours left")
	expect(refusal(plan, "wren", "raku", 21, 8), "")
	expect(refusal(plan, "wren", "raku", 90, 1), "wren has 0 hours left")
	expect(refusal(plan, "lark", "raku", 73, 2), "the kiln is hot until hour 74")
	expect(refusal(plan, "owl", "glaze", 74, 20), "")
	expect(plan.Week(), "[wren wren lark owl]")
}
