// Package caretbench holds the word that says that a program has come to its own end. It is initialised before the
// program, and takes what says of it out of the environment.
package caretbench

import "syscall"

var (
	word    []byte
	answers int
)

func init() {
	ends, found := syscall.Getenv("CARETBENCH_SENTINEL")
	if !found {
		return
	}
	syscall.Unsetenv("CARETBENCH_SENTINEL")
	numbers := [2]int{}
	place := 0
	for _, character := range []byte(ends) {
		if character == ':' {
			place = 1
		} else {
			numbers[place] = 10*numbers[place] + int(character-'0')
		}
	}
	questions := numbers[0]
	answers = numbers[1]
	syscall.CloseOnExec(answers)
	buffer := make([]byte, 64)
	for {
		length, err := syscall.Read(questions, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err == nil {
			word = buffer[:length]
		}
		break
	}
	syscall.Close(questions)
}

// Ended says that the program's main function has returned.
func Ended() {
	for len(word) > 0 {
		_, err := syscall.Write(answers, word)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			syscall.Exit(1)
		}
		break
	}
}
