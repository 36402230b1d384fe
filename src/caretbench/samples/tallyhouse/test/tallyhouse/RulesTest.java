package tallyhouse;

import java.util.List;
import java.util.Map;

final class RulesTest {
    private static double value(String rule) {
        return Rules.run(Rules.compile(rule), Map.of("total", 120.0, "member", 1.0, "coupon", 0.0));
    }

    static void words() {
        Check.equal(List.of("a1", "+", "2.5", "*", "(", "not", "b", ")"), Rules.words("a1+2.5 *(not b)"));
        Check.fails(Rules.RuleException.class, () -> Rules.words("a & b"));
        Check.equal(List.of(), Rules.words("  "));
    }

    static void orderOfOperations() {
        Check.equal(7.0, value("1 + 2 * 3"));
        Check.equal(9.0, value("(1 + 2) * 3"));
        Check.equal(3.0, value("8 - 3 - 2"));
        Check.equal(1.0, value("12 / 4 / 3"));
        Check.equal(1.0, value("1 + 1 < 3"));
        Check.equal(1.0, value("1 or 0 and 0"));
        Check.equal(0.0, value("(1 or 0) and 0"));
        Check.equal(1.0, value("not 0 and not 0"));
        Check.equal(0.0, value("not 1 = 1"));
        Check.equal(1.0, value("not not 2 > 1"));
    }

    static void rules() {
        Check.equal(true, Rules.holds("total > 100 and not (coupon or total < 10)",
                Map.of("total", 120.0, "coupon", 0.0)));
        Check.equal(false, Rules.holds("total > 100 and not (coupon or total < 10)",
                Map.of("total", 120.0, "coupon", 1.0)));
        Check.equal(true, Rules.holds("2 = 2", Map.of()));
        Check.equal(false, Rules.holds("2 > 2 or 2 < 2", Map.of()));
    }

    static void steps() {
        List<Rules.Step> steps = Rules.compile("a - 2");
        Check.equal(List.of("name a", "number 2", "do -"),
                steps.stream().map(step -> step.kind() + " " + step.word()).toList());
    }

    static void wrongRules() {
        for (String rule : List.of("1 +", "* 2", "(1", "1)", "1 2", "a b", "1 not", "()", "", "1 + + 2", "2 (3)")) {
            Check.fails(Rules.RuleException.class, () -> Rules.compile(rule));
        }
        Check.fails(Rules.RuleException.class, () -> value("unknown + 1"));
        Check.fails(Rules.RuleException.class, () -> value("1 / coupon"));
    }
}
