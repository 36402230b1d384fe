; See syntax/roles.py for the words.
(identifier) @is.identifier

; scopes
(function_definition) @is.scope.function
(function_definition name: (identifier) @as.declare.function)
(function_definition body: (_) @as.body)
(lambda) @is.scope.lambda
(lambda body: (_) @as.body)
(class_definition) @is.scope.class
(class_definition name: (identifier) @as.declare.class)
(class_definition superclasses: (argument_list (identifier) @mark.base))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @mark.base)))
(class_definition superclasses: (_) @mark.outer)
(class_definition body: (_) @as.body)
[(list_comprehension) (dictionary_comprehension) (set_comprehension) (generator_expression)] @is.scope.comprehension
(list_comprehension body: (_) @mark.deferred)
(dictionary_comprehension body: (_) @mark.deferred)
(set_comprehension body: (_) @mark.deferred)
(generator_expression body: (_) @mark.deferred)

; parameters
(parameters (identifier) @as.target.parameter)
(lambda_parameters (identifier) @as.target.parameter)
(_ (default_parameter name: (_) @as.target.parameter value: (_) @mark.outer))
(typed_default_parameter name: (_) @as.target.parameter type: (_) @mark.outer @mark.type value: (_) @mark.outer)
(typed_parameter . (_) @as.target.parameter type: (_) @mark.outer @mark.type)
(parameters [(list_splat_pattern) (dictionary_splat_pattern) (tuple_pattern)] @as.target.parameter)
(lambda_parameters [(list_splat_pattern) (dictionary_splat_pattern) (tuple_pattern)] @as.target.parameter)
(function_definition return_type: (_) @mark.outer)

; what is assigned
[(pattern_list) (tuple_pattern) (list_pattern) (list_splat_pattern) (dictionary_splat_pattern) (list_splat)
 (tuple) (list) (parenthesized_expression) (expression_list) (as_pattern_target)] @is.pattern
(assignment left: (_) @as.target.write)
(assignment type: (_) @mark.type)
(assignment right: (_) @as.value)
(augmented_assignment left: (_) @as.target.update)
(named_expression name: (_) @as.target.hoisted)
(named_expression value: (_) @as.value)
(as_pattern alias: (_) @as.target.write)
(delete_statement (_) @as.target.delete)
(type_alias_statement left: (type (identifier) @as.target.write))
(type_parameter (type (identifier) @as.target.local))
(call function: (identifier) @mark.constructed @mark.called)
(call function: (attribute attribute: (identifier) @mark.called))

; names that are none
(keyword_argument name: (identifier) @as.ignore)
(attribute) @is.member
(attribute object: (_) @as.object attribute: (_) @as.member)
[(global_statement)] @is.global
[(nonlocal_statement)] @is.nonlocal
[(import_statement) (import_from_statement) (future_import_statement)] @is.import

; the flow
(if_statement) @is.branch
(if_statement condition: (_) @as.condition consequence: (_) @as.body)
(elif_clause condition: (_) @as.condition consequence: (_) @as.body) @as.elif
(if_statement alternative: (else_clause) @as.else)
(while_statement) @is.loop
(while_statement condition: (_) @as.condition body: (_) @as.body)
(while_statement alternative: (_) @as.else)
(for_statement) @is.loop
(for_statement left: (_) @as.target.loop_write right: (_) @as.init body: (_) @as.body)
(for_statement alternative: (_) @as.else)
(for_in_clause left: (_) @as.target.comprehension)
(try_statement) @is.try
(try_statement body: (_) @as.body)
(try_statement (except_clause) @as.handler)
(try_statement (else_clause) @as.else)
(try_statement (finally_clause) @as.finally)
(return_statement) @is.return
(raise_statement) @is.throw
(break_statement) @is.break
(continue_statement) @is.continue

; match
(match_statement) @is.switch
(match_statement subject: (_) @as.subject)
(case_clause) @is.case
(case_clause . (case_pattern "_") . consequence: (_)) @mark.default
(case_pattern (dotted_name . (identifier) @as.target.write .))
(case_pattern (as_pattern (identifier) @as.target.write))
(splat_pattern (identifier) @as.target.write)
(keyword_pattern . (identifier) @as.ignore)
(keyword_pattern (dotted_name . (identifier) @as.target.write .))
