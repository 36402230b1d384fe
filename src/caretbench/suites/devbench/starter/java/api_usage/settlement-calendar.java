import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.Set;

/** Knows on which day a card payment reaches the merchant's account. */
class SettlementCalendar {
    private final ZoneId bankZone;
    private final LocalTime cutOff;
    private final Set<LocalDate> holidays;

    SettlementCalendar(ZoneId bankZone, LocalTime cutOff, Set<LocalDate> holidays) {
        this.bankZone = bankZone;
        this.cutOff = cutOff;
        this.holidays = Set.copyOf(holidays);
    }

    boolean isBankingDay(LocalDate day) {
        DayOfWeek weekday = day.getDayOfWeek();
        return weekday != DayOfWeek.SATURDAY && weekday != DayOfWeek.SUNDAY && !holidays.contains(day);
    }

    /**
     * A payment received before the cut-off, on the clock of the bank, settles on that day; one received at the
     * cut-off or later, on the day after. Days that are no banking days are passed over.
     */
    LocalDate settlementDay(Instant received) {
        ZonedDateTime atBank = ⟦received.atZone(bankZone);
        boolean inTime = atBank.toLocalTime().isBefore(cutOff);
        LocalDate day = atBank.toLocalDate().plusDays(inTime ? 0 : 1);
⟧        while (!isBankingDay(day)) {
            day = day.plusDays(1);
        }
        return day;
    }
}
⟦tests⟧

public class Main {
    private static LocalDate day(String text) {
        return LocalDate.parse(text);
    }

    public static void main(String[] args) {
        SettlementCalendar calendar = new SettlementCalendar(
                ZoneId.of("America/New_York"), LocalTime.of(17, 0), Set.of(day("2024-07-04"), day("2024-12-25")));

        // Winter: New York is five hours behind UTC; summer: four.
        assert calendar.settlementDay(Instant.parse("2024-01-16T21:59:59Z")).equals(day("2024-01-16"));
        assert calendar.settlementDay(Instant.parse("2024-01-16T22:00:00Z")).equals(day("2024-01-17"));
        assert calendar.settlementDay(Instant.parse("2024-06-18T20:59:59Z")).equals(day("2024-06-18"));
        assert calendar.settlementDay(Instant.parse("2024-06-18T21:00:00Z")).equals(day("2024-06-19"));

        // Already tomorrow in UTC, still this evening at the bank.
        assert calendar.settlementDay(Instant.parse("2024-06-19T02:30:00Z")).equals(day("2024-06-19"));
        assert calendar.settlementDay(Instant.parse("2024-06-19T05:30:00Z")).equals(day("2024-06-19"));

        // Friday evening, the weekend, the eve of a holiday, the end of a month.
        assert calendar.settlementDay(Instant.parse("2024-06-14T21:30:00Z")).equals(day("2024-06-17"));
        assert calendar.settlementDay(Instant.parse("2024-06-15T12:00:00Z")).equals(day("2024-06-17"));
        assert calendar.settlementDay(Instant.parse("2024-07-03T22:00:00Z")).equals(day("2024-07-05"));
        assert calendar.settlementDay(Instant.parse("2024-01-31T23:00:00Z")).equals(day("2024-02-01"));
    }
}
