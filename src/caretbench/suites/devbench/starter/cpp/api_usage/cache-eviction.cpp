#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

/// A folder of downloaded tiles that is kept under a size limit.
class TileCache {
public:
    explicit TileCache(fs::path folder) : folder_(std::move(folder)) { fs::create_directories(folder_); }

    struct Entry {
        fs::path path;
        std::uintmax_t bytes;
        fs::file_time_type used;
    };

    /// The regular files of the folder and of those below it; the least recently used comes first.
    std::vector<Entry> entries() const {
        std::vector<Entry> found;
⟦        for (const fs::directory_entry& item : fs::recursive_directory_iterator(folder_)) {
            if (item.is_regular_file()) {
                found.push_back({item.path(), item.file_size(), item.last_write_time()});
            }
        }
⟧        std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
        return found;
    }

    /// Removes the least recently used files until at most `limit` bytes are left; returns how many were removed.
    int shrink(std::uintmax_t limit) {
        std::uintmax_t total = 0;
        const std::vector<Entry> files = entries();
        for (const Entry& file : files) total += file.bytes;
        int removed = 0;
        for (const Entry& file : files) {
            if (total <= limit) break;
            std::error_code failure;
            if (fs::remove(file.path, failure)) {
                total -= file.bytes;
                ++removed;
            }
        }
        return removed;
    }

private:
    fs::path folder_;
};
⟦tests⟧

struct TemporaryFolder {
    fs::path path;
    TemporaryFolder() {
        const auto stamp = std::chrono::steady_clock::now().time_since_epoch().count();
        path = fs::temp_directory_path() / ("tiles-" + std::to_string(stamp));
        fs::create_directories(path);
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

/// Writes a file that is newer than those before it; a program may not be allowed to set times.
static void write(const fs::path& file, std::size_t bytes) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << std::string(bytes, 'x');
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

int main() {
    const TemporaryFolder temporary;
    const fs::path folder = temporary.path / "tiles";
    TileCache cache(folder);
    assert(cache.entries().empty());
    assert(cache.shrink(0) == 0);

    write(folder / "9" / "deep" / "c.png", 0);
    write(folder / "a.png", 100);
    write(folder / "9" / "b.png", 300);
    write(folder / "d.png", 50);

    const auto files = cache.entries();
    assert(files.size() == 4);
    assert(files[0].path.filename() == "c.png" && files[0].bytes == 0);
    assert(files[1].path.filename() == "a.png" && files[1].bytes == 100);
    assert(files[2].path.filename() == "b.png" && files[2].bytes == 300);
    assert(files[3].path == folder / "d.png" && files[3].bytes == 50);

    assert(cache.shrink(450) == 0);
    assert(cache.shrink(360) == 2);
    assert(!fs::exists(folder / "a.png") && fs::exists(folder / "9" / "b.png"));
    assert(cache.shrink(0) == 2);
    assert(cache.entries().empty());
}
