; What JavaScript and TypeScript share.
(function_declaration name: (_) @name) @declaration
(generator_function_declaration name: (_) @name) @declaration
(class_declaration name: (_) @name) @declaration
(method_definition name: (_) @name) @declaration
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function) (class)]) @declaration
(pair key: (_) @name value: [(arrow_function) (function_expression) (generator_function) (class)]) @declaration
(assignment_expression left: (identifier) @name
  right: [(arrow_function) (function_expression) (generator_function) (class)]) @declaration
(assignment_expression left: (member_expression property: (_) @name)
  right: [(arrow_function) (function_expression) (generator_function) (class)]) @declaration
