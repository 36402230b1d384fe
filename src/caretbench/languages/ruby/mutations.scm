(if condition: (_) @condition)
(unless condition: (_) @condition)
(elsif condition: (_) @condition)
(if_modifier condition: (_) @condition)
(unless_modifier condition: (_) @condition)
(conditional condition: (_) @condition)
(integer) @number
(float) @number
(string) @string
[(true) (false)] @boolean
(binary operator: ["==" "!=" "<" ">" "<=" ">="] @comparison)
(binary operator: ["&&" "||" "and" "or"] @logical)
(binary operator: ["+" "-" "*" "/" "%" "**"] @arithmetic)
(operator_assignment operator: ["+=" "-=" "*=" "/="] @arithmetic)
(unary operator: ["!" "not"]) @negation
(return (argument_list . (_) @returned .))
(method body: (body_statement [(binary) (unary) (call) (identifier) (instance_variable) (integer) (float) (string) (true)
  (false) (element_reference) (parenthesized_statements) (array) (hash) (conditional) (simple_symbol)] @returned .))
(method body: (body_statement) @body) @function
(singleton_method body: (body_statement) @body) @function
[(body_statement (call) @statement) (body_statement (assignment) @statement)
 (body_statement (operator_assignment) @statement)]
[(block_body (call) @statement) (block_body (assignment) @statement) (block_body (operator_assignment) @statement)]
[(then (call) @statement) (then (assignment) @statement) (then (operator_assignment) @statement)]
[(program (call) @statement) (program (assignment) @statement) (program (operator_assignment) @statement)]
(for value: (in (_) @iterable))
(while condition: (_) @loop_condition)
