; See syntax/scopes.py for the words.
[(method_declaration) (constructor_declaration) (local_function_statement) (lambda_expression) (accessor_declaration)
 (anonymous_method_expression) (delegate_declaration) (operator_declaration) (conversion_operator_declaration)
 (indexer_declaration) (class_declaration) (struct_declaration) (record_declaration)
 (block) (declaration_list) (for_statement) (foreach_statement) (catch_clause) (using_statement) (switch_section)] @scope
(parameter type: (_) @type name: (identifier) @parameter)
(parameter !type name: (identifier) @parameter)
(implicit_parameter) @parameter
(local_declaration_statement (variable_declaration type: (_) @type (variable_declarator name: (identifier) @local)))
(local_declaration_statement (variable_declaration type: (_) @type (variable_declarator name: (identifier) @local (_) @value .)))
(for_statement (variable_declaration type: (_) @type (variable_declarator name: (identifier) @local (_) @value .)))
(using_statement (variable_declaration type: (_) @type (variable_declarator name: (identifier) @local (_) @value .)))
(foreach_statement type: (_) @type left: (identifier) @local right: (_) @until)
(catch_declaration type: (_) @type name: (identifier) @local)
(field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @field)))
(property_declaration type: (_) @type name: (identifier) @field)
(enum_member_declaration name: (identifier) @constant)
(method_declaration returns: (_) @type name: (identifier) @function parameters: (_) @parameters)
(local_function_statement type: (_) @type name: (identifier) @function parameters: (_) @parameters)
[(class_declaration name: (identifier) @typename) (interface_declaration name: (identifier) @typename)
 (struct_declaration name: (identifier) @typename) (enum_declaration name: (identifier) @typename)
 (record_declaration name: (identifier) @typename)]
