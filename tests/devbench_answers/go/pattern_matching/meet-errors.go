package main

import (
	"errors"
	"fmt"
)

// Entries of a swimming meet are refused with errors that a program can tell apart.

// LaneTaken refuses an entry for a lane that another swimmer has.
type LaneTaken struct {
	Lane int
	By   string
}

func (e LaneTaken) Error() string {
	return fmt.Sprintf("lane %d is taken by %s", e.Lane, e.By)
}

func (e LaneTaken) Is(target error) bool {
	return target == ErrEntry
}

// TooYoung refuses a swimmer below the age of the race.
type TooYoung struct {
	Age, Least int
}

func (e TooYoung) Error() string {
	return fmt.Sprintf("age %d is below %d", e.Age, e.Least)
}

func (e TooYoung) Is(target error) bool {
	return target == ErrEntry
}

⟦// NoSuchLane refuses an entry for a lane that the pool does not have.
type NoSuchLane struct {
	Lane, Lanes int
}

func (e NoSuchLane) Error() string {
	return fmt.Sprintf("lane %d is not one of %d", e.Lane, e.Lanes)
}

func (e NoSuchLane) Is(target error) bool {
	return target == ErrEntry
}
⟧
// ErrEntry is what all errors of this file are.
var ErrEntry = errors.New("entry refused")

// Race has its swimmers by lane, from 1.
type Race struct {
	least int
	lanes []string
}

// Enter gives a swimmer a lane.
func (r *Race) Enter(swimmer string, age, lane int) error {
	switch {
	case lane < 1 || lane > len(r.lanes):
		return NoSuchLane{Lane: lane, Lanes: len(r.lanes)}
	case r.lanes[lane-1] != "":
		return LaneTaken{lane, r.lanes[lane-1]}
	case age < r.least:
		return TooYoung{age, r.least}
	}
	r.lanes[lane-1] = swimmer
	return nil
}
⟦tests⟧

func main() {
	race := &Race{least: 12, lanes: make([]string, 6)}
	if err := race.Enter("otter", 12, 6); err != nil {
		panic(err)
	}
	for _, lane := range []int{0, -2, 7} {
		err := fmt.Errorf("meet: %w", race.Enter("seal", 13, lane))
		var wrong NoSuchLane
		if !errors.As(err, &wrong) || wrong.Lane != lane || wrong.Lanes != 6 || !errors.Is(err, ErrEntry) {
			panic(err)
		}
		if err.Error() != fmt.Sprintf("meet: lane %d is not one of 6", lane) {
			panic(err)
		}
	}
	if errors.Is(NoSuchLane{1, 2}, errors.New("entry refused")) {
		panic("another error")
	}
	if err := race.Enter("seal", 11, 6); !errors.Is(err, ErrEntry) || err != (LaneTaken{6, "otter"}) {
		panic(err)
	}
	if err := race.Enter("seal", 11, 1); err != (TooYoung{11, 12}) {
		panic(err)
	}
}
