(if_statement condition: (parenthesized_expression (_) @condition))
(ternary_expression condition: (_) @condition)
(number) @number
(string) @string
[(true) (false)] @boolean
(binary_expression operator: ["==" "!=" "===" "!==" "<" ">" "<=" ">="] @comparison)
(binary_expression operator: ["&&" "||"] @logical)
(binary_expression operator: ["+" "-" "*" "/" "%"] @arithmetic)
(augmented_assignment_expression operator: ["+=" "-=" "*=" "/="] @arithmetic)
(unary_expression operator: "!") @negation
(return_statement (_) @returned)
(function_declaration body: (statement_block) @body) @function
(generator_function_declaration body: (statement_block) @body) @function
(function_expression body: (statement_block) @body) @function
(arrow_function body: (statement_block) @body) @function
(method_definition body: (statement_block) @body) @function
(expression_statement) @statement
(for_in_statement right: (_) @iterable)
(for_statement condition: (_) @loop_condition)
(while_statement condition: (parenthesized_expression (_) @loop_condition))
