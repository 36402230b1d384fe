; The words are explained in python/blocks.scm; @elif is an `if` behind an `else`.
(function_definition body: (compound_statement) @function_body)
(if_statement condition: (condition_clause value: (_) @if_condition))
(if_statement consequence: (_) @if_body)
(else_clause (if_statement) @elif)
(else_clause (_) @else_body)
(case_statement) @switch_case
(for_statement "(" @loop_header.open ")" @loop_header.close)
(for_range_loop "(" @loop_header.open ")" @loop_header.close)
(while_statement condition: (condition_clause value: (_) @loop_header))
(do_statement condition: (parenthesized_expression (_) @loop_header))
(for_statement body: (_) @loop_body)
(for_range_loop body: (_) @loop_body)
(while_statement body: (_) @loop_body)
(do_statement body: (_) @loop_body)
(try_statement body: (_) @try_body)
(catch_clause) @handler
(lambda_expression) @lambda
(class_specifier body: (_) @class_body)
(struct_specifier body: (_) @class_body)
(return_statement) @return
[(call_expression) (new_expression)] @call_expression
[(compound_statement) (case_statement)] @statements
(case_statement value: (_) @not_statement)
