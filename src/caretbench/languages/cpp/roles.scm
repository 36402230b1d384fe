; See syntax/roles.py for the words.
[(identifier) (type_identifier) (namespace_identifier) (field_identifier)] @is.identifier
(this) @is.self

; scopes
(namespace_definition) @is.scope.namespace
(namespace_definition name: (namespace_identifier) @as.declare.namespace)
(namespace_definition name: (nested_namespace_specifier) @as.ignore)
(namespace_definition body: (_) @as.body)
[(class_specifier body: (_)) (struct_specifier body: (_)) (union_specifier body: (_))] @is.scope.class
(class_specifier name: (type_identifier) @as.declare.class body: (_) @as.body)
(struct_specifier name: (type_identifier) @as.declare.class body: (_) @as.body)
(union_specifier name: (type_identifier) @as.declare.class body: (_) @as.body)
(class_specifier name: (template_type name: (_) @as.ignore) body: (_) @as.body)
(struct_specifier name: (template_type name: (_) @as.ignore) body: (_) @as.body)
(class_specifier body: (_) @as.body)
(struct_specifier body: (_) @as.body)
(union_specifier body: (_) @as.body)
(base_class_clause (type_identifier) @mark.base)
(base_class_clause (template_type name: (_) @mark.base))
(base_class_clause (qualified_identifier name: (type_identifier) @mark.base))
(enum_specifier name: (type_identifier) @as.declare.class body: (_) @as.body)
(enum_specifier ["class" "struct"]) @is.scope.class
(enumerator name: (_) @as.target.local)
(function_definition) @is.scope.function
(function_definition body: (_) @as.body)
(function_declarator declarator: (identifier) @as.declare.function)
(function_declarator declarator: (field_identifier) @as.declare.method)
(function_declarator declarator: (qualified_identifier scope: (_) @mark.owner name: (identifier) @as.declare.method))
(function_declarator declarator: (qualified_identifier
  name: (qualified_identifier scope: (_) @mark.owner name: (identifier) @as.declare.method)))
(function_declarator declarator: (qualified_identifier name: (qualified_identifier
  name: (qualified_identifier scope: (_) @mark.owner name: (identifier) @as.declare.method))))
(function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @as.target.local)))
; inside a function, `Shape shape(a);` makes an object, though the grammar takes it for a function
(compound_statement (declaration type: (_) declarator: (function_declarator declarator: (identifier) @as.target.object)))
(destructor_name) @is.skip
(operator_name) @is.skip
(declaration declarator: (function_declarator parameters: (_) @as.ignore))
(declaration declarator: (pointer_declarator declarator: (function_declarator parameters: (_) @as.ignore)))
(declaration declarator: (reference_declarator (function_declarator parameters: (_) @as.ignore)))
(field_declaration declarator: (function_declarator parameters: (_) @as.ignore))
(field_declaration declarator: (pointer_declarator declarator: (function_declarator parameters: (_) @as.ignore)))
(field_declaration declarator: (reference_declarator (function_declarator parameters: (_) @as.ignore)))
(parameter_declaration declarator: (function_declarator parameters: (_) @as.ignore))
(lambda_expression) @is.scope.lambda
(lambda_expression body: (_) @as.body)
(lambda_capture_specifier) @mark.outer
(lambda_capture_initializer left: (_) @as.target.local)
[(compound_statement) (catch_clause)] @is.scope.block
(type_parameter_declaration (type_identifier) @as.target.type)
(variadic_type_parameter_declaration (type_identifier) @as.target.type)
(optional_type_parameter_declaration name: (_) @as.target.type)
(alias_declaration name: (_) @as.declare.class)
(type_definition declarator: (type_identifier) @as.declare.class)
(preproc_def name: (_) @as.target.local)
(preproc_function_def name: (_) @as.declare.function)
(preproc_params) @is.skip
[(preproc_ifdef name: (_) @as.ignore) (preproc_if condition: (_) @as.ignore)]

; parameters
(parameter_declaration type: (_) @mark.type)
(parameter_declaration declarator: (_) @as.target.parameter)
(optional_parameter_declaration type: (_) @mark.type declarator: (_) @as.target.parameter)
(catch_clause parameters: (parameter_list (parameter_declaration declarator: (_) @as.target.parameter)))

; what is assigned
[(pointer_declarator) (reference_declarator) (array_declarator) (structured_binding_declarator)
 (parenthesized_declarator) (init_declarator)] @is.pattern
(array_declarator size: (_) @as.value)
(declaration type: (_) @mark.type)
(declaration declarator: [(identifier) (pointer_declarator) (reference_declarator) (array_declarator)
  (structured_binding_declarator)] @as.target.local)
(declaration value: (_) @as.value)
(init_declarator declarator: (_) @as.target.local value: (_) @as.value)
(declaration declarator: (pointer_declarator declarator: (function_declarator)) @as.value)
(declaration declarator: (reference_declarator (function_declarator)) @as.value)
(field_declaration type: (_) @mark.type)
(field_declaration declarator: [(field_identifier) (pointer_declarator) (reference_declarator) (array_declarator)]
  @as.target.field)
(field_declaration declarator: (pointer_declarator declarator: (function_declarator)) @as.value)
(field_declaration declarator: (reference_declarator (function_declarator)) @as.value)
(assignment_expression left: (_) @as.target.write operator: "=")
(assignment_expression left: (_) @as.target.update
  operator: ["+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>="])
(assignment_expression right: (_) @as.value)
(update_expression argument: (_) @as.target.update)
(parenthesized_expression) @is.pattern
(new_expression type: (_) @mark.constructed)
(call_expression function: (identifier) @mark.constructed)

; names that are none, members
(call_expression function: (identifier) @mark.called)
(call_expression function: (field_expression field: (field_identifier) @mark.called))
(call_expression function: (qualified_identifier name: (identifier) @mark.called))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @mark.called)))
(call_expression function: (template_function name: (identifier) @mark.called))
(template_function name: (identifier) @mark.called)
(field_expression argument: (_) @as.object field: (_) @as.member) @is.member
(qualified_identifier scope: (_) @as.object name: (_) @as.member) @is.member
(field_initializer (field_identifier) @as.ignore)
(field_designator) @is.skip
(attribute_declaration) @is.skip
(using_declaration) @is.import
(preproc_include) @is.skip

; the flow
(if_statement) @is.branch
(if_statement condition: (_) @as.condition consequence: (_) @as.body)
(if_statement alternative: (_) @as.else)
[(while_statement) (do_statement) (for_statement) (for_range_loop)] @is.loop
(do_statement) @mark.post
(while_statement condition: (_) @as.condition body: (_) @as.body)
(do_statement body: (_) @as.body condition: (_) @as.condition)
(for_statement initializer: (_) @as.init)
(for_statement condition: (_) @as.condition)
(for_statement update: (_) @as.update)
(for_statement body: (_) @as.body)
(for_range_loop type: (_) @mark.type declarator: (_) @as.target.loop right: (_) @as.init body: (_) @as.body)
(try_statement) @is.try
(try_statement body: (_) @as.body)
(catch_clause) @as.handler
(switch_statement) @is.switch
(switch_statement condition: (_) @as.subject)
(case_statement) @is.case @mark.falls
(case_statement "default") @mark.default
(return_statement) @is.return
(throw_statement) @is.throw
(break_statement) @is.break
(continue_statement) @is.continue
