(function_declaration name: (_) @name) @declaration
(generator_function_declaration name: (_) @name) @declaration
(class_declaration name: (_) @name) @declaration
(method_definition name: (_) @name) @declaration
(public_field_definition name: (_) @name) @declaration
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function) (class)]) @declaration
(pair key: (_) @name value: [(arrow_function) (function_expression) (generator_function) (class)]) @declaration
(assignment_expression left: (identifier) @name
  right: [(arrow_function) (function_expression) (generator_function) (class)]) @declaration
(assignment_expression left: (member_expression property: (_) @name)
  right: [(arrow_function) (function_expression) (generator_function) (class)]) @declaration
(function_signature name: (_) @name) @declaration
(method_signature name: (_) @name) @declaration
(abstract_method_signature name: (_) @name) @declaration
(abstract_class_declaration name: (_) @name) @declaration
(interface_declaration name: (_) @name) @declaration
(type_alias_declaration name: (_) @name) @declaration
(enum_declaration name: (_) @name) @declaration
(internal_module name: (_) @name) @declaration
(module name: (_) @name) @declaration
