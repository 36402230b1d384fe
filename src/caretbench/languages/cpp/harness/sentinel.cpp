// Linked with -Wl,--wrap=main: writes the completion word when the program's main has returned 0 in the process that
// was started (a forked child returns from it too). The word is taken before any code of the program runs, constructors
// of its objects included, and by system calls of our own: a program may define functions of the C library's names.
#include <cstddef>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int __real_main(int count, char **values, char **environment);

namespace {

char word[64];
long length = 0;
int answers = -1;
long started = 0;

long call(long number, long first, const void *second, long third) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long result __asm__("x0") = first;
    register const void *data __asm__("x1") = second;
    register long size __asm__("x2") = third;
    register long which __asm__("x8") = number;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(data), "r"(size), "r"(which) : "memory");
    return result;
#else
    return syscall(number, first, second, third);
#endif
}

int number(const char *&text) {
    int value = 0;
    while (*text >= '0' && *text <= '9')
        value = 10 * value + (*text++ - '0');
    return value;
}

// The word does not lie in memory as it is: it would be found by how it looks.
void turn(char *text, long size) {
    for (long place = 0; place < size; ++place)
        text[place] = static_cast<char>(~text[place]);
}

void take(int, char **, char **environment) {
    static const char name[] = "CARETBENCH_SENTINEL=";
    char **place = environment;
    for (; *place; ++place) {
        std::size_t same = 0;
        while (same < sizeof name - 1 && (*place)[same] == name[same])
            ++same;
        if (same == sizeof name - 1)
            break;
    }
    if (!*place)
        return;
    const char *text = *place + sizeof name - 1;
    const int questions = number(text);
    answers = number(++text);
    started = call(SYS_getpid, 0, nullptr, 0);
    length = call(SYS_read, questions, word, sizeof word);
    turn(word, length);
    call(SYS_close, questions, nullptr, 0);
    for (; *place; ++place)
        *place = place[1];
}

__attribute__((section(".preinit_array"), used)) void (*const first)(int, char **, char **) = take;

}  // namespace

namespace {

bool give() {
    if (length <= 0 || call(SYS_getpid, 0, nullptr, 0) != started)
        return true;
    turn(word, length);
    const bool given = call(SYS_write, answers, word, length) == length;
    length = 0;
    return given;
}

}  // namespace

extern "C" int __wrap_main(int count, char **values, char **environment) {
    const int status = __real_main(count, values, environment);
    return status != 0 || give() ? status : 1;
}
