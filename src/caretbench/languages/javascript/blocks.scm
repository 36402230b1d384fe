; The words are explained in python/blocks.scm; @elif is an `if` behind an `else`.
(function_declaration body: (_) @function_body)
(generator_function_declaration body: (_) @function_body)
(function_expression body: (_) @function_body)
(generator_function body: (_) @function_body)
(method_definition body: (_) @function_body)
(variable_declarator value: (arrow_function body: (statement_block) @function_body))
(if_statement condition: (parenthesized_expression (_) @if_condition))
(if_statement consequence: (_) @if_body)
(else_clause (if_statement) @elif)
(else_clause (_) @else_body)
[(switch_case) (switch_default)] @switch_case
(for_statement "(" @loop_header.open ")" @loop_header.close)
(for_in_statement "(" @loop_header.open ")" @loop_header.close)
(while_statement condition: (parenthesized_expression (_) @loop_header))
(do_statement condition: (parenthesized_expression (_) @loop_header))
(for_statement body: (_) @loop_body)
(for_in_statement body: (_) @loop_body)
(while_statement body: (_) @loop_body)
(do_statement body: (_) @loop_body)
(try_statement body: (_) @try_body)
(catch_clause) @handler
(finally_clause body: (_) @finally_body)
(arrow_function) @lambda
(class_declaration body: (_) @class_body)
(class body: (_) @class_body)
(return_statement) @return
[(call_expression) (new_expression)] @call_expression
((call_expression function: (member_expression object: (call_expression) property: (_) @_name)) @stream_pipeline
  (#match? @_name "^(map|filter|reduce|flatMap|forEach|sort|some|every|find|join|then)$"))
[(program) (statement_block)] @statements
(switch_case value: (_) @not_statement)
[(switch_case) (switch_default)] @statements
[(empty_statement) (hash_bang_line)] @not_statement
