(if_statement condition: (parenthesized_expression (_) @condition))
(ternary_expression condition: (_) @condition)
(decimal_integer_literal) @number
(decimal_floating_point_literal) @number
(string_literal) @string
[(true) (false)] @boolean
(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @comparison)
(binary_expression operator: ["&&" "||"] @logical)
(binary_expression operator: ["+" "-" "*" "/" "%"] @arithmetic)
(assignment_expression operator: ["+=" "-=" "*=" "/="] @arithmetic)
(unary_expression operator: "!") @negation
(return_statement (_) @returned)
(method_declaration body: (block) @body) @function
(constructor_declaration body: (constructor_body) @body) @function
(lambda_expression body: (block) @body) @function
(expression_statement) @statement
(for_statement condition: (_) @loop_condition)
(while_statement condition: (parenthesized_expression (_) @loop_condition))
(enhanced_for_statement value: (_) @iterable)
