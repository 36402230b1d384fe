import java.math.BigDecimal;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

record Sale(String region, String product, BigDecimal amount) {
    static Sale of(String region, String product, String amount) {
        return new Sale(region, product, new BigDecimal(amount));
    }
}

final class RevenueReport {
    private RevenueReport() {
    }

    /** The largest sale of every region, in the order of the regions. */
    static SortedMap<String, Sale> largestSales(List<Sale> sales) {
        return sales.stream().collect(Collectors.groupingBy(
                Sale::region,
                TreeMap::new,
                Collectors.collectingAndThen(
                        Collectors.maxBy(Comparator.comparing(Sale::amount)),
                        Optional::orElseThrow)));
    }

    /**
     * Revenue of every product within every region, regions and products both in alphabetical order. Sales of nothing or
     * less are left out; a region that has no others stays in the table, without products.
     */
    static SortedMap<String, SortedMap<String, BigDecimal>> revenue(List<Sale> sales) {
        return sales.stream().collect(⟦Collectors.groupingBy(
                Sale::region,
                TreeMap::new,
                Collectors.filtering(
                        sale -> sale.amount().signum() > 0,
                        Collectors.toMap(
                                Sale::product,
                                Sale::amount,
                                BigDecimal::add,
                                TreeMap::new))));
    }
}⟧
⟦tests⟧

public class Main {
    public static void main(String[] args) {
        List<Sale> sales = List.of(
                Sale.of("west", "tea", "10.10"),
                Sale.of("east", "tea", "4.00"),
                Sale.of("west", "mugs", "7.25"),
                Sale.of("west", "tea", "0.90"),
                Sale.of("east", "coffee", "3.00"),
                Sale.of("west", "tea", "-1.00"),
                Sale.of("west", "gift", "0.00"),
                Sale.of("north", "tea", "-9.00"));

        SortedMap<String, SortedMap<String, BigDecimal>> revenue = RevenueReport.revenue(sales);
        assert revenue.toString().equals("{east={coffee=3.00, tea=4.00}, north={}, west={mugs=7.25, tea=11.00}}") : revenue;
        assert revenue.get("west").firstKey().equals("mugs");
        assert RevenueReport.revenue(List.of()).isEmpty();

        Map<String, Sale> largest = RevenueReport.largestSales(sales);
        assert largest.get("west").amount().equals(new BigDecimal("10.10"));
    }
}
