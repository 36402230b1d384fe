package tallyhouse;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** Runs every test; exits with 1 where one fails. */
public final class AllTests {
    private static final List<Class<?>> TESTS = List.of(
            BooksTest.class, IndexTest.class, TablesTest.class, RulesTest.class, SearchTest.class, PlannerTest.class,
            NumbersTest.class);

    public static void main(String[] arguments) throws ReflectiveOperationException {
        List<String> failed = new ArrayList<>();
        int count = 0;
        for (Class<?> test : TESTS) {
            Method[] methods = test.getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method method : methods) {
                if (Modifier.isPrivate(method.getModifiers()) || method.getParameterCount() > 0) {
                    continue;
                }
                count++;
                String name = test.getSimpleName() + "." + method.getName();
                try {
                    method.invoke(null);
                } catch (InvocationTargetException error) {
                    failed.add(name);
                    System.out.println("FAILED " + name + ": " + error.getCause());
                }
            }
        }
        System.out.println(count + " tests, " + failed.size() + " failed");
        System.exit(failed.isEmpty() ? 0 : 1);
    }

    private AllTests() {}
}
