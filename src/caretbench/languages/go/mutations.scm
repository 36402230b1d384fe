(if_statement condition: (_) @condition)
(int_literal) @number
(float_literal) @number
(interpreted_string_literal) @string
[(true) (false)] @boolean
(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @comparison)
(binary_expression operator: ["&&" "||"] @logical)
(binary_expression operator: ["+" "-" "*" "/" "%"] @arithmetic)
(assignment_statement operator: ["+=" "-=" "*=" "/="] @arithmetic)
(unary_expression operator: "!") @negation
(return_statement (expression_list) @returned)
(function_declaration body: (block) @body) @function
(method_declaration body: (block) @body) @function
(func_literal body: (block) @body) @function
(expression_statement) @statement
(assignment_statement) @statement
