; The words are explained in python/blocks.scm.
(method body: (body_statement) @function_body)
(singleton_method body: (body_statement) @function_body)
(if condition: (_) @if_condition)
(unless condition: (_) @if_condition)
(if consequence: (_) @if_body)
(unless consequence: (_) @if_body)
(elsif condition: (_) @elif_condition)
(elsif consequence: (_) @elif_body)
(else) @else_body
(when) @switch_case
(while condition: (_) @loop_header)
(until condition: (_) @loop_header)
(for pattern: (_) @loop_header.first value: (_) @loop_header.last)
(while body: (do) @loop_body)
(until body: (do) @loop_body)
(for body: (do) @loop_body)
(do_block body: (body_statement) @loop_body)
(rescue) @handler
(ensure) @finally_body
(lambda) @lambda
(class body: (body_statement) @class_body)
(module body: (body_statement) @class_body)
(return) @return
(call) @call_expression
((call receiver: (call) method: (_) @_name) @stream_pipeline
  (#match? @_name "^(map|select|filter|reject|reduce|inject|flat_map|each_with_index|sort_by|group_by|sum|any\\?|all\\?|find|zip|take_while|drop_while|uniq|compact|to_h|join)$"))
[(program) (body_statement) (block_body) (then) (else) (do)] @statements
