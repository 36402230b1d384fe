; See syntax/names/node_roles.py for the words.
[(identifier) (type_identifier) (field_identifier) (package_identifier)] @is.identifier

; scopes
(function_declaration) @is.scope.function
(method_declaration) @is.scope.method
(func_literal) @is.scope.lambda
[(block) (expression_case) (type_case) (communication_case) (default_case)] @is.scope.block
(struct_type) @is.scope.class
(interface_type) @is.scope.interface
(function_declaration name: (_) @as.declare.function)
(function_declaration body: (_) @as.body)
(method_declaration name: (_) @as.declare.method)
(method_declaration body: (_) @as.body)
(func_literal body: (_) @as.body)
(type_spec name: (_) @as.declare.class)
(type_alias name: (_) @as.declare.class)
(method_elem name: (_) @as.declare.method)
(type_parameter_declaration name: (_) @as.target.type)

; parameters
(parameter_declaration name: (_) @as.target.parameter)
(parameter_declaration type: (_) @mark.type)
(variadic_parameter_declaration name: (_) @as.target.parameter)
(variadic_parameter_declaration type: (_) @mark.type)

; what is assigned
(expression_list) @is.pattern
(short_var_declaration left: (_) @as.target.local right: (_) @as.value)
(var_spec name: (_) @as.target.local)
(var_spec type: (_) @mark.type)
(var_spec value: (_) @as.value)
(const_spec name: (_) @as.target.local)
(const_spec value: (_) @as.value)
(field_declaration name: (_) @as.target.field type: (_) @mark.type)
(assignment_statement left: (_) @as.target.write operator: "=" right: (_) @as.value)
(assignment_statement left: (_) @as.target.update
  operator: ["+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>=" "&^="] right: (_) @as.value)
(inc_statement (_) @as.target.update)
(dec_statement (_) @as.target.update)
(receive_statement left: (_) @as.target.local)
(type_switch_statement alias: (_) @as.target.local)
(composite_literal type: (type_identifier) @mark.constructed)

; names that are none, members
(call_expression function: (identifier) @mark.called)
(call_expression function: (selector_expression field: (_) @mark.called))
(selector_expression operand: (_) @as.object field: (_) @as.member) @is.member
(qualified_type package: (_) @as.object name: (_) @as.member) @is.member
(keyed_element key: (_) @as.ignore)
[(label_name) (package_clause) (blank_identifier)] @is.skip
(import_declaration) @is.import

; the flow
(if_statement) @is.branch
(if_statement initializer: (_) @as.init)
(if_statement condition: (_) @as.condition consequence: (_) @as.body)
(if_statement alternative: (_) @as.else)
(for_statement) @is.loop
(for_statement [(for_clause) (range_clause)] @as.init)
(for_statement . [(binary_expression) (identifier) (call_expression) (unary_expression) (selector_expression)
  (parenthesized_expression)] @as.condition . body: (_))
(for_statement body: (_) @as.body)
(range_clause left: (_) @as.target.loop right: (_) @as.value)
[(expression_switch_statement) (type_switch_statement) (select_statement)] @is.switch
(expression_switch_statement value: (_) @as.subject)
(type_switch_statement value: (_) @as.subject)
[(expression_case) (type_case) (communication_case) (default_case)] @is.case
(default_case) @mark.default
(return_statement) @is.return
(break_statement) @is.break
(continue_statement) @is.continue
