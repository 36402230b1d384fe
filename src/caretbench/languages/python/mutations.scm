(if_statement condition: (_) @condition)
(elif_clause condition: (_) @condition)
(conditional_expression . (_) . (_) @condition)
(if_clause (_) @condition)
(integer) @number
(float) @number
(string) @string
[(true) (false)] @boolean
(comparison_operator operators: _ @comparison)
(boolean_operator operator: _ @logical)
(binary_operator operator: _ @arithmetic)
(augmented_assignment operator: _ @arithmetic)
(not_operator) @negation
(return_statement (_) @returned)
(function_definition body: (block) @body) @function
(expression_statement) @statement
(for_statement right: (_) @iterable)
(for_in_clause right: (_) @iterable)
(while_statement condition: (_) @loop_condition)
