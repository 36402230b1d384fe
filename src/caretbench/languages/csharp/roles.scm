; See syntax/roles.py for the words.
(identifier) @is.identifier
"this" @is.self
"base" @is.super

; scopes
(namespace_declaration) @is.scope.namespace
(namespace_declaration name: (identifier) @as.declare.namespace)
(namespace_declaration name: (qualified_name) @as.ignore)
(namespace_declaration body: (_) @as.body)
(file_scoped_namespace_declaration name: (_) @as.ignore)
[(class_declaration) (struct_declaration) (record_declaration) (enum_declaration)] @is.scope.class
(interface_declaration) @is.scope.interface
(class_declaration name: (_) @as.declare.class)
(class_declaration body: (_) @as.body)
(struct_declaration name: (_) @as.declare.class)
(struct_declaration body: (_) @as.body)
(record_declaration name: (_) @as.declare.class)
(record_declaration body: (_) @as.body)
(enum_declaration name: (_) @as.declare.class)
(enum_declaration body: (_) @as.body)
(interface_declaration name: (_) @as.declare.interface)
(interface_declaration body: (_) @as.body)
(delegate_declaration name: (_) @as.declare.class)
(delegate_declaration) @is.scope.interface
(base_list (identifier) @mark.base)
(base_list (generic_name . (identifier) @mark.base))
(base_list (qualified_name name: (identifier) @mark.base))
[(method_declaration) (constructor_declaration) (destructor_declaration) (operator_declaration)
 (conversion_operator_declaration) (indexer_declaration)] @is.scope.method
(method_declaration name: (_) @as.declare.method)
(method_declaration body: (_) @as.body)
(constructor_declaration name: (_) @as.declare.method)
(constructor_declaration body: (_) @as.body)
(destructor_declaration name: (_) @as.ignore)
(destructor_declaration body: (_) @as.body)
(operator_declaration body: (_) @as.body)
(conversion_operator_declaration body: (_) @as.body)
(indexer_declaration accessors: (_) @as.body)
(accessor_declaration) @is.scope.method
(accessor_declaration body: (_) @as.body)
(property_declaration name: (_) @as.target.field)
(property_declaration type: (_) @mark.type)
(property_declaration value: (arrow_expression_clause) @is.scope.method)
(local_function_statement) @is.scope.function
(local_function_statement name: (_) @as.declare.function)
(local_function_statement body: (_) @as.body)
[(lambda_expression) (anonymous_method_expression)] @is.scope.lambda
(lambda_expression body: (_) @as.body)
(query_expression) @is.scope.block
[(block) (catch_clause) (switch_body) (using_statement)] @is.scope.block
(type_parameter name: (_) @as.target.type)

; parameters
(parameter type: (_) @mark.type)
(parameter name: (_) @as.target.parameter)
(parameter_list name: (_) @as.target.parameter)
(record_declaration (parameter_list (parameter name: (_) @as.target.field)))
(delegate_declaration parameters: (_) @as.ignore)
(interface_declaration body: (_ (method_declaration parameters: (_) @as.ignore)))
(lambda_expression parameters: (implicit_parameter) @as.target.parameter)
(implicit_parameter) @is.identifier
(catch_declaration type: (_) @mark.type)
(catch_declaration name: (_) @as.target.local)

; what is assigned
[(tuple_pattern) (tuple_expression) (argument) (parenthesized_expression) (parenthesized_variable_designation)]
  @is.pattern
(variable_declaration type: (_) @mark.type)
(variable_declarator name: (identifier) @as.target.local)
(variable_declarator (tuple_pattern) @as.target.local)
(variable_declarator name: (identifier) "=" (_) @as.value)
(variable_declarator (tuple_pattern) "=" (_) @as.value)
(declaration_expression type: (_) @mark.type)
(declaration_expression name: (_) @as.target.local)
(declaration_pattern type: (_) @mark.type)
(declaration_pattern name: (_) @as.target.local)
(recursive_pattern name: (_) @as.target.local)
(var_pattern name: (_) @as.target.local)
(subpattern . (identifier) @as.ignore)
(enum_member_declaration name: (_) @as.target.field)
(assignment_expression left: (_) @as.target.write operator: "=")
(assignment_expression left: (_) @as.target.update
  operator: ["+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>=" "??="])
(assignment_expression right: (_) @as.value)
(prefix_unary_expression ["++" "--"] (_) @as.target.update)
(postfix_unary_expression (_) @as.target.update ["++" "--"])
(object_creation_expression type: (_) @mark.constructed)
(from_clause name: (_) @as.target.loop)
(let_clause . (identifier) @as.target.local)
(join_clause . (identifier) @as.target.loop)

; names that are none, members
(invocation_expression function: (identifier) @mark.called)
(invocation_expression function: (generic_name . (identifier) @mark.called))
(invocation_expression function: (member_access_expression name: (identifier) @mark.called))
(invocation_expression function: (member_access_expression name: (generic_name . (identifier) @mark.called)))
(invocation_expression function: (conditional_access_expression
  (member_binding_expression name: (identifier) @mark.called)))
(member_access_expression . (_) @as.object name: (_) @as.member) @is.member
(conditional_access_expression . (_) @as.object (member_binding_expression name: (_) @as.member)) @is.member
(member_binding_expression) @is.pattern
(qualified_name qualifier: (_) @as.object name: (_) @as.member) @is.member
(initializer_expression (assignment_expression left: (identifier) @as.ignore))
(anonymous_object_creation_expression (identifier) @as.ignore . "=")
(argument name: (_) @as.ignore)
(attribute_argument (identifier) @as.ignore . "=")
(labeled_statement . (identifier) @as.ignore)
(goto_statement (identifier) @as.ignore)
(implicit_type) @is.skip
(predefined_type) @is.skip
(discard) @is.skip
(using_directive) @is.import
(preproc_if condition: (_) @as.ignore)
(preproc_elif condition: (_) @as.ignore)
[(preproc_region) (preproc_endregion) (preproc_define) (preproc_pragma) (preproc_nullable)] @is.skip
(explicit_interface_specifier) @is.skip

; the flow
(if_statement) @is.branch
(if_statement condition: (_) @as.condition consequence: (_) @as.body)
(if_statement alternative: (_) @as.else)
[(while_statement) (do_statement) (for_statement) (foreach_statement)] @is.loop
(do_statement) @mark.post
(while_statement condition: (_) @as.condition body: (_) @as.body)
(do_statement body: (_) @as.body condition: (_) @as.condition)
(for_statement initializer: (_) @as.init)
(for_statement condition: (_) @as.condition)
(for_statement update: (_) @as.update)
(for_statement body: (_) @as.body)
(foreach_statement type: (_) @mark.type)
(foreach_statement left: (_) @as.target.loop right: (_) @as.init body: (_) @as.body)
(try_statement) @is.try
(try_statement body: (_) @as.body)
(catch_clause) @as.handler
(finally_clause) @as.finally
(switch_statement) @is.switch
(switch_statement value: (_) @as.subject)
(switch_section) @is.case
(switch_section "default") @mark.default
(return_statement) @is.return
(throw_statement) @is.throw
(break_statement) @is.break
(continue_statement) @is.continue
