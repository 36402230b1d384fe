; The words are explained in python/blocks.scm; @elif is an `if` behind an `else`.
(function_item body: (block) @function_body)
(if_expression condition: (_) @if_condition)
(if_expression consequence: (_) @if_body)
(else_clause (if_expression) @elif)
(else_clause (_) @else_body)
(match_arm) @switch_case
(for_expression value: (_) @loop_header)
(while_expression condition: (_) @loop_header)
(for_expression body: (_) @loop_body)
(while_expression body: (_) @loop_body)
(loop_expression body: (_) @loop_body)
(closure_expression) @lambda
(impl_item body: (_) @class_body)
(trait_item body: (_) @class_body)
(return_expression) @return
(call_expression) @call_expression
((call_expression function: (field_expression value: (call_expression) field: (field_identifier) @_name)) @stream_pipeline
  (#match? @_name "^(map|filter|filter_map|flat_map|flatten|fold|collect|for_each|sum|product|count|any|all|take|skip|zip|rev|enumerate|take_while|skip_while|chain|min|max|min_by_key|max_by_key|find|position)$"))
(block) @statements
[(attribute_item) (inner_attribute_item) (label)] @not_statement
