#include <cassert>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

/// One half-move of a game of chess, as a score sheet has it.
struct Move {
    char piece = 'P';
    std::string target;
    bool captures = false;
    bool checks = false;
};

/// Reads the moves of a score sheet: "1. e4 e5 2. Nf3 Nc6" and so on. Castling is a move of the king without a target.
class ScoreSheet {
public:
    explicit ScoreSheet(const std::string& text) {
        static const std::regex move(R"(([KQRBN]?)[a-h]?[1-8]?(x?)([a-h][1-8])([+#]?)|(O-O(?:-O)?))");
        static const std::regex number(R"(\d+\.+)");
        const std::string moves = std::regex_replace(text, number, " ");
        const std::regex word(R"(\S+)");
⟦        for (std::sregex_iterator at(moves.begin(), moves.end(), word), end; at != end; ++at) {
            const std::string written = at->str();
            std::smatch parts;
            if (!std::regex_match(written, parts, move)) throw std::invalid_argument("not a move: " + written);
            const bool castles = parts[5].matched;
            const char piece = castles ? 'K' : parts.length(1) > 0 ? parts.str(1)[0] : 'P';
            moves_.push_back({piece, parts.str(3), parts.length(2) > 0, parts.length(4) > 0});
        }
⟧    }

    const std::vector<Move>& moves() const { return moves_; }

    int captures() const {
        int count = 0;
        for (const Move& one : moves_) count += one.captures ? 1 : 0;
        return count;
    }

private:
    std::vector<Move> moves_;
};
⟦tests⟧

static bool refuses(const std::string& text) {
    try {
        const ScoreSheet sheet(text);
    } catch (const std::invalid_argument& error) {
        return std::string(error.what()).find("not a move: ") == 0;
    }
    return false;
}

int main() {
    const ScoreSheet sheet("1. e4 e5 2.Nf3 d6 3. Nxe5 dxe5 4. Bb5+ c6 5. O-O Qd1#");
    const std::vector<Move>& moves = sheet.moves();
    assert(moves.size() == 10 && sheet.captures() == 2);
    assert(moves[0].piece == 'P' && moves[0].target == "e4" && !moves[0].captures && !moves[0].checks);
    assert(moves[2].piece == 'N' && moves[2].target == "f3");
    assert(moves[4].piece == 'N' && moves[4].captures);
    assert(moves[5].piece == 'P' && moves[5].captures && moves[5].target == "e5");
    assert(moves[6].checks && moves[6].piece == 'B' && !moves[6].captures);
    assert(moves[8].piece == 'K' && moves[8].target.empty() && !moves[8].checks);
    assert(moves[9].checks && moves[9].target == "d1");
    assert(ScoreSheet("").moves().empty());
    assert(ScoreSheet("12... Rad1").moves()[0].piece == 'R');
    assert(refuses("e9") && refuses("1. e4 Zf3") && refuses("O-O-O-O") && refuses("e4-e5"));
}
