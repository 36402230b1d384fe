package tallyhouse;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/**
 * Rules like {@code total > 100 and not (member or coupon)}: made into steps for a stack once, worked out often.
 */
public final class Rules {
    /** One step: push a number or a value by its name, or work on what was pushed. */
    public record Step(String kind, String word) {}

    /** A rule that cannot be read or worked out. */
    public static final class RuleException extends RuntimeException {
        private static final long serialVersionUID = 1;

        RuleException(String message) {
            super(message);
        }
    }

    private static final Map<String, Integer> BINDING = Map.of(
            "or", 1, "and", 2, "not", 3, "<", 4, ">", 4, "=", 4, "+", 5, "-", 5, "*", 6, "/", 6);

    /** The words of a rule: numbers, names and signs. */
    public static List<String> words(String rule) {
        List<String> words = new ArrayList<>();
        int place = 0;
        while (place < rule.length()) {
            char sign = rule.charAt(place);
            int end = place + 1;
            if (Character.isWhitespace(sign)) {
                place++;
                continue;
            }
            if (Character.isDigit(sign)) {
                while (end < rule.length() && (Character.isDigit(rule.charAt(end)) || rule.charAt(end) == '.')) {
                    end++;
                }
            } else if (Character.isLetter(sign)) {
                while (end < rule.length() && Character.isLetterOrDigit(rule.charAt(end))) {
                    end++;
                }
            } else if ("<>=+-*/()".indexOf(sign) < 0) {
                throw new RuleException("not understood: " + sign);
            }
            words.add(rule.substring(place, end));
            place = end;
        }
        return words;
    }

    /** The steps of a rule, operators after what they work on (the shunting yard). */
    public static List<Step> compile(String rule) {
        List<Step> steps = new ArrayList<>();
        Deque<String> waiting = new ArrayDeque<>();
        boolean wantsValue = true;
        for (String word : words(rule)) {
            boolean operator = BINDING.containsKey(word);
            if (word.equals("(") || word.equals("not")) {
                if (!wantsValue) {
                    throw new RuleException("something is missing before " + word);
                }
                waiting.push(word);
            } else if (word.equals(")")) {
                if (wantsValue) {
                    throw new RuleException("something is missing before )");
                }
                while (!waiting.isEmpty() && !waiting.peek().equals("(")) {
                    steps.add(new Step("do", waiting.pop()));
                }
                if (waiting.isEmpty()) {
                    throw new RuleException("( is missing");
                }
                waiting.pop();
            } else if (operator) {
                if (wantsValue) {
                    throw new RuleException("something is missing before " + word);
                }
                while (!waiting.isEmpty() && BINDING.getOrDefault(waiting.peek(), 0) >= BINDING.get(word)) {
                    steps.add(new Step("do", waiting.pop()));
                }
                waiting.push(word);
                wantsValue = true;
            } else {
                if (!wantsValue) {
                    throw new RuleException("something is missing before " + word);
                }
                steps.add(new Step(Character.isDigit(word.charAt(0)) ? "number" : "name", word));
                wantsValue = false;
            }
        }
        if (wantsValue) {
            throw new RuleException("the rule ends too early");
        }
        while (!waiting.isEmpty()) {
            String word = waiting.pop();
            if (word.equals("(")) {
                throw new RuleException(") is missing");
            }
            steps.add(new Step("do", word));
        }
        return steps;
    }

    /** What the steps come to; 1 stands for true and 0 for false. */
    public static double run(List<Step> steps, Map<String, Double> values) {
        Deque<Double> stack = new ArrayDeque<>();
        for (Step step : steps) {
            switch (step.kind()) {
                case "number" -> stack.push(Double.parseDouble(step.word()));
                case "name" -> {
                    Double value = values.get(step.word());
                    if (value == null) {
                        throw new RuleException("not given: " + step.word());
                    }
                    stack.push(value);
                }
                default -> {
                    double right = stack.pop();
                    if (step.word().equals("not")) {
                        stack.push(right == 0 ? 1.0 : 0.0);
                    } else {
                        stack.push(apply(step.word(), stack.pop(), right));
                    }
                }
            }
        }
        return stack.pop();
    }

    private static double apply(String word, double left, double right) {
        switch (word) {
            case "or":
                return left != 0 || right != 0 ? 1 : 0;
            case "and":
                return left != 0 && right != 0 ? 1 : 0;
            case "<":
                return left < right ? 1 : 0;
            case ">":
                return left > right ? 1 : 0;
            case "=":
                return left == right ? 1 : 0;
            case "+":
                return left + right;
            case "-":
                return left - right;
            case "*":
                return left * right;
            default:
                if (right == 0) {
                    throw new RuleException("division by nothing");
                }
                return left / right;
        }
    }

    /** Whether a rule holds. */
    public static boolean holds(String rule, Map<String, Double> values) {
        return run(compile(rule), values) != 0;
    }

    private Rules() {}
}
