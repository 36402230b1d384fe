; The words are explained in python/blocks.scm; @elif is an `if` behind an `else`.
(method_declaration body: (block) @function_body)
(constructor_declaration body: (_) @function_body)
(compact_constructor_declaration body: (_) @function_body)
(if_statement condition: (parenthesized_expression (_) @if_condition))
(if_statement consequence: (_) @if_body)
(if_statement alternative: (if_statement) @elif)
(if_statement alternative: (_) @else_body)
[(switch_block_statement_group) (switch_rule)] @switch_case
(for_statement "(" @loop_header.open ")" @loop_header.close)
(enhanced_for_statement "(" @loop_header.open ")" @loop_header.close)
(while_statement condition: (parenthesized_expression (_) @loop_header))
(do_statement condition: (parenthesized_expression (_) @loop_header))
(for_statement body: (_) @loop_body)
(enhanced_for_statement body: (_) @loop_body)
(while_statement body: (_) @loop_body)
(do_statement body: (_) @loop_body)
(try_statement body: (_) @try_body)
(try_with_resources_statement body: (_) @try_body)
(try_with_resources_statement body: (_) @with_body)
(catch_clause) @handler
(finally_clause (block) @finally_body)
(synchronized_statement body: (_) @with_body)
(lambda_expression) @lambda
(class_declaration body: (_) @class_body)
(interface_declaration body: (_) @class_body)
(enum_declaration body: (_) @class_body)
(record_declaration body: (_) @class_body)
(return_statement) @return
[(method_invocation) (object_creation_expression)] @call_expression
((method_invocation object: (method_invocation) name: (identifier) @_name) @stream_pipeline
  (#match? @_name "^(map|mapTo.*|filter|flatMap|collect|forEach|reduce|toList|toArray|sorted|limit|sum|count|.*Match)$"))
[(block) (constructor_body) (switch_block_statement_group)] @statements
(labeled_statement (identifier) @not_statement)
