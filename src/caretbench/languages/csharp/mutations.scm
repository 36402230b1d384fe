(if_statement condition: (_) @condition)
(conditional_expression condition: (_) @condition)
(integer_literal) @number
(real_literal) @number
(string_literal) @string
(boolean_literal) @boolean
(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @comparison)
(binary_expression operator: ["&&" "||"] @logical)
(binary_expression operator: ["+" "-" "*" "/" "%"] @arithmetic)
(assignment_expression operator: ["+=" "-=" "*=" "/="] @arithmetic)
(prefix_unary_expression "!") @negation
(return_statement (_) @returned)
(method_declaration body: (block) @body) @function
(constructor_declaration body: (block) @body) @function
(local_function_statement body: (block) @body) @function
(accessor_declaration body: (block) @body) @function
(lambda_expression body: (block) @body) @function
(expression_statement) @statement
(for_statement condition: (_) @loop_condition)
(while_statement condition: (_) @loop_condition)
(foreach_statement right: (_) @iterable)
