; See syntax/scopes.py for the words.
[(method_declaration) (constructor_declaration) (compact_constructor_declaration) (lambda_expression) (block)
 (class_body) (record_declaration) (enum_body_declarations) (interface_body) (for_statement) (enhanced_for_statement) (catch_clause)
 (try_with_resources_statement) (switch_block_statement_group) (switch_rule) (constructor_body)] @scope
(formal_parameter type: (_) @type name: (identifier) @parameter)
(spread_parameter (variable_declarator name: (identifier) @parameter))
(lambda_expression parameters: (identifier) @parameter)
(inferred_parameters (identifier) @parameter)
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @local))
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @local value: (_) @value))
(enhanced_for_statement type: (_) @type name: (identifier) @local value: (_) @until)
(catch_formal_parameter (catch_type) @type name: (identifier) @local)
(resource type: (_) @type name: (identifier) @local value: (_) @value)
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @field))
(enum_constant name: (identifier) @constant)
(method_declaration type: (_) @type name: (identifier) @function parameters: (_) @parameters)
[(class_declaration name: (identifier) @typename) (interface_declaration name: (identifier) @typename)
 (enum_declaration name: (identifier) @typename) (record_declaration name: (identifier) @typename)]
(import_declaration (_) @import)
