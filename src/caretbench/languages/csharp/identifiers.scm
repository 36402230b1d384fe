; See syntax/identifiers.py for the words.
(identifier) @identifier

[(using_directive) (attribute_list) (type_parameter_list) (type_parameter_constraints_clause) (implicit_parameter)
 (parenthesized_variable_designation) (explicit_interface_specifier) (extern_alias_directive)] @declared
(namespace_declaration name: (_) @declared)
(file_scoped_namespace_declaration name: (_) @declared)
(class_declaration name: (_) @declared)
(struct_declaration name: (_) @declared)
(record_declaration name: (_) @declared)
(interface_declaration name: (_) @declared)
(enum_declaration name: (_) @declared)
(enum_member_declaration name: (_) @declared)
(delegate_declaration name: (_) @declared)
(method_declaration name: (_) @declared)
(constructor_declaration name: (_) @declared)
(destructor_declaration name: (_) @declared)
(property_declaration name: (_) @declared)
(event_declaration name: (_) @declared)
(local_function_statement name: (_) @declared)
(parameter name: (_) @declared)
(variable_declarator name: (_) @declared)
(foreach_statement left: (_) @declared)
(catch_declaration name: (_) @declared)
(declaration_expression name: (_) @declared)
(declaration_pattern name: (_) @declared)
(recursive_pattern name: (_) @declared)
(var_pattern name: (_) @declared)
(from_clause name: (_) @declared)
(let_clause . (identifier) @declared)
(join_clause . (identifier) @declared)
[(labeled_statement . (identifier) @declared) (goto_statement (identifier) @declared)]
[(interpolated_string_expression) (string_literal)] @skip
((identifier) @skip (#any-of? @skip "nameof" "value" "_"))

(invocation_expression function: (identifier) @called)
(invocation_expression function: (member_access_expression name: (identifier) @called))
(invocation_expression function: (member_access_expression name: (generic_name . (identifier) @called)))
(invocation_expression function: (generic_name . (identifier) @called))
(invocation_expression function: (conditional_access_expression (member_binding_expression name: (identifier) @called)))
(member_access_expression . (identifier) @object)
(member_access_expression name: (identifier) @member)
(member_access_expression name: (generic_name . (identifier) @member))
(member_binding_expression name: (identifier) @member)
(qualified_name name: (identifier) @member)
(object_creation_expression type: (identifier) @type)
(variable_declaration type: (identifier) @type)
(parameter type: (identifier) @type)
(method_declaration returns: (identifier) @type)
(property_declaration type: (identifier) @type)
(type_argument_list (identifier) @type)
(generic_name . (identifier) @type)
(cast_expression type: (identifier) @type)
(base_list (identifier) @type)
(argument name: (_) @key)
(initializer_expression (assignment_expression left: (identifier) @key))

[(method_declaration) (constructor_declaration) (local_function_statement) (lambda_expression) (accessor_declaration)]
  @function
[(block) (declaration_list) (initializer_expression) (enum_member_declaration_list) (switch_body) (base_list)
 (argument_list (argument name: (_)))] @unordered
(binary_expression operator: ["==" "!=" "+" "*" "&" "|" "^" "&&" "||"]) @symmetric
