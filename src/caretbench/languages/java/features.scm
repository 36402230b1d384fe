; The words are explained in javascript/features.scm.
[(for_statement) (enhanced_for_statement)] @for
[(while_statement) (do_statement)] @while
(do_statement) @do
[(for_statement) (enhanced_for_statement) (while_statement) (do_statement)] @in.loop
(argument_list (lambda_expression) @in.loop)
(while_statement condition: (_) @condition)
(do_statement condition: (_) @condition)
(if_statement) @if
(ternary_expression) @conditional_expression
(switch_expression) @switch @match
[(try_statement) (try_with_resources_statement)] @try
(break_statement) @break @exit
(continue_statement) @continue
(return_statement) @return @exit
(throw_statement) @throw @exit
(lambda_expression) @lambda
(method_declaration) @function
[(class_declaration) (record_declaration)] @class
(record_declaration) @record
(if_statement alternative: (block)) @else
(if_statement consequence: (block (return_statement) .) !alternative) @early_return
(binary_expression operator: _ @operator.name)
(assignment_expression operator: ["+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>=" ">>>="] @augmented.name)
(method_reference . (identifier) @call.name "new")

(method_invocation name: (identifier) @call.name arguments: (argument_list) @arguments)
(object_creation_expression type: (type_identifier) @call.name arguments: (argument_list) @arguments)
(object_creation_expression type: (generic_type (type_identifier) @call.name) arguments: (argument_list) @arguments)
(object_creation_expression type: (scoped_type_identifier (type_identifier) @call.name .) arguments: (argument_list) @arguments)
(object_creation_expression type: (generic_type (scoped_type_identifier (type_identifier) @call.name .)) arguments: (argument_list) @arguments)

(variable_declarator name: (identifier) @name.name)
(enhanced_for_statement name: (identifier) @name.name)
(assignment_expression left: (identifier) @name.name @updated.name)
(update_expression (identifier) @updated.name)
(assignment_expression left: (array_access array: (identifier) @updated.name))
(assignment_expression left: (array_access array: (array_access array: (identifier) @updated.name)))
(update_expression (array_access array: (identifier) @updated.name))
(update_expression (array_access array: (array_access array: (identifier) @updated.name)))
(method_invocation object: (identifier) @updated.name name: (identifier) @_method
  (#any-of? @_method "add" "addAll" "addFirst" "addLast" "append" "clear" "computeIfAbsent" "insert" "merge" "offer" "poll" "pollFirst" "pollLast"
   "pop" "push" "put" "putIfAbsent" "remove" "removeFirst" "removeLast" "removeAll" "set" "setLength" "sort"))

(variable_declarator name: (identifier) @bound.name value: (_) @value)
(assignment_expression left: (identifier) @bound.name) @value

(method_declaration name: (identifier) @function.name body: (_) @function.body)
