package main

import (
	"errors"
	"fmt"
)

// Kayak is a boat that a rental prepares for a tour.
type Kayak struct {
	seats   int
	colour  string
	hatches []string
}

// Option changes a kayak while it is prepared, or says why it cannot.
type Option func(*Kayak) error

// WithSeats sets the number of seats: 1 to 3.
func WithSeats(seats int) Option {
	return func(k *Kayak) error {
		if seats < 1 || seats > 3 {
			return fmt.Errorf("no kayak has %d seats", seats)
		}
		k.seats = seats
		return nil
	}
}

// WithColour paints the kayak; it cannot be without a colour.
func WithColour(colour string) Option {
	return func(k *Kayak) error {
		if colour == "" {
			return errors.New("the colour is missing")
		}
		k.colour = colour
		return nil
	}
}

// WithHatch adds a hatch for luggage; there is room for one less than there are seats.
⟦func WithHatch(luggage string) Option {
	return func(k *Kayak) error {
		if len(k.hatches) >= k.seats-1 {
			return fmt.Errorf("no room for %s", luggage)
		}
		k.hatches = append(k.hatches, luggage)
		return nil
	}
}
⟧
// Prepare applies the options in their order; the first one that fails ends the preparation.
func Prepare(options ...Option) (*Kayak, error) {
	kayak := &Kayak{seats: 1, colour: "red"}
	for _, option := range options {
		if err := option(kayak); err != nil {
			return nil, err
		}
	}
	return kayak, nil
}
⟦tests⟧

func expect(want string, options ...Option) {
	kayak, err := Prepare(options...)
	got := fmt.Sprint(err)
	if err == nil {
		got = fmt.Sprint(*kayak)
	}
	if got != want {
		panic(got + " instead of " + want)
	}
}

func main() {
	expect("{1 red []}")
	expect("{3 red [tent food]}", WithSeats(3), WithHatch("tent"), WithHatch("food"))
	expect("{2 green [tent]}", WithSeats(2), WithHatch("tent"), WithColour("green"))
	expect("no room for food", WithSeats(2), WithHatch("tent"), WithHatch("food"))
	expect("no room for tent", WithHatch("tent"), WithSeats(3))
	expect("no kayak has 4 seats", WithSeats(4), WithHatch("tent"))
	expect("the colour is missing", WithSeats(3), WithHatch("tent"), WithColour(""))
}
