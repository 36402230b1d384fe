// Linked with -Wl,--wrap=main: writes the completion word when the program's main has returned 0.
#include <cstdlib>
#include <unistd.h>

extern "C" int __real_main(int count, char **values, char **environment);

extern "C" int __wrap_main(int count, char **values, char **environment) {
    char word[64];
    long length = 0;
    int answers = -1;
    if (const char *ends = std::getenv("CARETBENCH_SENTINEL")) {
        char *rest = nullptr;
        const int questions = static_cast<int>(std::strtol(ends, &rest, 10));
        answers = static_cast<int>(std::strtol(rest + 1, nullptr, 10));
        length = read(questions, word, sizeof word);
        close(questions);
        unsetenv("CARETBENCH_SENTINEL");
    }
    const int status = __real_main(count, values, environment);
    if (status == 0 && length > 0 && write(answers, word, static_cast<size_t>(length)) != length) {
        return 1;
    }
    return status;
}
