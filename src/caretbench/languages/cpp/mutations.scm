(if_statement condition: (condition_clause value: (_) @condition))
(conditional_expression condition: (_) @condition)
(number_literal) @number
(string_literal) @string
[(true) (false)] @boolean
(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @comparison)
(binary_expression operator: ["&&" "||"] @logical)
(binary_expression operator: ["+" "-" "*" "/" "%"] @arithmetic)
(assignment_expression operator: ["+=" "-=" "*=" "/="] @arithmetic)
(unary_expression operator: "!") @negation
(return_statement (_) @returned)
(function_definition body: (compound_statement) @body) @function
(lambda_expression body: (compound_statement) @body) @function
(expression_statement) @statement
(for_statement condition: (_) @loop_condition)
(while_statement condition: (condition_clause value: (_) @loop_condition))
