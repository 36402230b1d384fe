import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

record OrderLine(String sku, int quantity, long unitCents) {
    long cents() {
        return quantity * unitCents;
    }
}

record Order(String customer, String country, List<OrderLine> lines, long shippingCents) {
    long totalCents() {
        return shippingCents + lines.stream().mapToLong(OrderLine::cents).sum();
    }
}

/** A rule names what is wrong with an order, or nothing. */
interface Rule extends Function<Order, Optional<String>> {
}

final class OrderRules {
    private OrderRules() {
    }

    static Rule hasLines() {
        return order -> order.lines().isEmpty()
                ? Optional.of("order has no lines")
                : Optional.empty();
    }

    static Rule shipsTo(List<String> countries) {
        return order -> !countries.contains(order.country())
                ? Optional.of("cannot ship to " + order.country())
                : Optional.empty();
    }

    static Rule quantityAtMost(int limit) {
        return order -> order.lines().stream().anyMatch(line -> line.quantity() > limit)
                ? Optional.of("quantity exceeds " + limit)
                : Optional.empty();
    }

    static Rule totalAtMost(long limitCents) {
⟦        return order -> order.totalCents() > limitCents
                ? Optional.of("total exceeds " + limitCents)
                : Optional.empty();
    }
⟧
    static List<String> check(Order order, List<Rule> rules) {
        return rules.stream().map(rule -> rule.apply(order)).flatMap(Optional::stream).collect(Collectors.toList());
    }
}

public class Main {
    public static void main(String[] args) {
        List<Rule> rules = List.of(
                OrderRules.hasLines(),
                OrderRules.shipsTo(List.of("CH", "NO")),
                OrderRules.quantityAtMost(10),
                OrderRules.totalAtMost(50_000));
        OrderLine cable = new OrderLine("cable", 10, 990);
        OrderLine screen = new OrderLine("screen", 2, 20_050);

        assert OrderRules.check(new Order("Ada", "CH", List.of(cable), 900), rules).isEmpty();
        assert OrderRules.check(new Order("Ada", "CH", List.of(cable, screen), 0), rules).isEmpty();
        assert OrderRules.check(new Order("Ada", "CH", List.of(cable, screen), 1), rules)
                .equals(List.of("total exceeds 50000"));
        assert OrderRules.check(new Order("Ada", "US", List.of(), 60_000), rules)
                .equals(List.of("order has no lines", "cannot ship to US", "total exceeds 50000"));
        assert OrderRules.totalAtMost(9_899).apply(new Order("Bo", "NO", List.of(cable), 0)).isPresent();
        assert OrderRules.totalAtMost(9_900).apply(new Order("Bo", "NO", List.of(cable), 0)).isEmpty();
    }
}
