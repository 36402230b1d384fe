; Features of implementations (C3-Bench): a capture `x` is the feature `x`, and `x.name` is `x:TEXT`.
; `in.loop` is what runs repeatedly, `exit` what leaves a loop, `function.body` the body of the function of that name.
[(for_statement) (for_in_statement)] @for
[(while_statement) (do_statement)] @while
(do_statement) @do
[(for_statement) (for_in_statement) (while_statement) (do_statement)] @in.loop
(arguments [(arrow_function) (function_expression)] @in.loop)
; A function that goes through a list is a loop in `loop_depth`, as a clause of a comprehension is.
(call_expression function: (member_expression property: (_) @_each) arguments: (arguments [(arrow_function) (function_expression)] @clause)
  (#any-of? @_each "every" "filter" "find" "findIndex" "flatMap" "forEach" "map" "reduce" "some"))
(while_statement condition: (_) @condition)
(do_statement condition: (_) @condition)
(if_statement) @if
(ternary_expression) @conditional_expression
(switch_statement) @switch @match
(try_statement) @try
(break_statement) @break @exit
(continue_statement) @continue
(return_statement) @return @exit
(throw_statement) @throw @exit
[(arrow_function) (function_expression)] @lambda
[(function_declaration) (generator_function_declaration)] @function
(variable_declarator value: [(arrow_function) (function_expression)]) @function
[(generator_function_declaration) (generator_function)] @generator
(method_definition "*" @generator)
(class_declaration) @class
(yield_expression) @yield
(regex) @regex
(spread_element) @spread
(object) @dict_literal
(array) @list_literal
(else_clause (statement_block)) @else
(if_statement consequence: (statement_block (return_statement) .) !alternative) @early_return
(binary_expression operator: ["in" "instanceof"]) @membership
(binary_expression operator: _ @operator.name)
(augmented_assignment_expression operator: _ @augmented.name)

(call_expression function: (identifier) @call.name arguments: (arguments) @arguments)
(call_expression function: (member_expression property: (_) @call.name) arguments: (arguments) @arguments)
(new_expression constructor: (_) @call.name arguments: (arguments)? @arguments)

(variable_declarator name: (identifier) @name.name)
(variable_declarator name: (array_pattern (identifier) @name.name))
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name.name))
(assignment_expression left: [(identifier) @name.name @updated.name @changed (array_pattern (identifier) @updated.name @changed)])
(augmented_assignment_expression left: (identifier) @updated.name @changed)
(update_expression argument: (identifier) @updated.name @changed)
(assignment_expression left: (subscript_expression object: (identifier) @updated.name @changed))
(assignment_expression left: (subscript_expression object: (subscript_expression object: (identifier) @updated.name @changed)))
(augmented_assignment_expression left: (subscript_expression object: (identifier) @updated.name @changed))
(augmented_assignment_expression left: (subscript_expression object: (subscript_expression object: (identifier) @updated.name @changed)))
(update_expression argument: (subscript_expression object: (identifier) @updated.name @changed))
(update_expression argument: (subscript_expression object: (subscript_expression object: (identifier) @updated.name @changed)))
(call_expression function: (member_expression object: (identifier) @updated.name @changed property: (_) @_method)
  (#any-of? @_method "push" "pop" "shift" "unshift" "splice" "fill" "set" "add" "delete" "clear" "sort" "reverse"))

(variable_declarator name: (identifier) @bound.name value: (_) @value)
(assignment_expression left: (identifier) @bound.name right: (_) @value)
(augmented_assignment_expression left: (identifier) @bound.name) @value
(variable_declarator name: (identifier) @filled.list value: (array))
(variable_declarator name: (identifier) @filled.list value: (new_expression constructor: (_) @_kind) (#eq? @_kind "Array"))
(variable_declarator name: (identifier) @filled.list
  value: (call_expression function: [(identifier) @_kind (member_expression property: (_) @_kind)])
  (#any-of? @_kind "Array" "concat" "fill" "filter" "flatMap" "from" "map" "of" "slice"))
(variable_declarator name: (identifier) @filled.set value: (new_expression constructor: (_) @_kind) (#eq? @_kind "Set"))

[(function_declaration name: (identifier) @function.name body: (_) @function.body)
 (generator_function_declaration name: (identifier) @function.name body: (_) @function.body)
 (method_definition name: (_) @function.name body: (_) @function.body)
 (variable_declarator name: (identifier) @function.name value: (arrow_function body: (_) @function.body))
 (variable_declarator name: (identifier) @function.name value: (function_expression body: (_) @function.body))
 (assignment_expression left: (identifier) @function.name right: (arrow_function body: (_) @function.body))
 (assignment_expression left: (identifier) @function.name right: (function_expression body: (_) @function.body))
 (function_expression name: (identifier) @function.name body: (_) @function.body)]
