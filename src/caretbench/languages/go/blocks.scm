; The words are explained in python/blocks.scm; @elif is an `if` behind an `else`.
(function_declaration body: (block) @function_body)
(method_declaration body: (block) @function_body)
(if_statement condition: (_) @if_condition)
(if_statement consequence: (_) @if_body)
(if_statement alternative: (if_statement) @elif)
(if_statement alternative: (_) @else_body)
[(expression_case) (type_case) (communication_case) (default_case)] @switch_case
(for_statement [(for_clause) (range_clause)] @loop_header)
(for_statement . [(binary_expression) (identifier) (call_expression) (unary_expression) (selector_expression)
  (parenthesized_expression)] @loop_header . body: (block))
(for_statement body: (block) @loop_body)
(func_literal) @lambda
(return_statement) @return
(call_expression) @call_expression
(statement_list) @statements
(block (statement_list) @inner)
