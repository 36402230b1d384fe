; What JavaScript and TypeScript share. See syntax/scopes.py for the words.
[(function_declaration) (function_expression) (arrow_function) (method_definition) (generator_function)
 (generator_function_declaration) (statement_block) (class_body) (for_statement) (for_in_statement) (catch_clause)
 (switch_case) (switch_default)] @scope
(arrow_function parameter: (identifier) @parameter)
(variable_declarator name: (identifier) @local)
(variable_declarator name: (identifier) @local value: (_) @value)
(variable_declarator name: (object_pattern [(shorthand_property_identifier_pattern) @local
  (pair_pattern value: (identifier) @local)]) value: (_) @until)
(variable_declarator name: (array_pattern (identifier) @local) value: (_) @until)
(for_in_statement left: (identifier) @local right: (_) @until)
(catch_clause parameter: (identifier) @local)
(function_declaration name: (identifier) @function parameters: (_) @parameters)
(generator_function_declaration name: (identifier) @function parameters: (_) @parameters)
(method_definition name: (_) @function parameters: (_) @parameters)
(import_specifier name: (identifier) @import)
(namespace_import (identifier) @import)
(import_clause (identifier) @import)
