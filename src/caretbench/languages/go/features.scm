; The words are explained in javascript/features.scm.
(for_statement) @for @in.loop
(for_statement . body: (block)) @while
(for_statement . [(binary_expression) (identifier) (call_expression) (unary_expression) (selector_expression) (parenthesized_expression)]
  @condition . body: (block)) @while
(call_expression arguments: (argument_list (func_literal) @in.loop))
(if_statement) @if
[(expression_switch_statement) (type_switch_statement)] @switch @match
(break_statement) @break @exit
(continue_statement) @continue
(return_statement) @return @exit
(goto_statement) @exit
(func_literal) @lambda
(short_var_declaration right: (expression_list (func_literal))) @function
(map_type) @map @dict_literal
(slice_expression) @slice
(go_statement) @goroutine
(defer_statement) @defer
(channel_type) @channel
(struct_type) @class
(if_statement alternative: (block)) @else
(if_statement consequence: (block (statement_list (return_statement) .)) !alternative) @early_return
(binary_expression operator: _ @operator.name)
(assignment_statement operator: ["+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>=" "&^="] @augmented.name)

(call_expression function: (identifier) @call.name arguments: (argument_list) @arguments)
(call_expression function: (selector_expression field: (_) @call.name) arguments: (argument_list) @arguments)

(short_var_declaration left: (expression_list (identifier) @name.name))
(range_clause left: (expression_list (identifier) @name.name))
(var_spec name: (identifier) @name.name)
(assignment_statement left: (expression_list (identifier) @name.name @updated.name @changed))
(inc_statement (identifier) @updated.name @changed)
(dec_statement (identifier) @updated.name @changed)
(assignment_statement left: (expression_list (index_expression operand: (identifier) @updated.name @changed)))
(assignment_statement left: (expression_list (index_expression operand: (index_expression operand: (identifier) @updated.name @changed))))
(inc_statement (index_expression operand: (identifier) @updated.name @changed))
(dec_statement (index_expression operand: (identifier) @updated.name @changed))
(inc_statement (index_expression operand: (index_expression operand: (identifier) @updated.name @changed)))
(dec_statement (index_expression operand: (index_expression operand: (identifier) @updated.name @changed)))
(call_expression function: (identifier) @_method arguments: (argument_list . (identifier) @updated.name @changed)
  (#any-of? @_method "delete" "clear" "copy"))

; `[]int{}`, `make([]int, n)` and `var list []int` are lists, arrays too.
(short_var_declaration left: (expression_list . (identifier) @filled.list)
  right: (expression_list . [(composite_literal type: [(slice_type) (array_type)]) (call_expression arguments: (argument_list . (slice_type)))]))
(var_spec name: (identifier) @filled.list type: [(slice_type) (array_type)])
(short_var_declaration left: (expression_list . (identifier) @filled.dict)
  right: (expression_list . [(composite_literal type: (map_type)) (call_expression arguments: (argument_list . (map_type)))]))
(var_spec name: (identifier) @filled.dict type: (map_type))

[(function_declaration name: (identifier) @function.name body: (_) @function.body)
 (method_declaration name: (field_identifier) @function.name body: (_) @function.body)
 (short_var_declaration left: (expression_list . (identifier) @function.name) right: (expression_list . (func_literal body: (_) @function.body)))
 (assignment_statement left: (expression_list . (identifier) @function.name) right: (expression_list . (func_literal body: (_) @function.body)))
 (var_spec name: (identifier) @function.name value: (expression_list . (func_literal body: (_) @function.body)))]
