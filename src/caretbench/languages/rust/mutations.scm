(if_expression condition: [(binary_expression) (unary_expression) (call_expression) (identifier) (field_expression)
  (macro_invocation) (index_expression) (parenthesized_expression)] @condition)
(integer_literal) @number
(float_literal) @number
(string_literal) @string
(boolean_literal) @boolean
(binary_expression operator: ["==" "!=" "<" ">" "<=" ">="] @comparison)
(binary_expression operator: ["&&" "||"] @logical)
(binary_expression operator: ["+" "-" "*" "/" "%"] @arithmetic)
(compound_assignment_expr operator: ["+=" "-=" "*=" "/="] @arithmetic)
(unary_expression "!") @negation
(return_expression (_) @returned)
(function_item body: (block [(binary_expression) (unary_expression) (call_expression) (identifier) (field_expression)
  (integer_literal) (string_literal) (boolean_literal) (macro_invocation) (index_expression) (reference_expression)
  (parenthesized_expression) (struct_expression) (tuple_expression) (scoped_identifier) (type_cast_expression)
  (if_expression) (match_expression)] @returned .))
(function_item body: (block) @body) @function
(closure_expression body: (block) @body) @function
(expression_statement) @statement
(while_expression condition: [(binary_expression) (unary_expression) (call_expression) (identifier)
  (field_expression)] @loop_condition)
