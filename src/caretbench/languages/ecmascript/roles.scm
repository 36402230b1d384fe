; What JavaScript and TypeScript share. See syntax/roles.py for the words.
(this) @is.self
(super) @is.super

; scopes
(class_declaration name: (_) @as.declare.class body: (_) @as.body)
(class body: (_) @as.body)
(class name: (_) @as.declare.class)
[(function_declaration) (generator_function_declaration) (function_expression) (generator_function)] @is.scope.function
(function_declaration name: (_) @as.declare.function body: (_) @as.body)
(generator_function_declaration name: (_) @as.declare.function body: (_) @as.body)
(function_expression body: (_) @as.body)
(function_expression name: (_) @as.target.local)
(generator_function body: (_) @as.body)
(arrow_function) @is.scope.lambda
(arrow_function body: (_) @as.body)
(method_definition) @is.scope.method
(method_definition name: (_) @as.declare.method body: (_) @as.body)
(object (method_definition name: (_) @as.ignore))
[(statement_block) (catch_clause) (switch_body)] @is.scope.block

; parameters
(arrow_function parameter: (_) @as.target.parameter)
(catch_clause parameter: (_) @as.target.local)

; what is assigned
[(object_pattern) (array_pattern) (rest_pattern) (assignment_pattern) (pair_pattern) (object_assignment_pattern)
 (parenthesized_expression)] @is.pattern
(assignment_pattern right: (_) @as.value)
(object_assignment_pattern right: (_) @as.value)
(pair_pattern key: (property_identifier) @as.ignore)
(lexical_declaration (variable_declarator name: (_) @as.target.local))
(variable_declaration (variable_declarator name: (_) @as.target.hoisted))
(variable_declarator value: (_) @as.value)
(variable_declarator name: (identifier) @as.declare.function
  value: [(arrow_function) (function_expression) (generator_function)])
(assignment_expression left: (_) @as.target.write)
(assignment_expression right: (_) @as.value)
(augmented_assignment_expression left: (_) @as.target.update)
(update_expression argument: (_) @as.target.update)
(new_expression constructor: (_) @mark.constructed)
(new_expression constructor: (identifier) @mark.called)

; names that are none, members
(call_expression function: (identifier) @mark.called)
(call_expression function: (member_expression property: (_) @mark.called))
(member_expression object: (_) @as.object property: (_) @as.member) @is.member
(export_specifier alias: (_) @as.ignore)
(export_statement (export_clause (export_specifier name: (_) @as.ignore)) source: (_))
(import_statement) @is.import
(export_statement (export_clause) source: (_)) @is.import

; the flow
(if_statement) @is.branch
(if_statement condition: (_) @as.condition consequence: (_) @as.body)
(if_statement alternative: (_) @as.else)
[(while_statement) (do_statement) (for_statement) (for_in_statement)] @is.loop
(do_statement) @mark.post
(while_statement condition: (_) @as.condition body: (_) @as.body)
(do_statement body: (_) @as.body condition: (_) @as.condition)
(for_statement initializer: (_) @as.init)
(for_statement condition: (_) @as.condition)
(for_statement condition: (empty_statement) @as.ignore)
(for_statement increment: (_) @as.update)
(for_statement body: (_) @as.body)
(for_in_statement left: (_) @as.target.loop right: (_) @as.init body: (_) @as.body)
(for_in_statement !kind left: (_) @as.target.loop_write)
(try_statement) @is.try
(try_statement body: (_) @as.body)
(try_statement handler: (_) @as.handler)
(try_statement finalizer: (_) @as.finally)
(switch_statement) @is.switch
(switch_statement value: (_) @as.subject)
[(switch_case) (switch_default)] @is.case @mark.falls
(switch_default) @mark.default
(return_statement) @is.return
(throw_statement) @is.throw
(break_statement) @is.break
(continue_statement) @is.continue
