; Candidates for holes, and constructs around them. `.first` and `.last` end a span at two nodes; @statements
; are lists of statements, @inner those whose brackets are the node's around them; @bodied marks what stands around a
; body and owns its closing token.
(function_definition body: (block) @function_body)
(if_statement condition: (_) @if_condition)
(if_statement consequence: (block) @if_body)
(elif_clause condition: (_) @elif_condition)
(elif_clause consequence: (block) @elif_body)
(if_statement alternative: (else_clause body: (block) @else_body))
(case_clause) @switch_case
(for_statement left: (_) @loop_header.first right: (_) @loop_header.last)
(while_statement condition: (_) @loop_header)
(for_statement body: (block) @loop_body)
(while_statement body: (block) @loop_body)
(try_statement body: (block) @try_body)
(except_clause) @handler
(finally_clause (block) @finally_body)
(with_statement body: (block) @with_body)
[(list_comprehension) (dictionary_comprehension) (set_comprehension) (generator_expression)] @comprehension
(lambda) @lambda
(class_definition body: (block) @class_body)
(return_statement) @return
(call) @call_expression
[(module) (block)] @statements
