; The words are explained in python/blocks.scm; @elif is an `if` behind an `else`.
(method_declaration body: (block) @function_body)
(constructor_declaration body: (block) @function_body)
(destructor_declaration body: (block) @function_body)
(operator_declaration body: (block) @function_body)
(accessor_declaration body: (block) @function_body)
(local_function_statement body: (block) @function_body)
(if_statement condition: (_) @if_condition)
(if_statement consequence: (_) @if_body)
(if_statement alternative: (if_statement) @elif)
(if_statement alternative: (_) @else_body)
[(switch_section) (switch_expression_arm)] @switch_case
(for_statement "(" @loop_header.open ")" @loop_header.close)
(foreach_statement "(" @loop_header.open ")" @loop_header.close)
(while_statement condition: (_) @loop_header)
(do_statement condition: (_) @loop_header)
(for_statement body: (_) @loop_body)
(foreach_statement body: (_) @loop_body)
(while_statement body: (_) @loop_body)
(do_statement body: (_) @loop_body)
(try_statement body: (_) @try_body)
(catch_clause) @handler
(finally_clause (block) @finally_body)
(using_statement body: (_) @with_body)
(lock_statement (block) @with_body)
[(lambda_expression) (anonymous_method_expression)] @lambda
(class_declaration body: (_) @class_body)
(interface_declaration body: (_) @class_body)
(struct_declaration body: (_) @class_body)
(record_declaration body: (_) @class_body)
(return_statement) @return
[(invocation_expression) (object_creation_expression)] @call_expression
((invocation_expression function: (member_access_expression name: (_) @_name)) @stream_pipeline
  (#match? @_name "^(Where|Select|SelectMany|OrderBy|GroupBy|Aggregate|ToList|ToArray|ToDictionary|Any|All)$"))
(query_expression) @stream_pipeline
[(block) (switch_section)] @statements
(switch_section [(constant_pattern) (declaration_pattern) (when_clause) (recursive_pattern) (var_pattern)
  (relational_pattern) (and_pattern) (or_pattern) (negated_pattern) (discard)] @not_statement)
